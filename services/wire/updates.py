"""The messages of `Watch` and `Play` streams, encoded.

What one version means for all its viewers is encoded once, and each distinct view once. `WatchResponse` and
`PlayResponse` have the same fields but for answers, so the bytes made here are valid on both kinds of stream; a handler
writes them as they are. An answer is a field that may be put behind an update: the bytes of both, joined, are a
message.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final

from maumau.v1 import authority_pb2, events_pb2, room_pb2

from services.rules.room.actions import Actor, Bot, Clock, Matchmaker, Operator, Player
from services.rules.room.events import RoomEvent
from services.wire.encoding import field_bytes, varint
from services.wire.errors import Refusal
from services.wire.events import event_field
from services.wire.times import timestamp, write_timestamp
from services.wire.views import RoomClock, clock_message, write_clock

_UPDATE: Final = authority_pb2.WatchResponse.UPDATE_FIELD_NUMBER
_EVENTS: Final = room_pb2.Update.EVENTS_FIELD_NUMBER
_LEGAL: Final = room_pb2.Update.LEGAL_FIELD_NUMBER
_ANSWER: Final = authority_pb2.PlayResponse.ANSWER_FIELD_NUMBER
_REQUEST_ID: Final = authority_pb2.PlayResponse.Answer.REQUEST_ID_FIELD_NUMBER
_VERSION_TAG: Final = varint(authority_pb2.PlayResponse.Answer.VERSION_FIELD_NUMBER << 3)

_KEPT: Final = 128
"""Actors whose message is kept: each kind, on each seat."""

_KINDS: Final[dict[type, events_pb2.Actor.Kind.ValueType]] = {
    Player: events_pb2.Actor.KIND_PLAYER,
    Bot: events_pb2.Actor.KIND_BOT,
    Clock: events_pb2.Actor.KIND_CLOCK,
    Matchmaker: events_pb2.Actor.KIND_SERVER,
    Operator: events_pb2.Actor.KIND_OPERATOR,
}


def actor_message(actor: Actor, seat: int | None = None) -> events_pb2.Actor:
    """Who caused a version; `seat` is the one that a person has or a timer was for. Identities are not told."""
    return _actor_message(_KINDS[type(actor)], actor.seat if isinstance(actor, Bot) else seat)


@lru_cache(_KEPT)
def _actor_message(kind: events_pb2.Actor.Kind.ValueType, seat: int | None) -> events_pb2.Actor:
    """Shared: whoever gets it puts it into another message and never changes it."""
    return events_pb2.Actor(kind=kind, seat=seat)


class EncodedVersion:
    """One version of a room on its way to all who watch it. Times are milliseconds since 1970."""

    def __init__(
        self, version: int, time_ms: int, actor: events_pb2.Actor, clock: RoomClock | None, resume_token: bytes
    ) -> None:
        shared = room_pb2.Update(version=version, actor=actor, resume_token=resume_token)
        write_timestamp(shared.time, time_ms)
        if clock is not None:
            write_clock(shared.clock, clock)
        self._shared = shared.SerializeToString()
        self._events: Sequence[RoomEvent] = ()
        self._with_events = self._shared
        self._encoded: dict[bytes, bytes] = {}

    def message(self, events: Sequence[RoomEvent], legal: bytes | None = None) -> bytes:
        """The version for a viewer: the events as the viewer may know them, and `legal_bytes` of the viewer's seat
        when they changed. Equal views get the same object; events that are one object are encoded once."""
        if events is not self._events:
            self._events = events
            self._with_events = self._shared + b"".join([event_field(event, _EVENTS) for event in events])
        update = self._with_events
        if legal is not None:
            update += field_bytes(_LEGAL, legal)
        encoded = self._encoded.get(update)
        if encoded is None:
            encoded = self._encoded[update] = field_bytes(_UPDATE, update)
        return encoded


def snapshot_message(
    room: room_pb2.RoomView, resume_token: bytes, reason: room_pb2.SnapshotReason.ValueType
) -> room_pb2.Snapshot:
    """The whole of what a viewer may know, and why it is sent."""
    return room_pb2.Snapshot(room=room, resume_token=resume_token, reason=reason)


def encoded_snapshot(snapshot: room_pb2.Snapshot) -> bytes:
    """A snapshot on a stream."""
    return authority_pb2.WatchResponse(snapshot=snapshot).SerializeToString()


def encoded_bookmark(
    version: int, clock: RoomClock, resume_token: bytes, connected_seats: Iterable[int], spectators: int
) -> bytes:
    """A sign of life. `version` and `clock` are those read from the store; `resume_token` of the version delivered
    last."""
    bookmark = room_pb2.Bookmark(
        version=version,
        time=timestamp(clock.now),
        resume_token=resume_token,
        connected_seats=sorted(connected_seats),
        spectators=spectators,
        clock=clock_message(clock),
    )
    return authority_pb2.WatchResponse(bookmark=bookmark).SerializeToString()


def encoded_go_away(resume_token: bytes, reason: room_pb2.GoAwayReason.ValueType) -> bytes:
    """The last message of a stream that the server ends."""
    go_away = room_pb2.GoAway(resume_token=resume_token, reason=reason)
    return authority_pb2.WatchResponse(go_away=go_away).SerializeToString()


def encoded_renew(expires_ms: int) -> bytes:
    """The session ends soon."""
    return authority_pb2.WatchResponse(renew=room_pb2.Renew(expires=timestamp(expires_ms))).SerializeToString()


def encoded_chat(player_id: str, display_name: str, seat: int | None, text: str, time_ms: int) -> bytes:
    """A chat text, of a spectator where there is no seat."""
    chat = events_pb2.ChatMessage(
        player_id=player_id, display_name=display_name, seat=seat, text=text, time=timestamp(time_ms)
    )
    return authority_pb2.WatchResponse(chat=chat).SerializeToString()


def encoded_announcement(text: str, time_ms: int) -> bytes:
    """The operator's word to all who watch."""
    announcement = events_pb2.Announcement(text=text, time=timestamp(time_ms))
    return authority_pb2.WatchResponse(announcement=announcement).SerializeToString()


def encoded_acceptance(request_id: bytes, version: int) -> bytes:
    """That an action made this version. For `Play` alone; by itself, or behind the bytes of an update."""
    return field_bytes(_ANSWER, field_bytes(_REQUEST_ID, request_id) + _VERSION_TAG + varint(version))


def encoded_refusal(request_id: bytes, refusal: Refusal) -> bytes:
    """That an action made no version, and why. For `Play` alone."""
    answer = authority_pb2.PlayResponse.Answer(request_id=request_id, refusal=refusal.to_refusal_message())
    return authority_pb2.PlayResponse(answer=answer).SerializeToString()
