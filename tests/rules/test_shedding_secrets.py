"""Who sees which cards of Mau-Mau or UNO. `test_rounds.py` looks for leaks at every turn of random play."""

from __future__ import annotations

import pytest

from services.rules import engine
from services.rules.events import RoundStarted
from services.rules.ruleset import make_ruleset
from services.rules.shuffler import SeededShuffler
from tests.rules.shedding_play import PRESETS


@pytest.mark.parametrize("preset", PRESETS)
def test_hands_dealt_or_moved_are_shown_to_their_own_seat_only(preset: str) -> None:
    ruleset = make_ruleset(preset, {"rule0": "rotate"} if preset.startswith("uno") else {})
    step = engine.new_match(ruleset, 4, 1, SeededShuffler(3))
    for viewer in (None, 0, 1, 2, 3):
        dealt = engine.view_event(step.state, step.events[0], viewer)
        assert isinstance(dealt, RoundStarted)
        assert [bool(hand) for hand in dealt.hands] == [seat == viewer for seat in range(4)]
        assert dealt.hand_sizes == (ruleset.options["deal.hand"],) * 4
