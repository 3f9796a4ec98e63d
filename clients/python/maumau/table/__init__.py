"""The table as one viewer sees it: a view of one version and the events of the next give the view of the next.

`reduce` derives everything that a client shows. Where the events of a version do not say enough (a choice that the
start card asks for, options that were changed, an event of a newer server), the result is marked as not certain, and
whoever wants to be exact asks the server for the view.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from maumau.errors import Unreadable
from maumau.table import play, seats, shedding, tranca
from maumau.v1 import room_pb2

MOST_SEATS: Final = 64
"""More than any game has: a number above it is nobody's seat."""

_CONTRADICTIONS: Final = (LookupError, ValueError, ArithmeticError, StopIteration)


@dataclass(frozen=True, slots=True)
class Reduced:
    """A view, and whether it is exactly the one that the server would send."""

    view: room_pb2.RoomView
    certain: bool


def reduce(view: room_pb2.RoomView, update: room_pb2.Update) -> Reduced:
    """The view after `update`, which must be of the version after that of `view`. The old view stays as it is. Raises
    Unreadable for events that this room cannot have, as of a seat that it does not have."""
    try:
        return _reduce(view, update)
    except _CONTRADICTIONS as error:
        kinds = ", ".join(event.WhichOneof("event") or "unknown" for event in update.events)
        raise Unreadable(
            f"version {update.version} of room {view.room_id} does not fit the one before ({kinds})"
        ) from error


def _reduce(view: room_pb2.RoomView, update: room_pb2.Update) -> Reduced:
    after = room_pb2.RoomView()
    after.CopyFrom(view)
    after.version = update.version
    if update.HasField("clock"):
        after.clock.CopyFrom(update.clock)
    certain = True
    kinds = [event.WhichOneof("event") or "" for event in update.events]
    for place, event in enumerate(update.events):
        certain = _apply(after, event, kinds[place], kinds[place + 1 :]) and certain
    play.settle(after, kinds)
    if update.HasField("legal"):  # absent: as before
        after.legal.CopyFrom(update.legal)
    match after.WhichOneof("game"):
        case "shedding":
            settled = shedding.settle(after.shedding, view.shedding, update.events, kinds, after.ruleset)
            certain = settled and certain
        case "tranca":
            tranca.settle(after.tranca, after.ruleset)
    return Reduced(after, certain)


def _apply(view: room_pb2.RoomView, event: play.Event, kind: str, following: Sequence[str]) -> bool:
    """Changes `view` by one event. Whether what the event did is known for certain."""
    _check_seats(getattr(event, kind, None))
    room_step = seats.STEPS.get(kind) or play.STEPS.get(kind)
    if room_step is not None:
        return room_step(view, getattr(event, kind))
    own_seat = view.own_seat if view.HasField("own_seat") else None
    match view.WhichOneof("game"):
        case "shedding" if kind in shedding.STEPS:
            shedding.STEPS[kind](view.shedding, getattr(event, kind), own_seat)
            return True
        case "tranca" if kind == "red_threes_laid" and following and following[0] == "stock_drawn":
            return tranca.red_threes_drawn(view.tranca, event.red_threes_laid, own_seat)
        case "tranca" if kind in tranca.STEPS:
            tranca.STEPS[kind](view.tranca, getattr(event, kind), own_seat)
            return True
    return False


def _check_seats(told: object) -> None:
    """A number below 0 would mean a seat from the end, and a huge one a room of that size."""
    for number in (getattr(told, "seat", 0), getattr(told, "target", 0)):
        if not 0 <= number < MOST_SEATS:
            raise ValueError(f"seat {number}")


def check(view: room_pb2.RoomView) -> room_pb2.RoomView:
    """The view as it is. Raises Unreadable if it names a seat as the viewer's own, or on turn, that is not there."""
    game = view.tranca if view.WhichOneof("game") == "tranca" else view.shedding
    seats, hands = len(view.seats), len(game.hand_sizes)
    own = view.own_seat if view.HasField("own_seat") else None
    if (own is not None and not 0 <= own < seats) or (hands and not 0 <= game.turn < hands):
        raise Unreadable(f"version {view.version} of room {view.room_id} names a seat that the room does not have")
    return view


def with_presence(view: room_pb2.RoomView, bookmark: room_pb2.Bookmark) -> room_pb2.RoomView:
    """The view with who is connected as the bookmark has it; the same object if nothing differs."""
    connected = set(bookmark.connected_seats)
    same = all(seat.connected == (number in connected) for number, seat in enumerate(view.seats))
    if same and view.spectators == bookmark.spectators:
        return view
    after = room_pb2.RoomView()
    after.CopyFrom(view)
    after.spectators = bookmark.spectators
    for number, seat in enumerate(after.seats):
        seat.connected = number in connected
    return after


__all__ = ["Reduced", "check", "reduce", "with_presence"]
