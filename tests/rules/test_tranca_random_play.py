"""What must hold at every moment of every match of Tranca, whatever the options.

The seed stands in each test's name."""

from __future__ import annotations

import random
from typing import Final

import pytest

from services.rules import engine
from services.rules.cards import PACKS
from services.rules.shuffler import SeededShuffler
from services.rules.views import Phase
from tests.rules.tranca_play import play, random_ruleset

ALL_CARDS: Final = sorted(c.code for c in PACKS["french52"] * 2)
MIXES: Final = [f"mix/{number}" for number in range(60)]


def matches(preset: str, count: int) -> list[str]:
    return [f"{preset}/{number}" for number in range(count)]


@pytest.mark.parametrize("seed", [*matches("tranca", 3), *MIXES[:10]])
def test_same_seed_makes_the_same_match(seed: str) -> None:
    ruleset = random_ruleset(random.Random(seed))
    first, second = ([engine.encode(moment.state) for moment in play(ruleset, seed)] for _ in range(2))
    assert first == second


@pytest.mark.parametrize("seed", [*matches("tranca", 10), *MIXES[:20]])
def test_silent_seats_bring_a_deal_to_its_end(seed: str) -> None:
    ruleset = random_ruleset(random.Random(seed))
    shuffler = SeededShuffler(seed)
    state = engine.new_match(ruleset, ruleset.max_seats, 0, shuffler).state
    turns = 0
    while engine.phase(state) in (Phase.DRAW, Phase.MELD):
        (seat,) = engine.must_act(state)
        state = engine.apply(state, seat, engine.default_action(state, seat), shuffler).state
        turns += 1
    assert turns < 2 * len(ALL_CARDS)
