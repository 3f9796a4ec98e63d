"""The draw phase: every turn begins with a draw.

The player on turn draws one card from the stock, or takes the whole pile. The pile may be taken only if its top card
is not a black three and is used at once: added to a meld of his partnership, or melded with two or more cards of his
hand. The rest of the pile goes to the hand, covered black threes included. At some tables the pile may also be taken
without using its top card, and at some no two of the hand may help to use it.

When the stock is empty a pozzetto that nobody took becomes the stock. If there is none, or the table does not play
that, the pile may still be taken; drawing from the stock then ends the deal.

At some tables the first player of a deal may throw the first card drawn on the pile and draw again.
"""

from __future__ import annotations

from services.rules.actions import DrawStock, Redraw, TakeDiscard
from services.rules.events import CardThrown, Event, PileTaken, RoundEndCause, StockDrawn, StockRenewed
from services.rules.events import Meld as LaidMeld
from services.rules.reasons import IllegalAction, Reason
from services.rules.tranca.closing import check_cards_left
from services.rules.tranca.melding import (
    check_first_meld,
    check_in_hand,
    close_if_empty,
    lay_longer,
    lay_new,
    longer_meld,
    new_meld,
    own_meld,
)
from services.rules.tranca.scoring import end_round
from services.rules.tranca.state import BLACK_THREES, THREES, TWOS, TrancaState, partnership_of
from services.rules.tranca.stock import draw_card
from services.rules.views import Phase


def draw_stock(state: TrancaState, seat: int, action: DrawStock, events: list[Event]) -> None:
    """Draws one card, or ends the deal where none is left."""
    if not state.stock:
        if not (state.pozzetti and state.options.pozzetto_as_stock):
            end_round(state, RoundEndCause.STOCK_OUT, None, events)
            return
        state.stock = state.pozzetti.pop(0)[::-1]
        events.append(StockRenewed(stock_size=len(state.stock)))
    state.drew = draw_card(state, seat, events)
    events.append(StockDrawn(seat=seat, card=state.drew))
    _begin_melding(state, seat)


def may_redraw(state: TrancaState) -> bool:
    """Whether the first card of the deal was just drawn and may be thrown."""
    if not state.options.redraw or state.phase is not Phase.MELD:
        return False
    return state.drew is not None and not state.pile and not state.melds


def redraw(state: TrancaState, seat: int, action: Redraw, events: list[Event]) -> None:
    """Throws the very first card drawn on the pile and draws again."""
    thrown = state.drew
    if thrown is None or not may_redraw(state):
        raise IllegalAction(Reason.ALREADY_DREW)
    state.hands[seat].remove(thrown)
    state.pile.append(thrown)
    events.append(CardThrown(seat=seat, card=thrown))
    state.drew = draw_card(state, seat, events)
    events.append(StockDrawn(seat=seat, card=state.drew))


def check_take(state: TrancaState, seat: int, action: TakeDiscard) -> LaidMeld | None:
    """The meld with which the top card would be used, None where the pile is taken without using it."""
    if not state.pile:
        raise IllegalAction(Reason.DISCARD_EMPTY)
    if state.pile[-1] in BLACK_THREES:
        raise IllegalAction(Reason.DISCARD_LOCKED)
    if action.meld is not None:
        laid = _top_added(state, seat, action, action.meld)
    elif not action.cards and not state.options.justify:
        return None
    else:
        laid = _top_melded(state, seat, action)
    left = len(state.hands[seat]) - len(action.cards) + len(state.pile) - 1
    check_cards_left(state, seat, left, laid)
    return laid


def _top_added(state: TrancaState, seat: int, action: TakeDiscard, meld_id: str) -> LaidMeld:
    index = own_meld(state, seat, meld_id)
    if action.cards:
        raise IllegalAction(Reason.TOP_CARD_NOT_JUSTIFIED)
    try:
        return longer_meld(state, index, state.pile[-1:])
    except IllegalAction:
        raise IllegalAction(Reason.TOP_CARD_NOT_JUSTIFIED) from None


def _top_melded(state: TrancaState, seat: int, action: TakeDiscard) -> LaidMeld:
    if len(action.cards) < 2:
        raise IllegalAction(Reason.TOP_CARD_NOT_JUSTIFIED)
    check_in_hand(state, seat, action.cards)
    wild = state.options.naturals_only and not TWOS.isdisjoint(action.cards)
    if wild or not THREES.isdisjoint(action.cards):
        raise IllegalAction(Reason.TOP_CARD_NOT_JUSTIFIED)
    try:
        laid = new_meld(state, seat, (*action.cards, state.pile[-1]))
        check_first_meld(state, laid)
    except IllegalAction:
        raise IllegalAction(Reason.TOP_CARD_NOT_JUSTIFIED) from None
    return laid


def take_discard(state: TrancaState, seat: int, action: TakeDiscard, events: list[Event]) -> None:
    """Takes the pile and uses its top card."""
    laid = check_take(state, seat, action)
    hand = state.hands[seat]
    *rest, top = state.pile
    events.append(PileTaken(seat=seat, top=top, count=len(state.pile), rest=tuple(rest)))
    state.pile = []
    state.drew = None
    for c in action.cards:
        hand.remove(c)
    hand.extend(rest)
    _begin_melding(state, seat)
    if laid is None:
        hand.append(top)
    elif action.meld is None:
        lay_new(state, seat, laid, events)
    else:
        lay_longer(state, seat, laid, (top,), events)
    close_if_empty(state, seat, events)


def _begin_melding(state: TrancaState, seat: int) -> None:
    """The player has drawn; a pozzetto that he took with his last discard is in use from now on."""
    state.phase = Phase.MELD
    if state.taken[partnership_of(seat)] == seat:
        state.used[partnership_of(seat)] = True
