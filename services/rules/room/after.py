"""After a match, and what the operator and the sweep do."""

from __future__ import annotations

from services.rules.room.actions import AbortMatch, CloseRoom, CreditTime, Matchmaker, Rematch
from services.rules.room.draft import Draft
from services.rules.room.ending import abort_match, close
from services.rules.room.events import RematchOffered, TimeCredited
from services.rules.room.lobby import refuse_outside_lobby
from services.rules.room.making import tell_commitment, upcoming
from services.rules.room.reasons import RoomReason, RoomRefusal
from services.rules.room.state import RoomPhase


def rematch(draft: Draft, action: Rematch) -> None:
    """Open the room again for those who are still here, with a new seed. Raises RoomRefusal (NOT_SEATED)."""
    number = draft.own_seat()
    seats = tuple(None if seat is not None and seat.left else seat for seat in draft.room.seats)
    draft.change(seats=seats, phase=RoomPhase.OPEN, rematch=True, upcoming=upcoming(draft.ctx))
    draft.change(ready_since=draft.version)
    draft.change_people(ready=False, contribution=b"", away=False)
    draft.tell(RematchOffered(seat=number))
    tell_commitment(draft)


def abort(draft: Draft, action: AbortMatch) -> None:
    """End the match without a result; the room stays."""
    abort_match(draft)


def close_room(draft: Draft, action: CloseRoom) -> None:
    """Raises RoomRefusal (MATCH_RUNNING, MATCH_OVER) for the matchmaker, once a match began."""
    if isinstance(draft.actor, Matchmaker):
        refuse_outside_lobby(draft.room)
    close(draft, action.why)


def credit_time(draft: Draft, action: CreditTime) -> None:
    """Raises RoomRefusal (INVALID_FIELD) for a time below 0."""
    if action.ms < 0:
        raise RoomRefusal(RoomReason.INVALID_FIELD, field="ms", value=action.ms, expected="at least 0")
    draft.credit_ms = action.ms
    draft.tell(TimeCredited(ms=action.ms))
