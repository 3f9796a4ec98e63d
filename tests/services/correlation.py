"""How alike two orders are."""

from __future__ import annotations

from collections.abc import Sequence


def spearman(first: Sequence[float], second: Sequence[float]) -> float:
    """Spearman's rank correlation of values without ties, -1 to 1."""
    count = len(first)
    distance = sum((a - b) ** 2 for a, b in zip(_ranks(first), _ranks(second), strict=True))
    return 1 - 6 * distance / (count * (count * count - 1))


def _ranks(values: Sequence[float]) -> list[int]:
    ranks = [0] * len(values)
    for rank, number in enumerate(sorted(range(len(values)), key=values.__getitem__)):
        ranks[number] = rank
    return ranks
