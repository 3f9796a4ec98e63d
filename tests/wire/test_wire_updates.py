"""What is put together from encoded parts is what the library would have encoded, on both kinds of stream."""

from __future__ import annotations

import os
from typing import NamedTuple, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from maumau.v1 import authority_pb2, events_pb2, room_pb2

from services.rules import actions, events
from services.rules.cards import Rank, Suit, card
from services.rules.room.actions import Actor, Bot, Clock, Matchmaker, Operator, Player
from services.wire.actions import action_message
from services.wire.encoding import varint
from services.wire.errors import refusal
from services.wire.events import event_message
from services.wire.updates import (
    EncodedVersion,
    actor_message,
    encoded_acceptance,
    encoded_bookmark,
    encoded_chat,
    encoded_go_away,
    encoded_refusal,
    encoded_renew,
    encoded_snapshot,
    snapshot_message,
)
from services.wire.views import clock_message, legal_bytes
from tests.wire.wire_values import of

SEVEN = card(Suit.CLUBS, Rank.SEVEN)
TOKEN = b"token"


class StoredClock(NamedTuple):
    now: int = 1_700_000_000_123
    turn_at: int = 1_700_000_000_000
    banks: tuple[int, ...] = (60_000, 0)
    deadline: int = 1_700_000_030_000
    kind: int = 1


def version() -> EncodedVersion:
    return EncodedVersion(300, 1_700_000_000_123, actor_message(Player("p1"), 0), StoredClock(), TOKEN)


def read(encoded: bytes) -> authority_pb2.WatchResponse:
    """The message, after making sure that it is the same on both kinds of stream."""
    watched = authority_pb2.WatchResponse.FromString(encoded)
    played = authority_pb2.PlayResponse.FromString(encoded)
    field = watched.WhichOneof("message")
    assert field is not None
    assert played.WhichOneof("message") == field
    assert getattr(watched, field) == getattr(played, field)
    return watched


def test_both_kinds_of_stream_have_the_same_fields() -> None:
    watched, played = authority_pb2.WatchResponse.DESCRIPTOR, authority_pb2.PlayResponse.DESCRIPTOR
    for field in watched.fields:
        twin = played.fields_by_number[field.number]
        assert (twin.name, twin.message_type) == (field.name, field.message_type)
    assert {field.name for field in played.fields} - {field.name for field in watched.fields} == {"answer"}


def test_an_update_has_all_its_fields() -> None:
    told: list[events.Event] = [events.CardsPlayed(seat=0, cards=(SEVEN,), left=4), events.TurnStarted(seat=1, debt=2)]
    encoded = version().message(told, legal_bytes([actions.Draw()], [actions.Call(actions.Word.MAU)]))
    assert read(encoded).update == room_pb2.Update(
        version=300,
        time=clock_message(StoredClock()).now,
        actor=events_pb2.Actor(kind=events_pb2.Actor.KIND_PLAYER, seat=0),
        events=[event_message(event) for event in told],
        clock=clock_message(StoredClock()),
        legal=room_pb2.LegalActions(
            actions=[action_message(actions.Draw())], penal=[action_message(actions.Call(actions.Word.MAU))]
        ),
        resume_token=TOKEN,
    )
    assert {field.name for field, _ in read(encoded).update.ListFields()} == {
        field.name for field in room_pb2.Update.DESCRIPTOR.fields
    }


@given(
    st.lists(st.one_of([of(kind) for kind in (events.CardsDrawn, events.RoundEnded, events.HandsMoved)]), max_size=4),
    st.none() | st.lists(st.one_of([of(kind) for kind in get_args(actions.Action)]), max_size=40),
)
def test_an_update_is_encoded_as_the_library_would(
    told: list[events.Event], legal: list[actions.Action] | None
) -> None:
    update = read(version().message(told, None if legal is None else legal_bytes(legal))).update
    assert list(update.events) == [event_message(event) for event in told]
    assert update.HasField("legal") is (legal is not None)
    assert list(update.legal.actions) == [action_message(action) for action in legal or ()]


def test_having_nothing_to_do_any_more_differs_from_no_change() -> None:
    assert read(version().message([], b"")).update.HasField("legal")
    assert not read(version().message([])).update.HasField("legal")


