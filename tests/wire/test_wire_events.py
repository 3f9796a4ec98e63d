"""Every event says on the wire what it says in the rules, and nothing more."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from maumau.v1 import cards_pb2, events_pb2, room_pb2, rules_pb2

from services.rules import events as game
from services.rules.cards import Rank, Suit, card
from services.rules.registry import GAMES
from services.rules.room import events as room
from services.rules.ruleset import make_ruleset
from services.wire.events import event_field, event_message
from services.wire.forms import snake_case
from tests.wire.wire_values import of, says, struct

KINDS = {snake_case(kind.__name__): kind for kind in get_args(room.RoomOnlyEvent) + get_args(game.Event)}
PRESETS = [preset for rules in GAMES.values() for preset in rules.presets]


def values(kind: type[Any]) -> st.SearchStrategy[Any]:
    if kind in (room.RoomCreated, room.OptionsChanged):
        choice = st.sampled_from(PRESETS).map(lambda preset: room.RulesetChoice(preset=preset, options={}))
        return struct(kind, ruleset=choice)
    if kind is game.Meld:
        return struct(kind, canasta=st.sampled_from(["none", "dirty", "clean"]))
    if kind in (game.MeldLaid, game.MeldExtended):
        return struct(kind, meld=values(game.Meld))
    return of(kind)


def is_ruleset(message: rules_pb2.Ruleset, choice: room.RulesetChoice) -> bool:
    ruleset = make_ruleset(choice.preset, choice.options)
    return (message.preset, message.hash, message.game) == (choice.preset, ruleset.hash, ruleset.game)


def test_rules_and_contract_have_the_same_events() -> None:
    assert set(KINDS) == {field.name for field in events_pb2.Event.DESCRIPTOR.fields}


@pytest.mark.parametrize("name", sorted(KINDS))
@settings(max_examples=30)
@given(data=st.data())
def test_an_event_says_the_same_on_the_wire(name: str, data: st.DataObject) -> None:
    event = data.draw(values(KINDS[name]))
    message = event_message(event)
    assert message.WhichOneof("event") == name
    assert says(getattr(message, name), event, {"ruleset": is_ruleset})
    update = room_pb2.Update.FromString(event_field(event, room_pb2.Update.EVENTS_FIELD_NUMBER))
    assert list(update.events) == [message]


def test_a_hidden_hand_is_empty_and_keeps_its_place() -> None:
    own = card(Suit.RED, Rank.SKIP)
    event = game.RoundStarted(round=1, dealer=0, hands=((), (own,)), hand_sizes=(1, 1), stock_size=106, top=None)
    hands = event_message(event).round_started.hands
    assert [len(hand.cards) for hand in hands] == [0, 1]
    assert hands[1].cards[0] == cards_pb2.Card(suit=cards_pb2.SUIT_RED, rank=cards_pb2.RANK_SKIP)


def test_an_accusation_of_seat_0_differs_from_one_of_nobody() -> None:
    assert event_message(game.Accused(seat=1, target=0, upheld=True)).accused.HasField("target")
    assert not event_message(game.Accused(seat=1, target=None, upheld=False)).accused.HasField("target")
