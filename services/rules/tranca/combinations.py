"""Which cards of a hand can make or lengthen a meld: the enumeration behind the list of legal actions.

Groups of cards are found suit by suit (runs) and rank by rank (sets) and kept in caches, since most parts of a hand
stay the same from one action to the next. `melds.py` decides what a meld is; a test holds this module to it.

Of a long list only the smallest groups and the largest ones (those to which no further card can be added) are shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache, partial
from itertools import product
from typing import Final, NamedTuple

from services.rules.cards import FRENCH_SUITS, Card, Rank, card
from services.rules.events import Meld
from services.rules.tranca.melds import LEAST_MELD, LEAST_NATURALS, LONGEST_RUN, LOWEST, wilds_allowed
from services.rules.tranca.options import WildLimit
from services.rules.tranca.state import PACK, THREES, TWOS
from services.rules.tranca.survey import (
    COUNT_BITS,
    COUNT_MASK,
    COUNT_UNIT,
    COUNTS_AT,
    TOTAL,
    Survey,
    every_card,
    in_run,
    rank_index,
    ranks_in,
    suit_index,
    usable_twos,
    within,
)

Group = tuple[Card, ...]
"""Cards of a hand that could be laid together."""

MOST_LISTED: Final = 200
"""Of one kind of action."""

_ALL_RANKS: Final = (1 << LONGEST_RUN) - 1
_TWO: Final = 1


class Groups:
    """All groups of one suit or rank, smallest first. Those of them that are shown in a long list are found at the
    first question."""

    __slots__ = ("_choose", "_shown", "all", "longest")

    def __init__(self, groups: tuple[Group, ...], choose: Callable[[], Sequence[Group]]) -> None:
        self.all = groups
        self.longest = len(groups[-1]) if groups else 0
        self._choose = choose
        self._shown: Sequence[Group] | None = None

    @property
    def shown(self) -> Sequence[Group]:
        if self._shown is None:
            self._shown = self._choose()
        return self._shown


NO_GROUPS: Final = Groups((), tuple)


def new_melds(held: Survey, limit: WildLimit, sets: bool) -> list[Groups]:
    """What the hand could lay as a new meld, suit by suit and rank by rank."""
    return _melds_from(held, held.rank(0), 0, limit, sets)


def melds_with(top: Card, held: Survey, twos: int, limit: WildLimit, sets: bool) -> list[Groups]:
    """What the hand, with `twos` of its twos, could meld with one more card."""
    if top in TWOS:
        return _melds_from(held, twos, 1, limit, sets)
    usable = usable_twos(twos, 0, limit) if twos else 0
    suit, rank = suit_index(top), rank_index(top)
    present = 1 << rank - 1
    found = []
    ranks = held.run(suit) & ~present
    if ranks:
        ranks = _reachable(present, ranks, 1 + TOTAL[usable])
    if ranks:
        found.append(_run_groups(suit, present, 0, ranks, usable, limit))
    if sets and held.rank(rank):
        found.append(_set_groups(rank, 1, 0, held.rank(rank), usable, limit))
    return found


def companions(top: Card, hand: Sequence[Card]) -> list[Card]:
    """The cards of the hand that could be in one meld with this one, none where they are too few: a quick look, which
    leaves little to survey."""
    found = [*filter(_companions(top).__contains__, hand)]
    return found if len(found) >= LEAST_MELD - 1 else []


@lru_cache(maxsize=128)
def _companions(top: Card) -> frozenset[Card]:
    """The cards that can be in a meld with a card: twos, its rank, and its suit; with a two whatever can be melded."""
    if top in TWOS:
        return frozenset(c for c in PACK if c not in THREES)
    return frozenset(c for c in PACK if c in TWOS or (c not in THREES and (c.rank is top.rank or c.suit is top.suit)))


def _melds_from(held: Survey, twos: int, present_twos: int, limit: WildLimit, sets: bool) -> list[Groups]:
    """What the hand could meld where no natural is there yet."""
    usable = usable_twos(twos, present_twos, limit) if twos else 0
    found = [
        _run_groups(suit, 0, present_twos, ranks, usable, limit)
        for suit, ranks in held.close_together(present_twos + TOTAL[usable])
    ]
    if sets and held.paired > 1:
        counts = held.counts
        lacking = LEAST_MELD - present_twos - TOTAL[usable]
        for rank in ranks_in(held.paired >> 1):
            of_rank = counts >> rank * COUNT_BITS & COUNT_MASK
            if TOTAL[of_rank] >= lacking:
                found.append(_set_groups(rank, 0, present_twos, of_rank, usable, limit))
    return found


class Fitting:
    """What may fit the melds of one partnership, by id. Without a card of `wanted` (bits of a survey) nothing can be
    added to any of them; when melds grew, it may hold cards that no longer fit."""

    __slots__ = ("melds", "wanted")

    def __init__(self, wanted: int, melds: dict[str, tuple[Meld, _About]]) -> None:
        self.wanted = wanted
        self.melds = melds

    def put(self, meld: Meld, limit: WildLimit) -> None:
        """A meld was laid, or is longer now."""
        about = _about(meld.cards, limit)
        self.wanted |= about[0]
        self.melds[meld.id] = meld, about

    def copy(self) -> Fitting:
        return Fitting(self.wanted, self.melds.copy())


def fitting(melds: Iterable[Meld], partnership: int, limit: WildLimit) -> Fitting:
    """What may fit the melds of a partnership."""
    fit = Fitting(0, {})
    for meld in melds:
        if meld.partnership == partnership:
            fit.put(meld, limit)
    return fit


def additions(fit: Fitting, held: Survey, limit: WildLimit) -> list[tuple[Meld, Groups]]:
    """The melds of a partnership to which the hand could add something, and what."""
    found: list[tuple[Meld, Groups]] = []
    bits = held.bits
    if not bits & fit.wanted:
        return found
    for meld, (wanted, asked, known, shape) in fit.melds.values():
        if bits & wanted:
            groups = known.get(bits & asked)
            if groups is None:
                if len(known) >= _MOST_KNOWN:
                    known.clear()
                groups = known[bits & asked] = _additions_to(shape, held, limit)
            if groups.all:
                found.append((meld, groups))
    return found


_MOST_KNOWN: Final = 128
"""Parts of hands for which the additions to melds of one shape are remembered."""


_About = tuple[int, int, dict[int, Groups], "_Shape"]
"""Of a laid meld, as bits of a survey: the cards without any of which nothing can be added to it, and all that its
additions depend on; the additions that were found for these so far; and its shape."""


@lru_cache(maxsize=16384)
def _about(meld: Group, limit: WildLimit) -> _About:
    return _about_shape(_shape(meld), limit)


@lru_cache(maxsize=4096)
def _about_shape(shape: _Shape, limit: WildLimit) -> _About:
    of_rank, index, naturals, present_twos = shape
    twos = every_card(_TWO) << COUNTS_AT if limit == "half" or present_twos < limit else 0
    if of_rank:
        same = twos | every_card(1 << index) << COUNTS_AT
        return same, same, {}, shape
    missing = _ALL_RANKS & ~naturals
    near = within(naturals, 1 + present_twos) & missing
    return twos | in_run(index, near), twos | in_run(index, missing), {}, shape


def _additions_to(shape: _Shape, held: Survey, limit: WildLimit) -> Groups:
    of_rank, index, naturals, present_twos = shape
    twos = usable_twos(held.rank(0), present_twos, limit)
    if of_rank:
        return _set_groups(index, naturals, present_twos, held.rank(index), twos, limit)
    ranks = _reachable(naturals, held.run(index) & ~naturals, 1 + present_twos + TOTAL[twos])
    return _run_groups(index, naturals, present_twos, ranks, twos, limit)


@lru_cache(maxsize=32768)
def _reachable(present: int, held: int, distance: int) -> int:
    """The ranks of `held` to which steps of at most this distance lead from what is present."""
    reached = 0
    while (more := held & within(present | reached, distance)) != reached:
        reached = more
    return reached


class _Shape(NamedTuple):
    """A laid meld as the caches know it: a suit's index and the ranks of its naturals, or a rank's index and their
    number."""

    is_set: bool
    suit_or_rank: int
    naturals: int
    twos: int


def _shape(meld: Group) -> _Shape:
    naturals = [c for c in meld if c not in TWOS]
    twos = len(meld) - len(naturals)
    if naturals[0].rank is naturals[1].rank:
        return _Shape(True, rank_index(naturals[0]), len(naturals), twos)
    ranks = sum([1 << rank_index(c) for c in naturals])
    return _Shape(False, suit_index(naturals[0]), ranks >> 1, twos)


@lru_cache(maxsize=32768)
def _run_groups(suit: int, present: int, present_twos: int, held: int, twos: int, limit: WildLimit) -> Groups:
    """What makes a run of a suit with the naturals and twos that are there (none for a new meld): ranks as bits,
    `twos` as counts of each."""
    shown, shapes = _run_shapes(present, present_twos, held, TOTAL[twos], limit)
    return Groups(_with_cards(shapes, suit, twos), partial(_with_cards, shown, suit, twos)) if shapes else NO_GROUPS


_RunShape = tuple[int, int]
"""Naturals of one suit, ranks as bits, and how many twos."""


def _with_cards(shapes: tuple[_RunShape, ...], suit: int, twos: int) -> tuple[Group, ...]:
    return tuple(
        _naturals(suit, ranks) + chosen
        for ranks, wilds in shapes
        for chosen in _choices(0, twos)
        if len(chosen) == wilds
    )


@lru_cache(maxsize=8192)
def _naturals(suit: int, ranks: int) -> Group:
    return tuple(card(FRENCH_SUITS[suit], Rank(LOWEST + i)) for i in range(LONGEST_RUN) if ranks >> i & 1)


@lru_cache(maxsize=16384)
def _run_shapes(
    present: int, present_twos: int, held: int, twos: int, limit: WildLimit
) -> tuple[tuple[_RunShape, ...], tuple[_RunShape, ...]]:
    """Which ranks of `held` and how many twos make a run with what is present, smallest first: the smallest and
    largest ones, and all."""
    shapes = {
        (ranks, wilds)
        for ranks in _subsets(held)
        for wilds in range(twos + 1)
        if (ranks or wilds) and _is_run(present | ranks, present_twos + wilds, limit)
    }
    least = min(map(_size, shapes), default=0)
    shown = [shape for shape in shapes if _size(shape) == least or _is_largest(shape, held, shapes)]
    return tuple(sorted(shown, key=_order)), tuple(sorted(shapes, key=_order))


def _size(shape: _RunShape) -> int:
    ranks, wilds = shape
    return ranks.bit_count() + wilds


def _order(shape: _RunShape) -> tuple[int, _RunShape]:
    return _size(shape), shape


def _is_largest(shape: _RunShape, held: int, shapes: set[_RunShape]) -> bool:
    """Whether neither a natural nor a two could be added."""
    ranks, wilds = shape
    longer = ((ranks | 1 << i, wilds) for i in range(LONGEST_RUN) if held & ~ranks & 1 << i)
    return (ranks, wilds + 1) not in shapes and shapes.isdisjoint(longer)


def _subsets(held: int) -> Iterator[int]:
    chosen = held
    while chosen:
        yield chosen
        chosen = (chosen - 1) & held
    yield 0


def _is_run(ranks: int, twos: int, limit: WildLimit) -> bool:
    naturals = ranks.bit_count()
    if naturals < LEAST_NATURALS or not LEAST_MELD <= naturals + twos <= LONGEST_RUN:
        return False
    span = ranks.bit_length() - ((ranks & -ranks).bit_length() - 1)
    return span - naturals <= twos <= wilds_allowed(limit, naturals)


@lru_cache(maxsize=16384)
def _set_groups(rank: int, present: int, present_twos: int, held: int, twos: int, limit: WildLimit) -> Groups:
    """What makes a set of a rank with so many naturals and twos that are there (none for a new meld); `held` and
    `twos` are counts of each card."""
    groups = []
    for naturals, chosen in product(_choices(rank, held), _choices(0, twos)):
        total = present + len(naturals)
        wilds = present_twos + len(chosen)
        enough = total >= LEAST_NATURALS and total + wilds >= LEAST_MELD
        if enough and wilds <= wilds_allowed(limit, total) and (naturals or chosen):
            groups.append(naturals + chosen)
    return _groups(groups)


@lru_cache(maxsize=2048)
def _choices(rank: int, counts: int) -> tuple[Group, ...]:
    """Every selection from the cards of one rank, given how often each is held."""
    value = Rank.TWO if rank == 0 else Rank(rank - 1 + LOWEST)
    each = [
        [(card(suit, value),) * taken for taken in range((counts >> 2 * index & 3) + 1)]
        for index, suit in enumerate(FRENCH_SUITS)
    ]
    return tuple(sum(parts, ()) for parts in product(*each))


def _groups(groups: list[Group]) -> Groups:
    groups.sort(key=len)
    return Groups(tuple(groups), partial(least_and_largest, groups)) if groups else NO_GROUPS


def least_and_largest(groups: Sequence[Group]) -> list[Group]:
    """Of groups of one suit or rank: those of least size, and those to which no card of another one can be added."""
    by_cards = {sum(COUNT_UNIT[c.code] for c in group): group for group in groups}
    units = {COUNT_UNIT[c.code] for group in groups for c in group}
    least = min(map(len, groups), default=0)
    return [
        group
        for cards, group in by_cards.items()
        if len(group) == least or not any(cards + unit in by_cards for unit in units)
    ]
