"""Closing (chiusura, batida): using up all cards of the hand.

The first time a partnership closes it needs nothing: the player takes a pozzetto. Where the last cards were melded
(direct) he goes on in the same turn, without drawing, and still has to discard. Where the last card was discarded
(indirect) he uses the pozzetto only from his next turn. Each partnership takes one pozzetto at most.

Any later closing, by either partner, ends the deal. So does the first one when no pozzetto is left. It needs a clean
canasta of the partnership on the table (at some tables a dirty one is enough, or none is needed) and may come with the
last meld or with the discard (at some tables only with the discard).

Therefore a hand may not be emptied without that right, and not be melded down to a single card that could then not be
discarded.
"""

from __future__ import annotations

from services.rules.events import Event, Meld, PozzettoTaken
from services.rules.reasons import IllegalAction, Reason
from services.rules.tranca.state import TrancaState, partnership_of
from services.rules.tranca.stock import lay_red_threes


def may_take_pozzetto(state: TrancaState, partnership: int) -> bool:
    """Whether closing gives this partnership a pozzetto."""
    return state.taken[partnership] is None and bool(state.pozzetti)


def may_end_deal(state: TrancaState, partnership: int, changed: Meld | None = None) -> bool:
    """Whether the partnership has the canasta that closing the deal needs, once `changed` is laid."""
    if state.options.close_requires == "none":
        return True
    enough = ("clean",) if state.options.close_requires == "clean" else ("clean", "dirty")
    if changed is not None and changed.canasta in enough:
        return True
    replaced = changed.id if changed is not None else None
    return any(m.partnership == partnership and m.canasta in enough and m.id != replaced for m in state.melds)


def may_discard_last(state: TrancaState, partnership: int) -> bool:
    """Whether a player of this partnership may discard the only card of the hand."""
    return may_take_pozzetto(state, partnership) or may_end_deal(state, partnership)


def check_cards_left(state: TrancaState, seat: int, left: int, changed: Meld) -> None:
    """Raises IllegalAction where melding may not leave so many cards in the hand. `changed` is what will be laid."""
    partnership = partnership_of(seat)
    if left > 1 or may_take_pozzetto(state, partnership):
        return
    if not may_end_deal(state, partnership, changed):
        raise IllegalAction(Reason.MUST_KEEP_CARD) if left else canasta_required(state)
    if left == 0 and state.options.close_by_discard:
        raise IllegalAction(Reason.MUST_KEEP_CARD)


def canasta_required(state: TrancaState) -> IllegalAction:
    """The refusal of a closing without the right to it."""
    return IllegalAction(Reason.CLEAN_CANASTA_REQUIRED, requires=state.options.close_requires)


def take_pozzetto(state: TrancaState, seat: int, direct: bool, events: list[Event]) -> None:
    """Gives the next pozzetto to a seat whose hand is empty."""
    partnership = partnership_of(seat)
    cards = state.pozzetti.pop(0)
    state.hands[seat].extend(cards)
    state.taken[partnership] = seat
    state.used[partnership] = direct
    events.append(PozzettoTaken(seat=seat, direct=direct, count=len(cards), cards=tuple(cards)))
    lay_red_threes(state, seat, events)
