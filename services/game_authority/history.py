"""What a stream begins with: the room as its player may know it, or what the player missed since a resume token."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from maumau.v1 import room_pb2

from services.game_authority.live_room import LiveRoom, Newest, Viewer, seat_before
from services.game_authority.versions import NOTHING, encoded, from_log, in_an_earlier_match, in_play, legal_of
from services.rules.room.state import Room
from services.rules.room.views import room_view, view_events
from services.runtime import metrics
from services.store.keys import RoomId
from services.store.records import Clock, Head, LogEntry
from services.store.rooms import RoomStore
from services.wire.errors import Refusal
from services.wire.resume import ResumePoint, read_resume_token, resume_token
from services.wire.updates import encoded_bookmark, encoded_snapshot, snapshot_message
from services.wire.views import legal_bytes, room_message

LOG_PAGE: Final = 200
"""Entries read from the log at a time."""

_OUTCOMES: Final = {
    room_pb2.SNAPSHOT_REASON_UNSPECIFIED: "exact",
    room_pb2.SNAPSHOT_REASON_HISTORY_CHANGED: "changed",
    room_pb2.SNAPSHOT_REASON_HISTORY_TRIMMED: "trimmed",
}
"""How a resume went, for the metric."""

Missed = tuple[list[LogEntry] | None, room_pb2.SnapshotReason.ValueType]
"""The entries that somebody missed; None, and why, where there has to be a snapshot."""


class History:
    """Reads the log for streams that begin. `invite` gives a room's present invite code, which its members see."""

    def __init__(self, store: RoomStore, invite: Callable[[Room], str]) -> None:
        self._store = store
        self._invite = invite

    async def missed(self, newest: Newest, point: ResumePoint | None) -> Missed:
        """What came after that point, up to the newest version. Raises `StoreUnavailable`."""
        if point is None:
            return None, room_pb2.SNAPSHOT_REASON_ASKED
        if tuple(point) == tuple(newest.head):
            return [], room_pb2.SNAPSHOT_REASON_UNSPECIFIED
        if point.version > newest.head.version:
            return None, room_pb2.SNAPSHOT_REASON_HISTORY_CHANGED
        room_id = RoomId(newest.room.id)
        mark = await self._store.mark_at(room_id, point.version)
        if mark is None or in_an_earlier_match(newest.room, point.version):
            return None, room_pb2.SNAPSHOT_REASON_HISTORY_TRIMMED
        if mark != point.mark:
            return None, room_pb2.SNAPSHOT_REASON_HISTORY_CHANGED
        entries = await self.log(room_id, point.version, newest.head.version)
        return entries, room_pb2.SNAPSHOT_REASON_UNSPECIFIED

    async def missed_of(self, past: LiveRoom, point: ResumePoint | None) -> tuple[Newest, Missed]:
        """What was missed of a past. Who had a seat may know more than it may see now, and gets nothing twice."""
        ahead = point is not None and point.version > past.version
        if ahead and point is not None and await self._store.mark_at(past.id, point.version) == point.mark:
            return past.newest, ([], room_pb2.SNAPSHOT_REASON_UNSPECIFIED)
        while True:
            newest = past.newest
            missed = await self.missed(newest, point)
            if past.newest is newest:  # no version was shown while the log was read
                return newest, missed

    async def log(self, room_id: RoomId, after: int, to: int) -> list[LogEntry]:
        """The entries of the versions above `after` up to `to`, as far as the log has them."""
        entries: list[LogEntry] = []
        while after < to:
            page = await self._store.log(room_id, after, LOG_PAGE)
            if not page:
                break
            entries += page
            after = page[-1].version
        return [entry for entry in entries if entry.version <= to]

    def begin(self, live: LiveRoom, viewer: Viewer, newest: Newest, point: ResumePoint | None, missed: Missed) -> None:
        """Queues what a stream begins with."""
        entries, reason = missed
        if entries is None:
            self.send_snapshot(live, viewer, newest, reason)
        else:
            viewer.outlet.reached = None if point is None else Head(*point)
            _send_missed(viewer, newest, entries)
        if point is not None:
            metrics.resumes.labels(_OUTCOMES[reason]).inc()
        if entries is not None:  # whoever comes back hears at once that nothing (more) was missed
            viewer.outlet.put(bookmark(live, newest.head.version, newest.clock, newest.head))

    def snapshot(
        self, live: LiveRoom, player: str, newest: Newest, reason: room_pb2.SnapshotReason.ValueType
    ) -> room_pb2.Snapshot:
        """The room as this player may know it."""
        seat = None if live.behind else newest.room.seat_of(player)
        view = room_view(newest.room, in_play(newest.room, seat))
        message = room_message(
            view,
            newest.clock,
            connected=frozenset(live.connected | live.seats_here(newest.room)),
            spectators=live.spectators,
            invite_code=self._invite(newest.room) if seat is not None else "",
            created_ms=live.created_ms,
        )
        return snapshot_message(message, resume_token(live.id, *newest.head), reason)

    def send_snapshot(
        self, live: LiveRoom, viewer: Viewer, newest: Newest, reason: room_pb2.SnapshotReason.ValueType
    ) -> None:
        """Queues a snapshot."""
        viewer.outlet.put(encoded_snapshot(self.snapshot(live, viewer.player, newest, reason)), newest.head)


def _send_missed(viewer: Viewer, newest: Newest, entries: Sequence[LogEntry]) -> None:
    """The missed versions, each as the player's seat at that version may know it."""
    versions = [from_log(entry) for entry in entries]
    seat = newest.room.seat_of(viewer.player)
    seats = []
    for version in reversed(versions):
        seats.append(seat)
        seat = seat_before(version.events, viewer.player, seat)
    for version, seat_then in zip(versions, reversed(seats), strict=True):
        last = version.head == newest.head
        on_the_wire = encoded(newest.room, version)
        events = view_events(newest.room, version.events, in_play(newest.room, seat_then))
        legal = None
        if seat_then is not None and (last or version is versions[0]):  # what held before does not any more
            legal = legal_of(newest.room, seat_then) if last else legal_bytes(*NOTHING)
        viewer.outlet.put(on_the_wire.message(events, legal), version.head)


def bookmark(live: LiveRoom, version: int, clock: Clock, delivered: Head) -> bytes:
    """A sign of life, with the version and clock of the store, to resume after what was delivered."""
    token = resume_token(live.id, *delivered)
    return encoded_bookmark(version, clock, token, live.connected, live.spectators)


def point_of(token: bytes, room_id: RoomId) -> ResumePoint | None:
    """What a stream is to be resumed after; None without a token. Raises Refusal (BAD_RESUME_TOKEN)."""
    if not token:
        return None
    try:
        return read_resume_token(token, room_id)
    except Refusal:
        metrics.resumes.labels("unreadable").inc()
        raise
