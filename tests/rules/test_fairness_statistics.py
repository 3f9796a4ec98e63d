"""Shuffles favour no order. The seeds are fixed, so the figures never vary; the bounds belong to a chance below one in
ten thousand for a fair shuffler."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from itertools import pairwise

from services.rules.fairness import DealProof, FairShuffler, commit

DECKS = 3_000
SIZE = 32


def shuffler(number: int) -> FairShuffler:
    seed = hashlib.sha256(f"statistics {number}".encode()).digest()
    proof = DealProof(
        commitment=commit(seed),
        match_id=f"m-{number}",
        ruleset_hash=bytes(32),
        seats=2,
        dealer=0,
        contributions=(b"", b""),
    )
    return FairShuffler(proof, seed)


def decks() -> list[list[int]]:
    """Some of many matches, some of the many rounds of one match."""
    of_matches = [shuffler(n).stream("deal", 1, 0).shuffle(range(SIZE)) for n in range(DECKS // 2)]
    one = shuffler(-1)
    return of_matches + [one.stream("deal", round_, 0).shuffle(range(SIZE)) for round_ in range(1, DECKS // 2 + 1)]


DEALT = decks()


def chi_square(counts: list[int], expected: float) -> float:
    return sum((count - expected) ** 2 / expected for count in counts)


def bound(degrees: int) -> float:
    """Chi-square that a fair source exceeds once in ten thousand times (Wilson and Hilferty)."""
    z = 3.719
    return degrees * (1 - 2 / (9 * degrees) + z * math.sqrt(2 / (9 * degrees))) ** 3


def test_each_card_comes_to_each_place_equally_often() -> None:
    cells = Counter((card, place) for deck in DEALT for place, card in enumerate(deck))
    counts = [cells[card, place] for card in range(SIZE) for place in range(SIZE)]
    assert chi_square(counts, DECKS / SIZE) < bound((SIZE - 1) ** 2)


def test_each_card_follows_each_other_card_equally_often() -> None:
    pairs = Counter((a, b) for deck in DEALT for a, b in pairwise(deck))
    counts = [pairs[a, b] for a in range(SIZE) for b in range(SIZE) if a != b]
    expected = DECKS * (SIZE - 1) / (SIZE * (SIZE - 1))
    assert chi_square(counts, expected) < bound(SIZE * (SIZE - 1) - 1)


def test_the_same_bound_finds_a_shuffle_that_swaps_with_any_place() -> None:
    """The usual mistake, so that the tests above are known to be able to fail."""
    stream, cells = shuffler(2).stream("bot", 1, 0), Counter[tuple[int, int]]()
    for _ in range(DECKS):
        deck = list(range(SIZE))
        for i in range(SIZE):
            j = stream.below(SIZE)
            deck[i], deck[j] = deck[j], deck[i]
        cells.update((card, place) for place, card in enumerate(deck))
    counts = [cells[card, place] for card in range(SIZE) for place in range(SIZE)]
    assert chi_square(counts, DECKS / SIZE) > bound((SIZE - 1) ** 2)


def test_shuffles_of_neighbouring_rounds_are_not_alike() -> None:
    """How many cards lie in the same place in one deck and the next: one on average."""
    same = [sum(a == b for a, b in zip(deck, following, strict=True)) for deck, following in pairwise(DEALT)]
    mean = sum(same) / len(same)
    assert abs(mean - 1) < 3.89 / math.sqrt(len(same))


def test_numbers_below_n_are_even_where_words_do_not_divide() -> None:
    n = 3 * 2**30
    stream = shuffler(1).stream("bot", 1, 0)
    thirds = Counter(stream.below(n) // 2**30 for _ in range(6_000))
    assert chi_square([thirds[k] for k in range(3)], 2_000) < bound(2)
