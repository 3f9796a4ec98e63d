"""The phases in which play waits: a start wild's suit, a slap or shout (rules.md 4.1, 4.2)."""

from __future__ import annotations

from services.rules.actions import Choose, React
from services.rules.events import DrawCause, Reacted, SuitChosen
from services.rules.reasons import IllegalAction, Reason
from services.rules.shedding.state import State, announce_turn, enter, take
from services.rules.views import Phase

LAST_TO_REACT_TAKES = 2


def check_choose(s: State, seat: int, action: Choose) -> None:
    if seat != s.chooser:
        raise IllegalAction(Reason.NOT_YOUR_TURN)
    if action.suit not in s.rules.suits:
        raise IllegalAction(Reason.WISH_REQUIRED)


def choose(s: State, seat: int, action: Choose) -> None:
    """The suit of the start card is named, and the seat on turn may begin."""
    s.wish = action.suit
    s.chooser = None
    if s.log is not None:
        s.log.append(SuitChosen(seat=seat, suit=action.suit))
    enter(s, Phase.PLAY)
    announce_turn(s)


def check_react(s: State, seat: int, action: React) -> None:
    if seat not in s.waiting:
        raise IllegalAction(Reason.NOTHING_TO_REACT)


def react(s: State, seat: int, action: React) -> None:
    """When all but one have reacted, the last one takes two cards and play goes on."""
    s.waiting.remove(seat)
    if s.log is not None:
        s.log.append(Reacted(seat=seat))
    if len(s.waiting) == 1:
        take(s, s.waiting.pop(), LAST_TO_REACT_TAKES, DrawCause.LAST_TO_REACT)
        enter(s, Phase.PLAY)
        announce_turn(s)
