"""Before a match, and around it: seats are taken and left, people get ready, the host governs."""

from __future__ import annotations

from msgspec.structs import replace

from services.rules.fairness import LONGEST_CONTRIBUTION
from services.rules.room.absence import take_back
from services.rules.room.actions import (
    AddBot,
    LeaveSeat,
    Mute,
    Player,
    RemoveSeat,
    RotateInvite,
    SetReady,
    Start,
    TakeBack,
    TakeSeat,
)
from services.rules.room.draft import Draft
from services.rules.room.ending import close
from services.rules.room.events import InviteRotated, Muted, ReadyChanged, SeatLeft, SeatTaken
from services.rules.room.leaving import desert
from services.rules.room.reasons import AlreadyDone, RoomReason, RoomRefusal
from services.rules.room.seating import free_number, may_start, seat_bot, sit_down, stop_ready_check, unseat
from services.rules.room.settings import Visibility
from services.rules.room.starting import start_match
from services.rules.room.state import IN_MATCH, Room, RoomPhase


def take_seat(draft: Draft, action: TakeSeat) -> None:
    """Sit down, move, or come back. Raises AlreadyDone for who sits there, RoomRefusal (ROOM_NOT_FOUND, BANNED,
    MATCH_RUNNING, MATCH_OVER, NO_SUCH_SEAT, SEAT_TAKEN, ROOM_FULL)."""
    assert isinstance(draft.actor, Player)
    player = draft.actor.id
    own = draft.room.seat_of(player)
    _admit(draft.room, player, own, action)
    if own is not None and action.seat in (None, own):
        return _come_back(draft, own)
    refuse_outside_lobby(draft.room)
    number = free_number(draft, action.seat)
    if own is None:
        draft.ask_anew()  # who has just come has to confirm, too
        return sit_down(draft, number, player, action.name)
    seat = draft.seat(own)
    draft.put(number, replace(seat, ready=False, contribution=b""))
    draft.put(own, None)
    draft.tell(SeatTaken(seat=number, player=player, name=seat.name))
    return None


def _admit(room: Room, player: str, own: int | None, action: TakeSeat) -> None:
    if player in room.banned:
        raise RoomRefusal(RoomReason.BANNED)
    is_private = room.settings.visibility is Visibility.PRIVATE
    if own is None and is_private and action.invite != room.generation:
        raise RoomRefusal(RoomReason.ROOM_NOT_FOUND)


def _come_back(draft: Draft, own: int) -> None:
    if not draft.seat(own).left:
        raise AlreadyDone(draft.room.version)
    seat = draft.seat(own)
    draft.tell(SeatTaken(seat=own, player=seat.player, name=seat.name))
    take_back(draft, own)
    draft.pass_host_on()


def refuse_outside_lobby(room: Room) -> None:
    """Raises RoomRefusal (MATCH_RUNNING, MATCH_OVER) unless seats and options may change."""
    if room.phase in IN_MATCH:
        raise RoomRefusal(RoomReason.MATCH_RUNNING)
    if room.phase is RoomPhase.FINISHED:
        raise RoomRefusal(RoomReason.MATCH_OVER)


def leave_seat(draft: Draft, action: LeaveSeat) -> None:
    """Give the seat up. In a match that is desertion; after a match the seat stays for the record."""
    number = draft.own_seat()
    if draft.room.phase in IN_MATCH:
        return desert(draft, number)
    draft.tell(SeatLeft(seat=number, player=draft.seat(number).player, deserted=False))
    if draft.room.phase is RoomPhase.FINISHED:
        draft.change_seat(number, left=True)
    else:
        draft.put(number, None)
        stop_ready_check(draft)
    return close_or_pass_on(draft)


def close_or_pass_on(draft: Draft) -> None:
    """Close a room without people; else see that it has a host."""
    if draft.room.people():
        draft.pass_host_on()
    else:
        close(draft, "Nobody is left.")


def set_ready(draft: Draft, action: SetReady) -> None:
    """Raises RoomRefusal (NOT_SEATED, STALE, CONTRIBUTION_TOO_LONG). A ready check ends with the last ready."""
    number = draft.own_seat()
    size, named = len(action.contribution), draft.ctx.version
    if size > LONGEST_CONTRIBUTION:
        expected = f"at most {LONGEST_CONTRIBUTION} bytes"
        raise RoomRefusal(RoomReason.CONTRIBUTION_TOO_LONG, value=size, expected=expected)
    if action.ready and named is not None and named < draft.room.ready_since:
        raise RoomRefusal(RoomReason.STALE, version=named, began=draft.room.ready_since, subject="options")
    draft.change_seat(number, ready=action.ready, contribution=action.contribution if action.ready else b"")
    draft.tell(ReadyChanged(seat=number, ready=action.ready))
    if draft.room.phase is RoomPhase.READY_CHECK and may_start(draft.room):
        start_match(draft)


def add_bot(draft: Draft, action: AddBot) -> None:
    """Raises RoomRefusal (NO_SUCH_SEAT, SEAT_TAKEN, ROOM_FULL)."""
    seat_bot(draft, free_number(draft, action.seat), action.level)


def remove_seat(draft: Draft, action: RemoveSeat) -> None:
    """Raises RoomRefusal (NO_SUCH_SEAT, SEAT_IS_FREE, INVALID_FIELD for one's own seat)."""
    seat = draft.seat(action.seat)
    if isinstance(draft.actor, Player) and draft.room.seat_of(draft.actor.id) == action.seat:
        raise RoomRefusal(RoomReason.INVALID_FIELD, field="seat", value=action.seat, expected="another seat")
    banned = action.ban and seat.is_person
    unseat(draft, action.seat, banned=banned)
    if banned:
        draft.change(banned=(*draft.room.banned, seat.player))
    close_or_pass_on(draft)


def rotate_invite(draft: Draft, action: RotateInvite) -> None:
    """Codes of the generation before are worth nothing now."""
    draft.change(generation=draft.room.generation + 1)
    draft.tell(InviteRotated())


def start(draft: Draft, action: Start) -> None:
    """The host is ready by starting. Raises RoomRefusal (TOO_FEW_PLAYERS, NOT_READY)."""
    taken, least = len(draft.room.taken()), draft.room.ruleset.min_seats
    if taken < least:
        raise RoomRefusal(RoomReason.TOO_FEW_PLAYERS, seats=taken, expected=f"at least {least}")
    own = draft.own_seat()
    waiting = [number for number, seat in draft.room.people() if not seat.ready and number != own]
    if waiting:
        raise RoomRefusal(RoomReason.NOT_READY, seats=",".join(map(str, waiting)))
    if not draft.seat(own).ready:
        draft.change_seat(own, ready=True)
        draft.tell(ReadyChanged(seat=own, ready=True))
    start_match(draft)


def mute(draft: Draft, action: Mute) -> None:
    """Raises RoomRefusal (NO_SUCH_SEAT, SEAT_IS_FREE), AlreadyDone."""
    if draft.seat(action.seat).muted == action.muted:
        raise AlreadyDone(draft.room.version)
    draft.change_seat(action.seat, muted=action.muted)
    draft.tell(Muted(seat=action.seat, muted=action.muted))


def come_back(draft: Draft, action: TakeBack) -> None:
    """Raises AlreadyDone for who plays the seat anyway, RoomRefusal (NOT_SEATED)."""
    number = draft.own_seat()
    if not draft.seat(number).away:
        raise AlreadyDone(draft.room.version)
    take_back(draft, number)
