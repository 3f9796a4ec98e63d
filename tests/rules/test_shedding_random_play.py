"""What must hold at every moment of every match of Mau-Mau and UNO, whatever the options.

The seed stands in each test's name."""

from __future__ import annotations

import random
from typing import Final

import pytest

from services.rules import engine
from services.rules.ruleset import Ruleset, make_ruleset
from services.rules.shuffler import SeededShuffler
from services.rules.views import Phase
from tests.rules.shedding_play import PRESETS, play, random_ruleset

PLAIN: Final = [f"{preset}/{number}" for preset in PRESETS for number in range(8)]
MIXES: Final = [f"mix/{number}" for number in range(120)]


def ruleset_of(seed: str) -> Ruleset:
    name = seed.split("/")[0]
    return make_ruleset(name) if name in PRESETS else random_ruleset(random.Random(seed))


@pytest.mark.parametrize("seed", PLAIN[::4] + MIXES[:20])
def test_a_subject_has_a_new_number_whenever_it_is_a_new_one(seed: str) -> None:
    """What was decided about an older turn, debt, window, top card or phase can be told from what is meant now."""
    for moment in play(ruleset_of(seed), seed, rounds=2, most=120):
        before = moment.state
        after = engine.apply(before, moment.seat, moment.action, moment.shuffler).state
        old, new = (engine.subjects(state) for state in (before, after))
        assert all(new[name] >= number for name, number in old.items())
        changed = {
            "turn": (before.turn, before.debt, before.kind) != (after.turn, after.debt, after.kind),
            "exposed": after.exposed is not None and before.exposed != after.exposed,
            "pile": len(before.pile) + 1 == len(after.pile),
            "phase": before.phase is not after.phase,
        }
        is_open = after.phase in (Phase.PLAY, Phase.CHALLENGE)
        assert [name for name, is_new in changed.items() if is_new and is_open and new[name] == old[name]] == []
        assert engine.acts_on(before, moment.action) in old


@pytest.mark.parametrize("preset", PRESETS)
def test_the_same_seed_gives_the_same_match(preset: str) -> None:
    def course() -> list[bytes]:
        return [engine.encode(moment.state) for moment in play(make_ruleset(preset), "again", rounds=2)]

    assert course() == course()


@pytest.mark.parametrize("preset", PRESETS)
def test_a_clock_that_plays_for_everybody_brings_every_round_to_an_end(preset: str) -> None:
    """Default actions only: nobody ever plays a card it need not, so the stock runs dry and the round is blocked."""
    ruleset, shuffler = make_ruleset(preset), SeededShuffler("clock")
    state = engine.new_match(ruleset, ruleset.max_seats, 0, shuffler).state
    for _ in range(2000):
        waited_for = engine.must_act(state)
        if not waited_for:
            break
        action = engine.default_action(state, waited_for[0])
        state = engine.apply(state, waited_for[0], action, shuffler).state
    assert engine.phase(state) in (Phase.ROUND_OVER, Phase.MATCH_OVER)


def test_bytes_that_are_no_state_are_refused() -> None:
    ruleset = make_ruleset("uno")
    stored = engine.encode(engine.new_match(ruleset, 3, 0, SeededShuffler(1)).state)
    for wrong in (b"", b"\xc1", b"\x90", b"\x93\x01\x02\x03", stored[:-3], b"\x01" + stored[1:]):
        with pytest.raises(ValueError, match="no stored state"):
            engine.decode(ruleset, wrong)
