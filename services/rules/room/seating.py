"""Who sits where: the steps that several actions share."""

from __future__ import annotations

from services.rules.bots.levels import BotLevel
from services.rules.room.draft import Draft
from services.rules.room.events import BotAdded, SeatRemoved, SeatTaken
from services.rules.room.reasons import RoomReason, RoomRefusal
from services.rules.room.state import Room, RoomPhase, Seat


def free_number(draft: Draft, wanted: int | None) -> int:
    """The wanted seat, or the first free one. Raises RoomRefusal (ROOM_FULL, NO_SUCH_SEAT, SEAT_TAKEN)."""
    if wanted is None:
        for number, seat in enumerate(draft.room.seats):
            if seat is None:
                return number
        raise RoomRefusal(RoomReason.ROOM_FULL, seats=len(draft.room.seats))
    draft.check_number(wanted)
    if draft.room.seats[wanted] is not None:
        raise RoomRefusal(RoomReason.SEAT_TAKEN, seat=wanted)
    return wanted


def sit_down(draft: Draft, number: int, player: str, name: str) -> None:
    """Give a free seat to a person."""
    draft.put(number, Seat(player, name, None, draft.room.joined))
    draft.change(joined=draft.room.joined + 1)
    draft.tell(SeatTaken(seat=number, player=player, name=name))


def seat_bot(draft: Draft, number: int, level: BotLevel) -> None:
    """Give a free seat to a bot, under a name that no other bot of the room has."""
    names = {seat.name for _, seat in draft.room.taken()}
    name = next(name for n in range(1, len(draft.room.seats) + 2) if (name := f"Bot {n}") not in names)
    draft.put(number, Seat("", name, level, draft.room.joined))
    draft.change(joined=draft.room.joined + 1)
    draft.tell(BotAdded(seat=number, level=level, name=name))


def unseat(draft: Draft, number: int, *, banned: bool = False) -> None:
    """Take the seat from who sits there; the loss of a person stops a ready check."""
    seat = draft.seat(number)
    draft.put(number, None)
    draft.tell(SeatRemoved(seat=number, player=seat.player, banned=banned))
    if seat.is_person:
        stop_ready_check(draft)


def stop_ready_check(draft: Draft) -> None:
    """Go back to an open room, whose host starts the match."""
    if draft.room.phase is RoomPhase.READY_CHECK:
        draft.change(phase=RoomPhase.OPEN)


def close_ranks(draft: Draft) -> None:
    """Let the taken seats be the first ones, in the same order, and tell who moved."""
    for target, (number, seat) in enumerate(draft.room.taken()):
        if target == number:
            continue
        draft.put(number, None)
        draft.put(target, seat)
        if seat.level is None:
            draft.tell(SeatTaken(seat=target, player=seat.player, name=seat.name))
        else:
            draft.tell(SeatRemoved(seat=number, player=""))
            draft.tell(BotAdded(seat=target, level=seat.level, name=seat.name))


def resize(draft: Draft, seats: int) -> None:
    """Give the room this many seats, not fewer than are taken."""
    if any(number >= seats for number, _ in draft.room.taken()):
        close_ranks(draft)
    kept = draft.room.seats[:seats]
    draft.change(seats=kept + (None,) * (seats - len(kept)))


def may_start(room: Room) -> bool:
    """Whether enough seats are taken and everybody is ready."""
    return all(s.ready for _, s in room.people()) and len(room.taken()) >= room.ruleset.min_seats
