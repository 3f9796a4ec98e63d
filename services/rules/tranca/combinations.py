"""Which cards of a hand can make or lengthen a meld: the enumeration behind the list of legal actions.

A hand is surveyed once into numbers, which are the keys of the caches: the same part of a hand comes back again and
again, within a turn and across matches. `melds.py` decides what a meld is; a test holds this module to it.

Of a long list only the smallest groups and the largest ones (those to which no further card can be added) are shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import product
from typing import Final, NamedTuple

from services.rules.cards import FRENCH_SUITS, Card, Rank, card
from services.rules.tranca.melds import (
    LEAST_MELD,
    LEAST_NATURALS,
    LONGEST_RUN,
    LOWEST,
    is_set,
    suit_of_run,
    wilds_allowed,
)
from services.rules.tranca.options import WildLimit
from services.rules.tranca.state import PACK, PLACE, TWOS

Group = tuple[Card, ...]
"""Cards of a hand that could be laid together."""

MOST_LISTED: Final = 200

_BITS_A_RANK: Final = 8
_RANK_MASK: Final = (1 << _BITS_A_RANK) - 1
_RUN_MASK: Final = (1 << LONGEST_RUN) - 1
_SUIT_INDEX: Final = {suit: index for index, suit in enumerate(FRENCH_SUITS)}


def _count_unit(c: Card) -> int:
    """One card in a survey's `counts`: two bits for each suit, eight for each rank, twos first, no threes."""
    place = PLACE[c.code]
    if c.suit is None or place == Rank.THREE.value:
        return 0
    index = 0 if c in TWOS else 1 + place - LOWEST
    return 1 << (index * _BITS_A_RANK + 2 * _SUIT_INDEX[c.suit])


def _run_bit(c: Card) -> int:
    """One natural in a survey's `ranks`: a bit for each rank, eleven for each suit."""
    if c.suit is None or PLACE[c.code] < LOWEST:
        return 0
    return 1 << (_SUIT_INDEX[c.suit] * LONGEST_RUN + PLACE[c.code] - LOWEST)


_RANK_INDEXES: Final = range(1, 1 + LONGEST_RUN)
_CODES: Final = range(1 + max(c.code for c in PACK))
_CARD_OF_CODE: Final = {c.code: c for c in PACK}
_COUNT_UNIT: Final = tuple(_count_unit(_CARD_OF_CODE[code]) if code in _CARD_OF_CODE else 0 for code in _CODES)
_RUN_BIT: Final = tuple(_run_bit(_CARD_OF_CODE[code]) if code in _CARD_OF_CODE else 0 for code in _CODES)


class Survey(NamedTuple):
    """The cards of a hand that can be melded: `ranks` has the ranks held of each suit, `counts` how often each card
    is held."""

    ranks: int
    counts: int

    def run(self, suit: int) -> int:
        """The ranks held of a suit, by its index: bit 0 is the four."""
        return self.ranks >> (suit * LONGEST_RUN) & _RUN_MASK

    def rank(self, index: int) -> int:
        """How often each card of a rank is held: index 1 is the four."""
        return self.counts >> (index * _BITS_A_RANK) & _RANK_MASK

    @property
    def twos(self) -> int:
        """How often each two is held."""
        return self.counts & _RANK_MASK


def survey(hand: Iterable[Card]) -> Survey:
    """What a hand holds for melding."""
    ranks = counts = 0
    for c in hand:
        code = c.code
        ranks |= _RUN_BIT[code]
        counts += _COUNT_UNIT[code]
    return Survey(ranks, counts)


class Groups(NamedTuple):
    """All groups of one suit or rank, smallest first, and those of them that are shown in a long list."""

    shown: tuple[Group, ...]
    all: tuple[Group, ...]


def new_melds(held: Survey, limit: WildLimit, sets: bool) -> list[Groups]:
    """What the hand could lay as a new meld, suit by suit and rank by rank."""
    twos = held.twos
    found = [run_groups(suit, 0, 0, held.run(suit), twos, limit) for suit in range(len(FRENCH_SUITS))]
    if sets:
        found += [set_groups(rank, 0, 0, held.rank(rank), twos, limit) for rank in _RANK_INDEXES]
    return found


def melds_with(top: Card, held: Survey, twos: int, limit: WildLimit, sets: bool) -> list[Groups]:
    """What the hand, with `twos` of its twos, could meld with one more card."""
    wild = int(top in TWOS)
    found = []
    for suit in range(len(FRENCH_SUITS)):
        present = _RUN_BIT[top.code] >> (suit * LONGEST_RUN) & _RUN_MASK
        if wild or present:
            found.append(run_groups(suit, present, wild, held.run(suit), twos, limit))
    for rank in _RANK_INDEXES if sets else ():
        if wild or PLACE[top.code] - LOWEST + 1 == rank:
            found.append(set_groups(rank, 1 - wild, wild, held.rank(rank), twos, limit))
    return found


