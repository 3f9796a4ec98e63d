"""A bot plays for somebody who is away; the seat stays theirs."""

from __future__ import annotations

from services.rules.room.draft import Draft
from services.rules.room.events import SeatHandedToBot, SeatTakenBack


def hand_to_bot(draft: Draft, number: int) -> None:
    """From now on a bot plays for the person."""
    draft.change_seat(number, away=True)
    draft.tell(SeatHandedToBot(seat=number))


def take_back(draft: Draft, number: int) -> None:
    """The person plays again, with a whole turn if it is theirs, once in a turn: the time that the bot took is not
    charged."""
    draft.change_seat(number, away=False, left=False, timeouts=0)
    draft.tell(SeatTakenBack(seat=number))
