"""What a refusal of the rules says besides its reason: the keys that the catalogue promises, wherever it comes from."""

from __future__ import annotations

import random
from typing import Any

import pytest

from services.rules import engine
from services.rules.actions import Action, Call, Draw, Keep, Pass, Speak, Word
from services.rules.reasons import IllegalAction, Reason
from services.rules.ruleset import make_ruleset
from services.rules.shuffler import SeededShuffler
from services.wire.errors import refusal_of

SHUFFLER = SeededShuffler("details")


def refused(state: Any, seat: int, action: Action) -> tuple[Reason, dict[str, str]]:
    with pytest.raises(IllegalAction) as caught:
        engine.apply(state, seat, action, SHUFFLER)
    told = refusal_of(caught.value)
    assert told is not None
    return caught.value.reason, told.metadata


def dealt(preset: str) -> Any:
    ruleset = make_ruleset(preset, {})
    return engine.new_match(ruleset, ruleset.min_seats, 0, SHUFFLER).state


@pytest.mark.parametrize("preset", ["mau-mau-32", "mau-mau-brasil", "uno", "tranca"])
def test_whose_turn_it_is(preset: str) -> None:
    state = dealt(preset)
    action = engine.legal_actions(state, state.turn)[0]
    assert refused(state, (state.turn + 1) % 2, action) == (Reason.NOT_YOUR_TURN, {"turn": str(state.turn)})


def test_how_much_is_owed() -> None:
    rng, state = random.Random(1), dealt("mau-mau-32")
    while not (state.debt and state.kind is not None):
        seat = rng.choice(engine.must_act(state))
        state = engine.apply(state, seat, rng.choice(engine.legal_actions(state, seat)), SHUFFLER).state
    expected = (Reason.MUST_TAKE_OR_STACK, {"debt": str(state.debt)})
    assert refused(state, state.turn, Pass()) == expected


@pytest.mark.parametrize(
    ("preset", "action", "name", "others"),
    [
        ("uno", Keep(), "keep", "draw"),
        ("tranca", Draw(), "draw", "lay_meld"),
        ("uno", Call(Word.MAU), "call", "a call of uno"),
        ("mau-mau-32", Speak(), "speak", "play"),
    ],
    ids=["of Tranca", "of another game", "another word", "without silence"],
)
def test_what_the_game_has_instead_of_an_action(preset: str, action: Action, name: str, others: str) -> None:
    state = dealt(preset)
    reason, told = refused(state, state.turn, action)
    assert (reason, told["action"]) == (Reason.ACTION_UNKNOWN, name)
    assert others in told["expected"]
