"""What a version does to the clock of its room, as a pure value.

Nothing here knows the time. The store's script adds these milliseconds to points in time that it keeps: when the
present turn began and when the present window opened. It charges banks, and the earliest pending timer becomes the
room's one deadline.
"""

from __future__ import annotations

from enum import Enum

import msgspec


class TimerKind(Enum):
    """What a deadline is for. Values are stable and stored."""

    TURN = 1  # a person's turn, with the bank
    BOT = 2  # a bot's move, on turn or in a window
    WINDOW = 3  # people who have to slap, shout or concede
    NEXT_ROUND = 4
    READY_CHECK = 5
    IDLE = 6  # an open room in which nothing happens
    FINISHED = 7  # a finished room that nobody opens again
    AWAY = 8  # the seat on turn had no live stream
    EMPTY = 9  # no person has a live stream
    REMATCH = 10  # who has not confirmed the rematch gives up the seat


class Origin(Enum):
    """The point in time that a timer counts from. Values are stable and stored."""

    NOW = 1  # this commit
    TURN = 2  # the beginning of the turn, or of the phase of the room
    WINDOW = 3  # the opening of the window


class Pending(msgspec.Struct, frozen=True, array_like=True):
    """A timer: due `after_ms` after its origin, and by what is left in the bank of `bank_seat` later."""

    kind: TimerKind
    origin: Origin
    after_ms: int
    seat: int | None = None
    bank_seat: int | None = None


class Charge(msgspec.Struct, frozen=True, array_like=True):
    """The time since the beginning of the turn beyond `base_ms` is taken from the bank of `seat`, not below 0."""

    seat: int
    base_ms: int


class ClockChange(msgspec.Struct, frozen=True, array_like=True):
    """In this order: shift what is running by `credit_ms`; charge; restart the turn, the window, or both, now; set
    the `banks` of all seats (milliseconds; None: as they are); replace the pending timers. Without any there is no
    deadline."""

    pending: tuple[Pending, ...] = ()
    charge: Charge | None = None
    restart_turn: bool = False
    restart_window: bool = False
    banks: tuple[int, ...] | None = None
    credit_ms: int = 0
