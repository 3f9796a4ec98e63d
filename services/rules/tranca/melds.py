"""What a meld is, and what it is worth.

A meld has at least three cards, two of them natural, and no three among them. Twos are wild; how many a meld may hold
is an option (one, two, or no more than it has naturals). It is one of two things:

* a run: naturals of one suit and different ranks, 4 5 6 7 8 9 10 J Q K A with the ace high only, whose gaps its twos
  can fill; it has eleven cards at most, since there are eleven ranks;
* a set (lavandaia): naturals of one rank, of any suits and as often as one has them.

A meld is judged as a whole whenever cards are added. So a two moves to another place of its run when a natural takes
its place or a better one opens, unless the table plays that a two stays where it was laid. In that case the order in
which the cards of a new run are named says where its twos stand, if it reads as a run; otherwise, and for twos added
later, a two fills the lowest gap, then goes to the upper end, then to the lower one.

A canasta is a run of seven or more (at some tables a set too). It is clean without a two and dirty with one; as
cards never leave the table, dirty stays dirty.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final

from services.rules.cards import Card, Rank
from services.rules.events import Meld
from services.rules.reasons import IllegalAction, Reason
from services.rules.tranca.options import Options, WildLimit
from services.rules.tranca.state import PLACE, TWOS

LOWEST: Final = Rank.FOUR.value
HIGHEST: Final = Rank.ACE.value
LONGEST_RUN: Final = HIGHEST - LOWEST + 1
LEAST_MELD: Final = 3
LEAST_NATURALS: Final = 2
CANASTA: Final = 7


def wilds_allowed(limit: WildLimit, naturals: int) -> int:
    """How many twos a meld with so many naturals may hold."""
    return naturals if limit == "half" else limit


def arranged(cards: Sequence[Card], options: Options, laid: tuple[Card, ...] = ()) -> tuple[Card, ...]:
    """The meld that `laid` and `cards` make together, as it lies on the table: a run in order with its twos in their
    places, a set in the order of laying. `cards` holds no threes. Raises IllegalAction (INVALID_MELD or
    TOO_MANY_WILDS) where they make none."""
    whole = (*laid, *cards)
    naturals = [c for c in whole if c not in TWOS]
    if len(whole) < LEAST_MELD:
        raise IllegalAction(Reason.INVALID_MELD)
    if len(whole) - len(naturals) > wilds_allowed(options.max_wilds, len(naturals)):
        raise IllegalAction(Reason.TOO_MANY_WILDS)
    if len(naturals) < LEAST_NATURALS:
        raise IllegalAction(Reason.INVALID_MELD)
    if _one_rank(naturals):
        meld = whole if options.sets else None
    elif options.wild_slides:
        meld = _run({}, whole)
    elif laid:
        meld = _longer_fixed_run(laid, cards)
    else:
        meld = _run_as_named(cards) or _run({}, cards)
    if meld is None:
        raise IllegalAction(Reason.INVALID_MELD)
    return meld


def _one_rank(naturals: Sequence[Card]) -> bool:
    rank = naturals[0].rank
    return naturals[-1].rank is rank and all(c.rank is rank for c in naturals)


def _run(places: dict[int, Card], cards: Iterable[Card]) -> tuple[Card, ...] | None:
    """The run that comes of putting cards to those that already have a place, by rank; None where there is none."""
    suit = next((c.suit for c in places.values() if c not in TWOS), None)
    twos = []
    for c in cards:
        if c in TWOS:
            twos.append(c)
        elif PLACE[c.code] in places or c.suit is not (suit or c.suit):
            return None
        else:
            suit = c.suit
            places[PLACE[c.code]] = c
    return _with_twos(places, twos)


def _longer_fixed_run(laid: tuple[Card, ...], cards: Sequence[Card]) -> tuple[Card, ...] | None:
    """The run `laid`, every card of it staying where it is, with these cards added; None where there is none."""
    if is_set(laid):
        return None
    start = _lowest_place(laid)
    return _run({start + i: c for i, c in enumerate(laid)}, cards)


def _run_as_named(cards: Sequence[Card]) -> tuple[Card, ...] | None:
    """The cards in the order in which they are named, if that order is a run; else None."""
    start = _lowest_place(cards)
    suits = {c.suit for c in cards if c not in TWOS}
    fits = all(c in TWOS or PLACE[c.code] == start + i for i, c in enumerate(cards))
    if fits and len(suits) == 1 and start >= LOWEST and start + len(cards) - 1 <= HIGHEST:
        return tuple(cards)
    return None


def places_of_twos(cards: Sequence[Card], options: Options) -> list[tuple[Card, ...]]:
    """The ways to name the cards of a new meld where a two stays where it is laid: a run once for each number of its
    spare twos that could stand at its lower end."""
    laid = arranged(cards, options)
    ways = [laid]
    while not is_set(laid) and laid[-1] in TWOS and _lowest_place(laid) > LOWEST:
        laid = (laid[-1], *laid[:-1])
        ways.append(laid)
    return ways


def _lowest_place(run: Sequence[Card]) -> int:
    """The rank at which a run begins, twos included."""
    return next(PLACE[c.code] - i for i, c in enumerate(run) if c not in TWOS)


def _with_twos(places: dict[int, Card], twos: Iterable[Card]) -> tuple[Card, ...] | None:
    """The run in order once the twos have filled its gaps and lengthened its ends; None where a gap stays open or
    there is no room."""
    low, high = min(places), max(places)
    for two in twos:
        gap = None if len(places) == high - low + 1 else next(rank for rank in range(low, high) if rank not in places)
        if gap is not None:
            places[gap] = two
        elif high < HIGHEST:
            high += 1
            places[high] = two
        elif low > LOWEST:
            low -= 1
            places[low] = two
        else:
            return None
    if len(places) != high - low + 1:
        return None
    return tuple([places[rank] for rank in range(low, high + 1)])


@lru_cache(maxsize=4096)
def is_set(cards: tuple[Card, ...]) -> bool:
    """Whether a laid meld is a set; a run otherwise."""
    naturals = [c for c in cards if c not in TWOS]
    return naturals[0].rank is naturals[1].rank


def rank_of_set(meld: Meld) -> Rank | None:
    """The rank of a set; None for a run."""
    if not is_set(meld.cards):
        return None
    return next(c.rank for c in meld.cards if c not in TWOS)


def canasta_of(cards: tuple[Card, ...], options: Options) -> str:
    """`clean`, `dirty` or `none`."""
    if len(cards) < CANASTA or (not options.set_canastas and is_set(cards)):
        return "none"
    return "clean" if TWOS.isdisjoint(cards) else "dirty"


def is_full_run(meld: Meld) -> bool:
    """Whether a meld is the run from four to ace without a two."""
    return len(meld.cards) == LONGEST_RUN and not is_set(meld.cards) and TWOS.isdisjoint(meld.cards)


def worth(cards: Iterable[Card], options: Options) -> int:
    """The points of melded cards."""
    return sum(options.values[c.code] for c in cards)
