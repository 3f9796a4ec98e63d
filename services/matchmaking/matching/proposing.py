"""Every match that can be made now: the oldest ticket chooses first."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from services.matchmaking.matching.company import candidates, fill
from services.matchmaking.matching.distances import distance
from services.matchmaking.matching.ladder import Ladder, nearest
from services.matchmaking.matching.waiting import Proposal, Waiting
from services.matchmaking.matching.windows import window

NEARLY_MS: Final = 8_000
"""Patience that a ticket may have left and still come along to a match with bots."""


def propose(waiting: Iterable[Waiting], now_ms: int) -> list[Proposal]:
    """Every match that can be made now; no ticket is in two of them."""
    tables: dict[bytes, list[Waiting]] = {}
    for ticket in waiting:
        tables.setdefault(ticket.table, []).append(ticket)
    return [proposal for tickets in tables.values() for proposal in _Table(tickets, now_ms).proposals()]


class _Table:
    """The tickets that want the same."""

    def __init__(self, tickets: list[Waiting], now_ms: int) -> None:
        self._now_ms = now_ms
        self._oldest = sorted(tickets, key=lambda ticket: ticket.age)
        regions: dict[str, list[Waiting]] = {"": []}
        for ticket in sorted(tickets, key=lambda ticket: ticket.region):
            regions.setdefault(ticket.region, []).append(ticket)
        self._ladders = {region: Ladder(those) for region, those in regions.items()}

    def proposals(self) -> Iterator[Proposal]:
        for first in self._oldest:
            if first not in self._ladders[first.region]:
                continue
            others = self._others(first)
            if others is not None:
                tickets = tuple(sorted((first, *others), key=lambda ticket: ticket.age))
                for ticket in tickets:
                    self._ladders[ticket.region].remove(ticket)
                yield Proposal(tickets, first.seats - sum(len(ticket.players) for ticket in tickets))

    def _others(self, first: Waiting) -> list[Waiting] | None:
        """Those who play with this ticket if its match can be made now."""
        free = first.seats - len(first.players)
        if free == 0:
            return []
        full = self._best(first, window(first, self._now_ms), free)
        if full is not None or first.patience_left(self._now_ms) > 0:
            return full
        return self._with_bots(first, free)

    def _best(self, first: Waiting, reach: float, free: int) -> list[Waiting] | None:
        """The nearest who fill the seats; one who names no region takes the better one."""
        found: list[tuple[float, int, list[Waiting]]] = []
        for ladders in self._ways(first):
            others = fill(free, candidates(first, nearest(ladders, first.rating), reach, free))
            if others is not None:
                found.append((max(distance(first, other) for other in others), len(found), others))
        return min(found)[2] if found else None

    def _with_bots(self, first: Waiting, free: int) -> list[Waiting]:
        """As many people as possible whose patience is nearly over."""
        ways = []
        for ladders in self._ways(first):
            near = (
                (gap, ticket)
                for gap, ticket in nearest(ladders, first.rating)
                if ticket.patience_left(self._now_ms) <= NEARLY_MS
            )
            ways.append(candidates(first, near, math.inf, free))
        for people in range(free, 0, -1):
            for among in ways:
                others = fill(people, among)
                if others is not None:
                    return others
        return []

    def _ways(self, first: Waiting) -> Iterator[Sequence[Ladder]]:
        """The ladders to look at together: each region with those who name none."""
        anywhere = self._ladders[""]
        if first.region:
            yield self._ladders[first.region], anywhere
            return
        named = [ladder for region, ladder in self._ladders.items() if region]
        yield from ((ladder, anywhere) for ladder in named)
        if not named:
            yield (anywhere,)
