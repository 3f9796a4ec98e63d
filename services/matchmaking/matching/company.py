"""Which tickets play with one: near it, at peace with each other, and together of the right number."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

from services.matchmaking.matching.distances import distance, may_meet
from services.matchmaking.matching.waiting import Waiting

MOST_NEAR: Final = 12
"""Candidates of one size of party that are looked at."""
MOST_STEPS: Final = 400
"""Combinations that are tried before the nearest ones are given up."""


def candidates(first: Waiting, near: Iterable[tuple[float, Waiting]], reach: float, free: int) -> list[Waiting]:
    """Those of `near` (gap in rating and ticket, the nearest first) that may play with this ticket, within `reach`
    points and for `free` seats at most, the least distant first."""
    found: list[tuple[float, tuple[int, str], Waiting]] = []
    sizes = Counter[int]()
    for gap, ticket in near:
        if gap > reach or sizes[1] >= MOST_NEAR:
            break
        size = len(ticket.players)
        if ticket is first or size > free or sizes[size] >= MOST_NEAR or not may_meet(first, ticket):
            continue
        points = distance(first, ticket)
        if points <= reach:
            sizes[size] += 1
            found.append((points, ticket.age, ticket))
    return [ticket for _, _, ticket in sorted(found)]


def fill(free: int, among: list[Waiting]) -> list[Waiting] | None:
    """Tickets with exactly this many players that may all meet, the first ones if possible; None if there are none."""
    return _Filling(among).fill(free, 0, [])


class _Filling:
    def __init__(self, among: list[Waiting]) -> None:
        self._among = among
        self._steps = 0

    def fill(self, free: int, start: int, chosen: list[Waiting]) -> list[Waiting] | None:
        if free == 0:
            return chosen
        for place in range(start, len(self._among)):
            self._steps += 1
            if self._steps > MOST_STEPS:
                return None
            ticket = self._among[place]
            left = free - len(ticket.players)
            if left < 0 or not all(may_meet(ticket, other) for other in chosen):
                continue
            filled = self.fill(left, place + 1, [*chosen, ticket])
            if filled is not None:
                return filled
        return None
