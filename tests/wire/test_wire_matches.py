"""Whole matches of every preset cross the wire: what clients get is what the engine says, and comes back unchanged."""

from __future__ import annotations

import random

import pytest
from maumau.v1 import room_pb2

from services.rules import engine
from services.rules.actions import Action
from services.rules.registry import GAMES
from services.rules.room.actions import Act
from services.rules.ruleset import make_ruleset
from services.rules.shuffler import SeededShuffler
from services.rules.views import Phase
from services.wire.actions import read_action
from services.wire.events import event_message
from services.wire.views import game_message, legal_bytes

PRESETS = [preset for rules in GAMES.values() for preset in rules.presets]
STEPS = 120


def through_the_wire(action: Action) -> Action:
    """The action as the server reads it when a client sends back what it was offered."""
    (offered,) = room_pb2.LegalActions.FromString(legal_bytes([action])).actions
    attempted = read_action(offered)
    assert isinstance(attempted, Act)
    return attempted.action


@pytest.mark.parametrize("preset", PRESETS)
def test_a_match_is_played_with_nothing_but_what_the_wire_offers(preset: str) -> None:
    ruleset, shuffler, chance = make_ruleset(preset), SeededShuffler(preset), random.Random(preset)
    seats = ruleset.min_seats
    step = engine.new_match(ruleset, seats, 0, shuffler)
    for _ in range(STEPS):
        tell_everybody(step, seats)
        if engine.phase(step.state) is Phase.MATCH_OVER:
            break
        if engine.phase(step.state) is Phase.ROUND_OVER:
            step = engine.next_round(step.state, shuffler)
            continue
        seat = chance.choice(engine.must_act(step.state))
        offered = [*engine.legal_actions(step.state, seat), *engine.penal_actions(step.state, seat)]
        assert [through_the_wire(action) for action in offered] == offered
        step = engine.apply(step.state, seat, chance.choice(offered), shuffler)


def tell_everybody(step: engine.Step, seats: int) -> None:
    for viewer in (None, *range(seats)):
        message = game_message(engine.view(step.state, viewer))
        assert len(message.hand_sizes) == seats
        for event in step.events:
            viewed = engine.view_event(step.state, event, viewer)
            assert event_message(viewed).WhichOneof("event")
