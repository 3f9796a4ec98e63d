"""The end of a turn.

Every turn ends with a discard: one card of the hand goes face up on the pile, any but a red three, twos included. It
cannot be undone, and the next seat is on turn. Discarding the last card is a closing.

There is one case in which a turn ends without a discard: a red three could not be replaced, and the player is left
with a single card that he may not discard, because that would close without the right to. He keeps it.
"""

from __future__ import annotations

from services.rules.actions import Discard, Keep
from services.rules.events import Discarded, Event, KeptLast, RoundEndCause, TurnStarted
from services.rules.reasons import IllegalAction, Reason
from services.rules.tranca.closing import canasta_required, may_discard_last, may_take_pozzetto, take_pozzetto
from services.rules.tranca.scoring import end_round
from services.rules.tranca.state import TrancaState, partnership_of
from services.rules.views import Phase


def must_keep_last(state: TrancaState, seat: int) -> bool:
    """Whether the hand is a single card that may not be discarded."""
    return len(state.hands[seat]) == 1 and not may_discard_last(state, partnership_of(seat))


def discard(state: TrancaState, seat: int, action: Discard, events: list[Event]) -> None:
    """Puts one card on the pile and ends the turn, or the deal."""
    hand = state.hands[seat]
    if action.card not in hand:
        raise IllegalAction(Reason.CARD_NOT_IN_HAND)
    if must_keep_last(state, seat):
        raise canasta_required(state)
    hand.remove(action.card)
    state.pile.append(action.card)
    events.append(Discarded(seat=seat, card=action.card, left=len(hand)))
    if not hand:
        if not may_take_pozzetto(state, partnership_of(seat)):
            end_round(state, RoundEndCause.CLOSED, partnership_of(seat), events)
            return
        take_pozzetto(state, seat, False, events)
    begin_turn(state, (seat + 1) % state.seats, events)


def keep(state: TrancaState, seat: int, action: Keep, events: list[Event]) -> None:
    """Ends the turn with the single card that may not be discarded."""
    if not must_keep_last(state, seat):
        raise IllegalAction(Reason.MUST_DISCARD)
    events.append(KeptLast(seat=seat))
    begin_turn(state, (seat + 1) % state.seats, events)


def begin_turn(state: TrancaState, seat: int, events: list[Event]) -> None:
    """Gives the turn to a seat."""
    state.turn = seat
    state.turns += 1
    state.phase = Phase.DRAW
    state.drew = None
    events.append(TurnStarted(seat=seat))
