"""One version, put into the queue of every stream here that watches its room: to each as its seat may know it."""

from __future__ import annotations

from typing import Final

from maumau.v1 import room_pb2

from services.game_authority.live_room import LiveRoom, Viewer
from services.game_authority.redis_time import RedisTime
from services.game_authority.versions import NOTHING, Version, encoded, in_play, is_behind
from services.rules.room.events import RoomClosed, SeatLeft, SeatRemoved, SeatTaken
from services.rules.room.state import Room
from services.rules.room.views import game_actions, view_events
from services.runtime import metrics
from services.runtime.traces import traces
from services.store.records import Head
from services.wire.resume import resume_token
from services.wire.updates import encoded_go_away
from services.wire.views import legal_bytes

_SEATING: Final = frozenset({SeatTaken, SeatLeft, SeatRemoved})
"""Events that let somebody have another seat, or none."""


class FanOut:
    """See the module."""

    def __init__(self, redis_time: RedisTime) -> None:
        self._redis_time = redis_time

    def deliver(self, live: LiveRoom, version: Version) -> None:
        """Puts one version, the next one, into every viewer's queue. The answer to who asked for it goes with it."""
        with traces().delivery(version.head.mark):
            self._put(live, version)
        metrics.events_delivered.inc(len(live.viewers))
        if any(type(event) is RoomClosed for event in version.events):
            end(live)
        live.wake()

    def _put(self, live: LiveRoom, version: Version) -> None:
        head, asked = version.head, version.asked
        live.delivered_is(head)
        room = version.room or live.newest.room
        committed_at = None if live.behind else self._redis_time.on_loop(version.time)
        if not live.behind and not _SEATING.isdisjoint(map(type, version.events)):
            for viewer in live.viewers:
                viewer.follow_seat(version.events)
        messages = _Messages(live, version, room)
        for viewer in live.viewers:
            if viewer.since.version >= head.version:
                live.forget_legal(viewer)
                continue
            message = messages.of(in_play(room, viewer.seat))
            if asked is not None and asked.viewer is viewer:
                message += asked.answer(head.version)
            viewer.outlet.put(message, head, committed_at)
            if not live.behind and is_behind(room, viewer.player):
                send_elsewhere(live, viewer, head)


class _Messages:
    """The messages of one version, each made when somebody needs it: one for each seat, one for all who have none."""

    def __init__(self, live: LiveRoom, version: Version, room: Room) -> None:
        self._version = version
        self._room = room
        self._on_the_wire = encoded(live.newest.room, version)
        self._legal = changed_legal(live, version.room)
        self._made: dict[int | None, bytes] = {}

    def of(self, seat: int | None) -> bytes:
        """What this seat, or a spectator, gets."""
        message = self._made.get(seat)
        if message is None:
            events = view_events(self._room, self._version.events, seat)
            legal = None if seat is None else self._legal.get(seat)
            message = self._made[seat] = self._on_the_wire.message(events, legal)
        return message


def changed_legal(live: LiveRoom, room: Room | None) -> dict[int, bytes]:
    """What has changed for the seats that are watched here. A version that came from the log without its state is past:
    nothing can be done on it, and a client that went on from what it knew would only be late."""
    changed = {}
    for seat in {viewer.seat for viewer in live.viewers}:
        if seat is None:
            continue
        actions = NOTHING if room is None else game_actions(room, in_play(room, seat))
        if live.legal.get(seat) != actions:
            live.legal[seat] = actions
            changed[seat] = legal_bytes(*actions)
    return changed


def note_legal(live: LiveRoom, room: Room) -> None:
    """The viewers have just been told what their seats may do in this state, and nothing else counts any more."""
    live.legal = {}
    for viewer in live.viewers:
        seat = room.seat_of(viewer.player)
        if seat is not None:
            live.legal[seat] = game_actions(room, in_play(room, seat))


def send_elsewhere(live: LiveRoom, viewer: Viewer, reached: Head) -> None:
    """Ends a stream that has to go on as another one, of the room itself or of its past, after that version."""
    token = resume_token(live.id, *reached)
    viewer.outlet.end(last=encoded_go_away(token, room_pb2.GO_AWAY_REASON_STOPPING))


def end(live: LiveRoom) -> None:
    """The room is over: every stream ends well after what waits in it."""
    for viewer in live.viewers:
        send_home(live, viewer)


def send_home(live: LiveRoom, viewer: Viewer) -> None:
    """The room is over for this stream."""
    token = resume_token(live.id, *viewer.has(live.delivered))
    viewer.outlet.end(last=encoded_go_away(token, room_pb2.GO_AWAY_REASON_ROOM_CLOSED))
