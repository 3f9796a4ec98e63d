"""What this side knows of a room, fed by the messages of its streams one after the other."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final

from maumau import table
from maumau.v1 import events_pb2, room_pb2


class SnapshotCause(Enum):
    """Why a whole view stands in place of updates."""

    ASKED = "asked"
    HISTORY_CHANGED = "history changed"
    """The server's data was rolled back: what was seen before is no longer what happened."""
    HISTORY_TRIMMED = "history trimmed"
    """The missed versions are no longer kept."""
    READER_TOO_SLOW = "reader too slow"
    """The reader of `Room.events()` fell so far behind that updates were left out."""


_CAUSES: Final = {
    room_pb2.SNAPSHOT_REASON_HISTORY_CHANGED: SnapshotCause.HISTORY_CHANGED,
    room_pb2.SNAPSHOT_REASON_HISTORY_TRIMMED: SnapshotCause.HISTORY_TRIMMED,
}


@dataclass(frozen=True, slots=True)
class RoomSnapshot:
    """The room as a whole: first of all, and wherever updates cannot lead from what was known to what is."""

    view: room_pb2.RoomView
    cause: SnapshotCause

    @property
    def version(self) -> int:
        return self.view.version


@dataclass(frozen=True, slots=True)
class RoomUpdate:
    """One version: `update` as the server sent it, and `view`, the room after it. Do not change the view."""

    update: room_pb2.Update
    view: room_pb2.RoomView

    @property
    def version(self) -> int:
        return self.update.version


@dataclass(frozen=True, slots=True)
class RoomChat:
    """Somebody in the room wrote something, or the operator of the server to everybody, who has no name here."""

    message: events_pb2.ChatMessage
    by_operator: bool = False


RoomEvent = RoomSnapshot | RoomUpdate | RoomChat


class VersionsMissing(Exception):  # noqa: N818 - a finding, not a fault
    """An update did not follow on the last one: something was lost on the way."""


class Follower:
    """The present view of a room and where to resume. Versions follow one another without holes or repeats."""

    def __init__(self) -> None:
        self.view: room_pb2.RoomView | None = None
        self.version = 0
        """Of the last update or snapshot that came by a stream."""
        self.resume_token = b""
        self.behind = False
        """A bookmark named a version that has not come yet."""
        self.uncertain = False
        """The view could not be derived from the last update and has to be fetched."""

    def take_snapshot(self, snapshot: room_pb2.Snapshot) -> RoomSnapshot:
        """Raises Unreadable."""
        self.view = table.check(snapshot.room)
        self.version = snapshot.room.version
        self.resume_token = snapshot.resume_token
        self.behind = self.uncertain = False
        return RoomSnapshot(snapshot.room, _CAUSES.get(snapshot.reason, SnapshotCause.ASKED))

    def take_update(self, update: room_pb2.Update) -> RoomUpdate | None:
        """The update with the view after it; None for one that came already. Raises VersionsMissing,
        Unreadable."""
        if self.view is None or update.version > self.version + 1:
            raise VersionsMissing
        if update.version <= self.version:
            return None
        self.version = update.version
        self.resume_token = update.resume_token
        self.behind = False
        if update.version > self.view.version:  # else the view was fetched and is ahead of the stream
            self._reduce(self.view, update)
        return RoomUpdate(update, self.view)

    def _reduce(self, view: room_pb2.RoomView, update: room_pb2.Update) -> None:
        reduced = table.reduce(view, update)
        self.view = reduced.view
        self.uncertain = self.uncertain or not reduced.certain

    def take_bookmark(self, bookmark: room_pb2.Bookmark) -> None:
        # Its resume token is not taken over: after a rollback it may belong to another history of the same version.
        self.behind = bookmark.version > self.version
        if self.view is not None:
            self.view = table.with_presence(self.view, bookmark)

    def take_fetched(self, view: room_pb2.RoomView) -> None:
        """A view that was asked for because updates did not suffice; an older one than known is of no use."""
        if self.view is not None and view.version >= self.view.version:
            self.view = table.check(view)
            self.uncertain = False