def additions(meld: Group, held: Survey, limit: WildLimit) -> Groups:
    """What the hand could add to a meld."""
    shape = _shape(meld)
    if shape.is_set:
        return set_groups(shape.suit_or_rank, shape.naturals, shape.twos, held.rank(shape.suit_or_rank), held.twos, limit)
    return run_groups(shape.suit_or_rank, shape.naturals, shape.twos, held.run(shape.suit_or_rank), held.twos, limit)


class _Shape(NamedTuple):
    """A laid meld as the caches know it: a suit's index and the ranks of its naturals, or a rank's index and their
    number."""

    is_set: bool
    suit_or_rank: int
    naturals: int
    twos: int


@lru_cache(maxsize=4096)
def _shape(meld: Group) -> _Shape:
    twos = sum(c in TWOS for c in meld)
    held = survey(meld)
    if is_set(meld):
        rank = next(PLACE[c.code] for c in meld if c not in TWOS)
        return _Shape(True, rank - LOWEST + 1, len(meld) - twos, twos)
    suit = _SUIT_INDEX[suit_of_run(meld)]
    return _Shape(False, suit, held.run(suit), twos)


@lru_cache(maxsize=8192)
def run_groups(suit: int, present: int, present_twos: int, held: int, twos: int, limit: WildLimit) -> Groups:
    """What makes a run of a suit with the naturals and twos that are there (none for a new meld): ranks as bits,
    `twos` as counts of each."""
    groups = []
    for ranks, wilds in _run_shapes(present, present_twos, held & ~present, _total(twos), limit):
        naturals = tuple(card(FRENCH_SUITS[suit], Rank(LOWEST + i)) for i in range(LONGEST_RUN) if ranks >> i & 1)
        groups += [naturals + chosen for chosen in _choices(0, twos) if len(chosen) == wilds]
    return _groups(groups)


@lru_cache(maxsize=8192)
def _run_shapes(present: int, present_twos: int, held: int, twos: int, limit: WildLimit) -> tuple[tuple[int, int], ...]:
    """Which ranks of `held` and how many twos make a run with what is present."""
    shapes = []
    chosen = held
    while True:
        for wilds in range(twos + 1):
            if (chosen or wilds) and _is_run(present | chosen, present_twos + wilds, limit):
                shapes.append((chosen, wilds))
        if not chosen:
            return tuple(shapes)
        chosen = (chosen - 1) & held


def _is_run(ranks: int, twos: int, limit: WildLimit) -> bool:
    naturals = ranks.bit_count()
    if naturals < LEAST_NATURALS or not LEAST_MELD <= naturals + twos <= LONGEST_RUN:
        return False
    span = ranks.bit_length() - ((ranks & -ranks).bit_length() - 1)
    return span - naturals <= twos <= wilds_allowed(limit, naturals)


@lru_cache(maxsize=8192)
def set_groups(rank: int, present: int, present_twos: int, held: int, twos: int, limit: WildLimit) -> Groups:
    """What makes a set of a rank with so many naturals and twos that are there (none for a new meld); `held` and
    `twos` are counts of each card."""
    groups = []
    for naturals in _choices(rank, held):
        for chosen in _choices(0, twos):
            total = present + len(naturals)
            wilds = present_twos + len(chosen)
            fits = total >= LEAST_NATURALS and total + wilds >= LEAST_MELD and wilds <= wilds_allowed(limit, total)
            if fits and (naturals or chosen):
                groups.append(naturals + chosen)
    return _groups(groups)


@lru_cache(maxsize=2048)
def _choices(rank: int, counts: int) -> tuple[Group, ...]:
    """Every selection from the cards of one rank (index 0: the twos), given how often each suit is held."""
    value = Rank.TWO if rank == 0 else Rank(rank - 1 + LOWEST)
    each = [
        [(card(suit, value),) * taken for taken in range((counts >> 2 * index & 3) + 1)]
        for index, suit in enumerate(FRENCH_SUITS)
    ]
    return tuple(sum(parts, ()) for parts in product(*each))


def _total(counts: int) -> int:
    return sum(counts >> shift & 3 for shift in range(0, _BITS_A_RANK, 2))


def _groups(groups: list[Group]) -> Groups:
    groups.sort(key=len)
    return Groups(tuple(least_and_largest(groups)), tuple(groups))


def least_and_largest(groups: Sequence[Group]) -> list[Group]:
    """Of groups of one suit or rank: those of least size, and those to which no card of another one can be added."""
    by_cards = {sum(_COUNT_UNIT[c.code] for c in group): group for group in groups}
    units = {_COUNT_UNIT[c.code] for group in groups for c in group}
    least = min(map(len, groups), default=0)
    return [
        group
        for cards, group in by_cards.items()
        if len(group) == least or not any(cards + unit in by_cards for unit in units)
    ]
