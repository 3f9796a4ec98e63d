"""People leave a running match on purpose."""

from __future__ import annotations

from services.rules.room.draft import Draft
from services.rules.room.ending import abort_match, close, end_by_desertion
from services.rules.room.events import SeatLeft
from services.rules.room.playing import deal_if_ready
from services.rules.room.sides import side_of
from services.rules.room.state import RoomPhase


def desert(draft: Draft, number: int) -> None:
    """The seat stays in the match and a bot plays on, as long as people of two sides are there. Where only one side of
    several has people left, it wins by default; a match without people has no result and closes the room. Before every
    seat has had a turn, nobody shall win or lose by that: the match is unrated from then on."""
    draft.change_seat(number, left=True, away=False)
    if any(counts.turns == 0 for counts in draft.match.counts):
        draft.change_match(unrated=True)
    draft.tell(SeatLeft(seat=number, player=draft.seat(number).player, deserted=True))
    room = draft.room
    began = {side_of(room, seat) for seat, taken in room.taken() if taken.is_person}
    staying = {side_of(room, seat) for seat, _ in room.people()}
    if not staying:
        abort_match(draft)
        return close(draft, "Nobody is left.")
    draft.pass_host_on()
    if len(staying) == 1 < len(began):
        return end_by_desertion(draft, staying.pop())
    if room.phase is RoomPhase.PAUSE:
        deal_if_ready(draft)
    return None
