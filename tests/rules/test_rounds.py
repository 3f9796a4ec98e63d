"""2,000 random rounds of all games under presets and random mixes of options: no dead end, no card lost or doubled, a
refused action changes nothing, what is listed is what is accepted, the same seed gives the same match, and no hidden
card reaches anybody, seen in views and events of deals that differ in hidden cards only.

`make fuzz` plays 200,000 with a seed of its own."""

from __future__ import annotations

import pytest

from tests.rules.rounds import check_rounds

A_TEST = 50


@pytest.mark.parametrize("first", range(0, 2_000, A_TEST))
def test_random_rounds_hold(first: int) -> None:
    print(f"seed test, rounds {first} to {first + A_TEST - 1}")
    assert check_rounds("test", first, A_TEST) > A_TEST
