"""What the seat on turn may do, and what the clock does for it.

Before drawing: draw from the stock, or take the pile in one of the ways that use its top card. After drawing: discard
any card, lay or lengthen melds, throw the very first card; or keep the last card, where nothing else is allowed.

New melds are listed as far as they are among the smallest or largest ones that are allowed; so are ways of taking the
pile and of lengthening a meld once there are more than 200. Everything else is listed in full. Groups that the hand
can make come from `combinations.py`; whether one may be laid now is asked of the function that would lay it, but only
where a rule could stand against it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from services.rules.actions import Action, Add, Discard, DrawStock, Keep, Meld, Redraw, TakeDiscard
from services.rules.reasons import IllegalAction
from services.rules.tranca.closing import may_take_pozzetto
from services.rules.tranca.combinations import (
    MOST_LISTED,
    Fitting,
    Group,
    additions,
    companions,
    fitting,
    least_and_largest,
    melds_with,
    new_melds,
)
from services.rules.tranca.discarding import must_keep_last
from services.rules.tranca.drawing import check_take, may_redraw
from services.rules.tranca.melding import check_add, check_meld, first_meld_counts
from services.rules.tranca.melds import places_of_twos
from services.rules.tranca.state import BLACK_THREES, PACK, TrancaState, partnership_of
from services.rules.tranca.survey import Survey, survey, survey_of
from services.rules.views import Phase

_A = TypeVar("_A", Meld, Add, TakeDiscard)

_DRAW: Final = DrawStock()
_REDRAW: Final = Redraw()
_KEEP: Final = Keep()
_DISCARDS: Final = {c: Discard(c) for c in PACK}
_discard_of: Final = _DISCARDS.__getitem__


def legal_actions(state: TrancaState, seat: int) -> list[Action]:
    """What this seat may do now; empty for a seat that is not on turn."""
    if seat != state.turn:
        return []
    if state.phase is Phase.DRAW:
        return [_DRAW, *_takes(state, seat)]
    if state.phase is Phase.MELD:
        return _after_drawing(state, seat)
    return []


def default_action(state: TrancaState, seat: int) -> Action:
    """Draws from the stock; then discards the card drawn, or else the newest card of the hand."""
    if state.phase is Phase.DRAW:
        return _DRAW
    if must_keep_last(state, seat):
        return _KEEP
    hand = state.hands[seat]
    return _DISCARDS[state.drew if state.drew is not None and state.drew in hand else hand[-1]]


def _after_drawing(state: TrancaState, seat: int) -> list[Action]:
    hand = state.hands[seat]
    actions: list[Action] = [_KEEP] if must_keep_last(state, seat) else [*map(_discard_of, dict.fromkeys(hand))]
    if state.options.redraw and may_redraw(state):
        actions.append(_REDRAW)
    held = survey(hand)
    free = _largest_free(state, seat, len(hand))
    actions += _melds(state, seat, held, free)
    actions += _adds(state, seat, held, free)
    return actions


def _melds(state: TrancaState, seat: int, held: Survey, free: int) -> list[Meld]:
    """The smallest and largest new melds, at most MOST_LISTED."""
    options = state.options
    found = new_melds(held, options.max_wilds, options.sets)
    if not found:
        return []
    if _new_melds_restricted(state, seat):
        free = 0
    shown: list[Group] = []
    for groups in found:
        if groups.longest <= free:
            shown += groups.shown
        else:
            shown += least_and_largest(
                [g for g in groups.all if len(g) <= free or _accepted(check_meld, state, seat, Meld(g))]
            )
    if not options.wild_slides:
        shown = [placed for group in shown for placed in places_of_twos(group, options)]
    return [Meld(group) for group in shown[:MOST_LISTED]]


def _adds(state: TrancaState, seat: int, held: Survey, free: int) -> list[Add]:
    """All ways to lengthen the melds of the partnership; where these are too many, the smallest and largest of each
    meld, at most MOST_LISTED."""
    options = state.options
    if not options.wild_slides:
        free = 0
    found: list[Add] = []
    for laid, groups in additions(_fitting(state, seat), held, options.max_wilds):
        adds = [Add(laid.id, group) for group in groups.all]
        if groups.longest > free:
            adds = [add for add in adds if len(add.cards) <= free or _accepted(check_add, state, seat, add)]
        found += adds
    return found if len(found) <= MOST_LISTED else _least_and_largest_adds(found)


def _least_and_largest_adds(found: list[Add]) -> list[Add]:
    by_meld: dict[str, list[Group]] = {}
    for add in found:
        by_meld.setdefault(add.meld, []).append(add.cards)
    shown = [Add(meld_id, group) for meld_id, groups in by_meld.items() for group in least_and_largest(groups)]
    return shown[:MOST_LISTED]


def _takes(state: TrancaState, seat: int) -> list[TakeDiscard]:
    """All ways to take the pile; where these are too many, those with the smallest and largest melds, at most
    MOST_LISTED."""
    if not state.pile or state.pile[-1] in BLACK_THREES:
        return []
    takes = [] if state.options.justify else [TakeDiscard()]
    free = _largest_free(state, seat, len(state.hands[seat]) + len(state.pile) - 1)
    takes += _takes_to_melds(state, seat, free)
    found = _melds_with_top(state, seat, free)
    if found:
        if sum(map(len, found)) > MOST_LISTED:
            found = [least_and_largest(groups) for groups in found]
        takes += [TakeDiscard(cards=group) for groups in found for group in groups]
    return takes[:MOST_LISTED]


def _takes_to_melds(state: TrancaState, seat: int, free: int) -> list[TakeDiscard]:
    """The pile taken by adding its top card to a meld."""
    top = survey_of(state.pile[-1])
    possible = additions(_fitting(state, seat), top, state.options.max_wilds)
    takes = [TakeDiscard(meld=laid.id) for laid, _ in possible]
    if free >= 0 and state.options.wild_slides:
        return takes
    return [take for take in takes if _accepted(check_take, state, seat, take)]


def _melds_with_top(state: TrancaState, seat: int, free: int) -> list[Sequence[Group]]:
    """The cards of the hand that could be melded with the top card, by suit and rank."""
    options = state.options
    near = companions(state.pile[-1], state.hands[seat])
    if not near:
        return []
    held = survey(near)
    twos = 0 if options.naturals_only else held.rank(0)
    found = melds_with(state.pile[-1], held, twos, options.max_wilds, options.sets)
    if not found:
        return []
    if _new_melds_restricted(state, seat):
        free = 0
    return [
        groups.all
        if groups.longest <= free
        else [g for g in groups.all if len(g) <= free or _accepted(check_take, state, seat, TakeDiscard(cards=g))]
        for groups in found
    ]


def _new_melds_restricted(state: TrancaState, seat: int) -> bool:
    """Whether more than the closing rules may stand against a new meld."""
    options = state.options
    if options.first_from is None:
        return not options.duplicate_sets
    return not options.duplicate_sets or first_meld_counts(state, partnership_of(seat))


def _fitting(state: TrancaState, seat: int) -> Fitting:
    """What may fit the melds of the seat's partnership."""
    known, partnership = state.findings.fitting, partnership_of(seat)
    found = known[partnership]
    if found is None:
        found = known[partnership] = fitting(state.melds, partnership, state.options.max_wilds)
    return found


def _largest_free(state: TrancaState, seat: int, cards: int) -> int:
    """How many of so many cards may be melded without asking whether the hand may be left so small."""
    return cards if may_take_pozzetto(state, partnership_of(seat)) else cards - 2


def _accepted(check: Callable[[TrancaState, int, _A], object], state: TrancaState, seat: int, action: _A) -> bool:
    """Whether a check lets the action pass."""
    try:
        check(state, seat, action)
    except IllegalAction:
        return False
    return True