def test_equal_views_share_one_encoding_and_different_ones_do_not() -> None:
    encoded = version()
    hidden = events.CardsDrawn(seat=0, count=1, cards=(), cause=events.DrawCause.TURN)
    shown = events.CardsDrawn(seat=0, count=1, cards=(SEVEN,), cause=events.DrawCause.TURN)
    assert encoded.message([hidden]) is encoded.message([hidden])
    assert encoded.message([shown]) != encoded.message([hidden])
    assert read(encoded.message([hidden])).update.events[0].cards_drawn.cards == []


@pytest.mark.parametrize("value", [0, 1, 127, 128, 300, 16_383, 16_384, 2**32, 2**63])
def test_a_number_is_encoded_as_the_library_does(value: int) -> None:
    field = authority_pb2.WatchResponse.UPDATE_FIELD_NUMBER
    encoded = varint(field << 3 | 2) + varint(len(varint(1 << 3)) + len(varint(value))) + varint(1 << 3) + varint(value)
    expected = value if value < 2**63 else value - 2**64
    assert authority_pb2.WatchResponse.FromString(encoded).update.version == expected


@pytest.mark.parametrize(
    ("actor", "kind"),
    [
        (Player("p1"), "KIND_PLAYER"),
        (Bot(2), "KIND_BOT"),
        (Clock(), "KIND_CLOCK"),
        (Matchmaker(), "KIND_SERVER"),
        (Operator(), "KIND_OPERATOR"),
    ],
)
def test_an_actor_is_told_by_kind_and_seat_alone(actor: Actor, kind: str) -> None:
    message = actor_message(actor, 2)
    assert events_pb2.Actor.Kind.Name(message.kind) == kind
    assert message.seat == 2
    assert b"p1" not in message.SerializeToString()


def test_every_actor_of_the_rules_has_a_kind() -> None:
    assert set(get_args(Actor)) == {Player, Bot, Clock, Matchmaker, Operator}


def test_a_clock_that_does_not_run_has_no_deadline() -> None:
    clock = clock_message(StoredClock(deadline=0, kind=0, turn_at=0, banks=()))
    assert not clock.HasField("deadline")
    assert not clock.HasField("turn_started")
    assert clock.kind == room_pb2.DEADLINE_KIND_UNSPECIFIED
    assert clock.now.ToMilliseconds() == 1_700_000_000_123


def test_signs_of_life_and_endings_are_the_same_on_both_kinds_of_stream() -> None:
    bookmark = read(encoded_bookmark(9, StoredClock(), TOKEN, {2, 0}, 3)).bookmark
    assert (bookmark.version, list(bookmark.connected_seats), bookmark.spectators) == (9, [0, 2], 3)
    assert bookmark.clock == clock_message(StoredClock())
    assert bookmark.time == bookmark.clock.now
    go_away = read(encoded_go_away(TOKEN, room_pb2.GO_AWAY_REASON_STOPPING)).go_away
    assert (go_away.resume_token, go_away.reason) == (TOKEN, room_pb2.GO_AWAY_REASON_STOPPING)
    assert read(encoded_renew(5_000)).renew.expires.seconds == 5
    chat = read(encoded_chat("p1", "Ada", None, "hi", 1_000)).chat
    assert (chat.display_name, chat.HasField("seat"), chat.text) == ("Ada", False, "hi")
    snapshot = snapshot_message(room_pb2.RoomView(room_id="r"), TOKEN, room_pb2.SNAPSHOT_REASON_HISTORY_CHANGED)
    assert read(encoded_snapshot(snapshot)).snapshot == snapshot


def test_an_answer_names_the_version_or_the_refusal() -> None:
    request_id = os.urandom(16)
    accepted = authority_pb2.PlayResponse.FromString(encoded_acceptance(request_id, 7)).answer
    assert (accepted.request_id, accepted.version, accepted.HasField("refusal")) == (request_id, 7, False)
    refused = authority_pb2.PlayResponse.FromString(encoded_refusal(request_id, refusal("NOT_SEATED"))).answer
    assert (refused.version, refused.refusal.reason) == (0, "NOT_SEATED")


@pytest.mark.parametrize("number", [1, 127, 128, 300, 1 << 40])
def test_an_answer_behind_an_update_is_one_message_with_both(number: int) -> None:
    request_id, update = os.urandom(16), version().message([events.TurnStarted(seat=1)])
    both = authority_pb2.PlayResponse.FromString(update + encoded_acceptance(request_id, number))
    assert both.update == read(update).update
    assert (both.answer.request_id, both.answer.version) == (request_id, number)
