"""What a hand holds for melding, as a few numbers.

Two numbers describe a hand: the ranks held of each suit, which runs are made of, and how often each card is held, which
sets are made of. Parts of them are the keys of the caches in `combinations.py`: the same part of a hand comes back
again and again, within a turn and across matches.

Indexes: a suit's is its place in FRENCH_SUITS; a rank's is 0 for the twos, then 1 for the four up to 11 for the ace.
A count of one rank takes eight bits, two for each suit, since a card may be held twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Final

import msgspec

from services.rules.cards import FRENCH_SUITS, Card
from services.rules.tranca.melds import LONGEST_RUN, LOWEST
from services.rules.tranca.options import WildLimit
from services.rules.tranca.state import PACK, PLACE, TWOS

SUIT_INDEXES: Final = range(len(FRENCH_SUITS))
RANK_INDEXES: Final = range(1, 1 + LONGEST_RUN)

COUNT_BITS: Final = 8
COUNT_MASK: Final = (1 << COUNT_BITS) - 1
_SUIT_BITS: Final = LONGEST_RUN + 5
"""Bits of one suit in `ranks`; some stay empty, so that shifting hardly ever brings a rank next to another suit's."""

COUNTS_AT: Final = len(FRENCH_SUITS) * _SUIT_BITS
"""Where `counts` begin in `bits`."""

_RUN_MASK: Final = (1 << LONGEST_RUN) - 1
_ONE_OF_EACH: Final = 0b01010101

TOTAL: Final = tuple(sum(counts >> shift & 3 for shift in range(0, COUNT_BITS, 2)) for counts in range(COUNT_MASK + 1))
"""How many cards a count of one rank stands for."""


def suit_index(c: Card) -> int:
    """The index of a card's suit: clubs, diamonds, hearts, spades."""
    assert c.suit is not None
    return c.suit.value - 1


def rank_index(c: Card) -> int:
    """The index of the rank of a two or of a natural that can be melded."""
    return 0 if c in TWOS else PLACE[c.code] - LOWEST + 1


def _can_be_melded(c: Card) -> bool:
    return c in TWOS or PLACE[c.code] >= LOWEST


def _by_code(number: Callable[[Card], int], cards: Iterable[Card]) -> tuple[int, ...]:
    numbers = {c.code: number(c) for c in cards}
    return tuple(numbers.get(code, 0) for code in range(1 + max(c.code for c in PACK)))


COUNT_UNIT: Final = _by_code(
    lambda c: 1 << (rank_index(c) * COUNT_BITS + 2 * suit_index(c)), filter(_can_be_melded, PACK)
)
"""One card in `counts`, by code; 0 for a three."""

_RUN_BIT: Final = _by_code(
    lambda c: 1 << (suit_index(c) * _SUIT_BITS + rank_index(c) - 1),
    (c for c in PACK if _can_be_melded(c) and c not in TWOS),
)
"""One natural in `ranks`, by code."""


_RANK_BIT: Final = _by_code(lambda c: 1 << rank_index(c), filter(_can_be_melded, PACK))
"""The rank of one card in `paired`, by code."""

_part_of: Final = {c: (_RUN_BIT[c.code], COUNT_UNIT[c.code], _RANK_BIT[c.code]) for c in PACK}.__getitem__
"""What one card adds to a survey."""


def within(ranks: int, distance: int) -> int:
    """The ranks no further than that from another one of these."""
    near = 0
    for step in range(1, distance + 1):
        near |= ranks << step | ranks >> step
    return near


_RANKS_IN: Final = tuple(
    tuple(rank for rank in RANK_INDEXES if bits >> (rank - 1) & 1) for bits in range(1 << LONGEST_RUN)
)


def ranks_in(bits: int) -> tuple[int, ...]:
    """The indexes of the ranks of naturals that have a bit set; the four has the lowest."""
    return _RANKS_IN[bits]


class Survey(msgspec.Struct, frozen=True, gc=False):
    """`ranks` has a bit for each suit and rank held, `counts` how often each card is held, `paired` a bit for each
    rank of which there are two cards or more; `bits` are the ranks and the counts in one number."""

    ranks: int
    counts: int
    paired: int
    bits: int

    def run(self, suit: int) -> int:
        """The ranks held of a suit: bit 0 is the four."""
        return self.ranks >> (suit * _SUIT_BITS) & _RUN_MASK

    def close_together(self, twos: int) -> list[tuple[int, int]]:
        """By suit, the ranks that could be in a run with others of them: three in a row, or two that so many twos
        could join. A few may be named that could not."""
        ranks = self.ranks
        if twos:
            near = ranks & within(ranks, 1 + twos)
        else:
            lowest = ranks & ranks >> 1 & ranks >> 2
            near = lowest | lowest << 1 | lowest << 2
        found, suit = [], 0
        while near:
            of_suit = near & _RUN_MASK
            if of_suit:
                found.append((suit, of_suit))
            near >>= _SUIT_BITS
            suit += 1
        return found

    def rank(self, index: int) -> int:
        """How often each card of a rank is held."""
        return self.counts >> (index * COUNT_BITS) & COUNT_MASK


def survey(cards: Iterable[Card]) -> Survey:
    """What these cards are for melding."""
    ranks = counts = seen = paired = 0
    for of_suit, unit, rank in map(_part_of, cards):
        ranks |= of_suit
        counts += unit
        paired |= seen & rank
        seen |= rank
    return Survey(ranks, counts, paired, ranks | counts << COUNTS_AT)


@lru_cache(maxsize=64)
def survey_of(c: Card) -> Survey:
    """What one card is for melding."""
    return survey((c,))


def every_card(ranks: int) -> int:
    """All cards of some ranks, given as bits by index, as bits of `counts`."""
    cards = (c for c in PACK if _can_be_melded(c) and ranks >> rank_index(c) & 1)
    return sum({3 * COUNT_UNIT[c.code] for c in cards})


def in_run(suit: int, ranks: int) -> int:
    """The naturals of one suit that have these ranks (bit 0 is the four), as they are in `bits`."""
    return ranks << suit * _SUIT_BITS


def usable_twos(counts: int, present: int, limit: WildLimit) -> int:
    """Of the twos held, those that a meld with so many twos could still take; equal ones that it could not take
    together are counted once."""
    if limit == "half":
        return counts
    if present >= limit:
        return 0
    return (counts | counts >> 1) & _ONE_OF_EACH if limit - present == 1 else counts
