"""What is stored of a room and what a commit asks for. State and payload are opaque bytes here.

All times are milliseconds since 1970 by the clock of Redis; 0 stands for "not running". Only the commit script computes
with them: a process states origins and durations and reads back what became of them.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final, NamedTuple

import msgspec

from services.store.errors import BadArgument
from services.store.keys import RoomId

MARK_BYTES: Final = 8
NO_MARK: Final = bytes(MARK_BYTES)
"""The "mark before" of version 1."""


class Head(NamedTuple):
    """How far a room is. The mark is random, so that after a rollback of Redis the same version has another mark."""

    version: int
    mark: bytes


class Clock(msgspec.Struct, frozen=True):
    """The clock of a room after a commit, or as read."""

    now: int
    """Redis time of the commit, or of the read."""
    turn_at: int = 0
    """When the running turn began, moved on by outages."""
    window_at: int = 0
    """When the running window began, moved on by outages."""
    banks: tuple[int, ...] = ()
    """What each seat has left beyond its base time, in ms. Empty outside a match."""
    deadline: int = 0
    """The room's one deadline; 0 if nothing is pending."""
    kind: int = 0
    """What happens at the deadline: the caller's number, 0 if nothing is pending."""
    due_from: int = 0
    """The origin that the deadline was counted from."""
    credited: int = 0
    """The last outage of the partition that this room was credited with."""

    @property
    def left_ms(self) -> int:
        """From `now` to the deadline; 0 if it has passed or nothing is pending."""
        return max(0, self.deadline - self.now) if self.deadline else 0


class Origin(IntEnum):
    """What a pending time counts from."""

    NOW = 0
    TURN = 1
    WINDOW = 2


class Pending(NamedTuple):
    """Something that shall happen `after_ms` after `origin`, and later by what is left in the bank of `bank_seat`."""

    kind: int
    """1 to 255, the caller's."""
    origin: Origin
    after_ms: int
    bank_seat: int | None = None


class Grace(NamedTuple):
    """Time that a seat gets because its stream was lost: once a `turn` (any text that names it), `ms` at a time and
    `most_ms` in all for the match that `seat` names (any text of match and seat)."""

    seat: str
    turn: str
    ms: int
    most_ms: int


class ClockChange(msgspec.Struct, frozen=True):
    """What a commit does to the clock, in this order: credit, charge, banks, restarts, pending."""

    credit: bool = True
    """Move the origins (and a kept deadline) by the outages not yet credited. Leave it on: with it off, our outage is
    charged to the seat that acts."""
    charge: int | None = None
    """The seat whose turn ends: what the turn took beyond `base_ms` is taken from its bank, not below 0."""
    base_ms: int = 0
    banks: tuple[int, ...] | None = None
    """Sets the banks of all seats, in ms."""
    restart_turn: bool = False
    """A turn begins now."""
    restart_window: bool = False
    """A window begins now."""
    pending: tuple[Pending, ...] | None = None
    """Everything that waits for time; the earliest becomes the deadline. Empty: no deadline. None: the present deadline
    and kind stay."""


class Commit(msgspec.Struct, frozen=True):
    """One new version of one room."""

    room: RoomId
    after: Head | None
    """The version and mark that it builds on; None makes the room (version 1)."""
    mark: bytes
    """Eight fresh random bytes."""
    state: bytes
    payload: bytes
    """What the log entry and the message carry."""
    clock: ClockChange = ClockChange()
    due: int | None = None
    """The kind of the deadline that this commit carries out: refused while the deadline has not passed, or while an
    outage is not credited."""
    outbox: bytes | None = None
    """An entry for the outbox of the partition."""
    listing: bytes | None = None
    """What the room list shows from now on; b"" takes the room off it; None leaves it as it is."""
    keep_state: bool = False
    """The log entry keeps the state, for those who see the room late."""
    lifetime_ms: int | None = None
    """The room and its log are gone this long after the commit, unless another follows; where an outbox entry of the
    room is not confirmed, that long after it is. None: they stay."""


class Outage(NamedTuple):
    """A time in which nobody served a partition, or a step back of the clock (`ended` before `began`)."""

    partition: int
    id: int
    began: int
    ended: int


class Snapshot(NamedTuple):
    """A room as it is stored."""

    room: RoomId
    head: Head
    state: bytes
    clock: Clock


class LogEntry(NamedTuple):
    """One version in the log of a room."""

    version: int
    mark: bytes
    mark_before: bytes
    time: int
    payload: bytes
    clock: Clock
    state: bytes | None = None
    """What the version led to, where the commit said that its entry shall keep it."""


class Aside(NamedTuple):
    """Something said beside the log, for those who listen just now: no version, no order with versions, no repeat."""

    room: RoomId
    content: bytes


class Committed(NamedTuple):
    """The commit is the room's newest version."""

    head: Head
    clock: Clock
    outbox_id: str | None = None
    """Names the outbox entry, if there was one."""


class Conflict(NamedTuple):
    """Another commit came first, the cache was stale, or the pending deadline is of another kind. The room now."""

    newest: Snapshot


class Early(NamedTuple):
    """The deadline has not passed."""

    left_ms: int


class Uncredited(NamedTuple):
    """The room has first to be credited with outages up to `last`: commit a credit, then try again."""

    credited: int
    last: int


class Missing(NamedTuple):
    """There is no such room (any more)."""

    room: RoomId


CommitResult = Committed | Conflict | Early | Uncredited | Missing


def check_commit(commit: Commit) -> None:
    """Refuse with `BadArgument` what the script could not store. What the script alone can know (a seat without a bank)
    it refuses itself, before its first write."""
    _check_mark("mark", commit.mark)
    if commit.after is not None:
        _check_mark("after.mark", commit.after.mark)
        if commit.after.version < 1:
            raise BadArgument("after.version", commit.after.version, "1 or more")
    if commit.lifetime_ms is not None and commit.lifetime_ms < 1:
        raise BadArgument("lifetime_ms", commit.lifetime_ms, "1 or more")
    if commit.outbox == b"":
        raise BadArgument("outbox", commit.outbox, "None or at least one byte")
    for pending in commit.clock.pending or ():
        _check_pending(pending)


def _check_mark(field: str, mark: bytes) -> None:
    if len(mark) != MARK_BYTES:
        raise BadArgument(field, mark, f"{MARK_BYTES} bytes")


def _check_pending(pending: Pending) -> None:
    if not 1 <= pending.kind <= 255:
        raise BadArgument("pending.kind", pending.kind, "1 to 255")
    if pending.after_ms < 0:
        raise BadArgument("pending.after_ms", pending.after_ms, "0 or more")
