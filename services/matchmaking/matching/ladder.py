"""Tickets in the order of their ratings, from which those next to a rating are taken first."""

from __future__ import annotations

import heapq
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter
from typing import Final

from services.matchmaking.matching.waiting import Waiting

_END: Final = -1


class Ladder:
    """A removed ticket costs nobody a step: each knows the next that is left to either side."""

    def __init__(self, tickets: Iterable[Waiting]) -> None:
        self._tickets = sorted(tickets, key=lambda ticket: (ticket.rating, ticket.age))
        self._ratings = [ticket.rating for ticket in self._tickets]
        self._places = {ticket.ticket: place for place, ticket in enumerate(self._tickets)}
        count = len(self._tickets)
        self._below = list(range(-1, count - 1))
        self._above = [*range(1, count), _END][:count]

    def __contains__(self, ticket: Waiting) -> bool:
        return ticket.ticket in self._places

    def remove(self, ticket: Waiting) -> None:
        """Take a ticket out that is in it."""
        place = self._places.pop(ticket.ticket)
        below, above = self._below[place], self._above[place]
        if below != _END:
            self._above[below] = above
        if above != _END:
            self._below[above] = below

    def near(self, rating: float) -> Iterator[tuple[float, Waiting]]:
        """Gap and ticket, the nearest first."""
        first = bisect_left(self._ratings, rating)
        below = self._left(first - 1, self._below)
        above = self._left(first if first < len(self._tickets) else _END, self._above)
        while below != _END or above != _END:
            down = rating - self._ratings[below] if below != _END else float("inf")
            up = self._ratings[above] - rating if above != _END else float("inf")
            if down <= up:
                yield down, self._tickets[below]
                below = self._below[below]
            else:
                yield up, self._tickets[above]
                above = self._above[above]

    def _left(self, place: int, onward: Sequence[int]) -> int:
        """The place, or the next one onward whose ticket is still in it."""
        while place != _END and self._tickets[place].ticket not in self._places:
            place = onward[place]
        return place


def nearest(ladders: Sequence[Ladder], rating: float) -> Iterator[tuple[float, Waiting]]:
    """The same over several ladders."""
    if len(ladders) == 1:
        return ladders[0].near(rating)
    return heapq.merge(*(ladder.near(rating) for ladder in ladders), key=itemgetter(0))
