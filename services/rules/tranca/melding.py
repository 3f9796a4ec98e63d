"""The meld phase, except for its end.

After drawing, the player on turn lays new melds and adds cards to melds of his partnership, as often as he likes.
At some tables a partnership may have only one set of a rank, and at some its first meld in a deal must be worth a
number of points once its score has reached a limit.

Each action has a `check_` function, which says what would be laid or raises IllegalAction, and a function that does it.
"""

from __future__ import annotations

from collections.abc import Sequence

from services.rules.actions import Add, Meld
from services.rules.cards import Card
from services.rules.events import Event, MeldExtended, MeldLaid, RoundEndCause
from services.rules.events import Meld as LaidMeld
from services.rules.reasons import IllegalAction, Reason
from services.rules.tranca.closing import check_cards_left, may_take_pozzetto, take_pozzetto
from services.rules.tranca.melds import arranged, canasta_of, rank_of_set, worth
from services.rules.tranca.scoring import end_round
from services.rules.tranca.state import THREES, TrancaState, partnership_of


def check_meld(state: TrancaState, seat: int, action: Meld) -> LaidMeld:
    """The meld that the action would lay."""
    check_in_hand(state, seat, action.cards)
    _check_no_three(action.cards)
    new = new_meld(state, seat, action.cards)
    check_first_meld(state, new)
    check_cards_left(state, seat, len(state.hands[seat]) - len(action.cards), new)
    return new


def meld(state: TrancaState, seat: int, action: Meld, events: list[Event]) -> None:
    """Lays a new meld."""
    new = check_meld(state, seat, action)
    _leave_hand(state, seat, action.cards)
    lay_new(state, seat, new, events)
    close_if_empty(state, seat, events)


def check_add(state: TrancaState, seat: int, action: Add) -> LaidMeld:
    """The meld as it would be after adding."""
    index = own_meld(state, seat, action.meld)
    check_in_hand(state, seat, action.cards)
    _check_no_three(action.cards)
    if not action.cards:
        raise IllegalAction(Reason.INVALID_MELD)
    longer = longer_meld(state, index, action.cards)
    check_cards_left(state, seat, len(state.hands[seat]) - len(action.cards), longer)
    return longer


def add(state: TrancaState, seat: int, action: Add, events: list[Event]) -> None:
    """Adds cards of the hand to a meld of the own partnership."""
    longer = check_add(state, seat, action)
    _leave_hand(state, seat, action.cards)
    lay_longer(state, seat, longer, action.cards, events)
    close_if_empty(state, seat, events)


def check_in_hand(state: TrancaState, seat: int, cards: Sequence[Card]) -> None:
    """Raises IllegalAction where a card is named more often than the hand holds it."""
    hand = state.hands[seat]
    if len(cards) > len(hand):
        raise IllegalAction(Reason.CARD_NOT_IN_HAND)
    for c in cards:
        if hand.count(c) < cards.count(c):
            raise IllegalAction(Reason.CARD_NOT_IN_HAND)


def _check_no_three(cards: Sequence[Card]) -> None:
    if not THREES.isdisjoint(cards):
        raise IllegalAction(Reason.THREE_NOT_MELDABLE)


def new_meld(state: TrancaState, seat: int, cards: Sequence[Card]) -> LaidMeld:
    """The meld of these cards under the next id. Raises IllegalAction where they make none that the seat's
    partnership may lay."""
    laid = arranged(cards, state.options)
    new = LaidMeld(f"m{state.melds_laid + 1}", partnership_of(seat), laid, canasta_of(laid, state.options))
    if not state.options.duplicate_sets and rank_of_set(new) is not None and _has_set_like(state, new):
        raise IllegalAction(Reason.INVALID_MELD)
    return new


def _has_set_like(state: TrancaState, new: LaidMeld) -> bool:
    rank = rank_of_set(new)
    return any(m.partnership == new.partnership and rank_of_set(m) is rank for m in state.melds)


def check_first_meld(state: TrancaState, new: LaidMeld) -> None:
    """Raises IllegalAction where a partnership's first meld of the deal is worth too little."""
    if first_meld_counts(state, new.partnership) and worth(new.cards, state.options) < state.options.first_points:
        raise IllegalAction(Reason.FIRST_MELD_TOO_LOW, points=state.options.first_points)


def first_meld_counts(state: TrancaState, partnership: int) -> bool:
    """Whether the next meld of this partnership must be worth `melds.first` points."""
    least = state.options.first_from
    if least is None or state.scores[partnership] < least:
        return False
    return all(m.partnership != partnership for m in state.melds)


def own_meld(state: TrancaState, seat: int, meld_id: str) -> int:
    """The place in `state.melds` of a meld of the seat's partnership. Raises IllegalAction for any other."""
    mine = partnership_of(seat)
    for index, laid in enumerate(state.melds):
        if laid.id == meld_id and laid.partnership == mine:
            return index
    raise IllegalAction(Reason.NOT_YOUR_MELD)


def longer_meld(state: TrancaState, index: int, cards: Sequence[Card]) -> LaidMeld:
    """The meld at this place of `state.melds` with these cards added. Raises IllegalAction where they do not fit."""
    old = state.melds[index]
    laid = arranged(cards, state.options, old.cards)
    return LaidMeld(old.id, old.partnership, laid, canasta_of(laid, state.options))


def lay_new(state: TrancaState, seat: int, new: LaidMeld, events: list[Event]) -> None:
    """Puts a new meld on the table."""
    state.melds_laid += 1
    state.melds.append(new)
    _find_again(state, new)
    events.append(MeldLaid(seat=seat, meld=new))


def lay_longer(state: TrancaState, seat: int, longer: LaidMeld, cards: Sequence[Card], events: list[Event]) -> None:
    """Puts a longer meld in the place of the old one; `cards` are what was added."""
    state.melds[own_meld(state, seat, longer.id)] = longer
    _find_again(state, longer)
    events.append(MeldExtended(seat=seat, meld=longer, cards=tuple(cards)))


def _find_again(state: TrancaState, changed: LaidMeld) -> None:
    """Keeps the findings true to the melds."""
    fit = state.findings.fitting[changed.partnership]
    if fit is not None:
        fit.put(changed, state.options.max_wilds)


def close_if_empty(state: TrancaState, seat: int, events: list[Event]) -> None:
    """What follows when the last cards of a hand were melded."""
    if state.hands[seat]:
        return
    if may_take_pozzetto(state, partnership_of(seat)):
        take_pozzetto(state, seat, True, events)
    else:
        end_round(state, RoundEndCause.CLOSED, partnership_of(seat), events)


def _leave_hand(state: TrancaState, seat: int, cards: Sequence[Card]) -> None:
    for c in cards:
        state.hands[seat].remove(c)
