"""Who plays whom: from the waiting tickets to matches. Pure; the present time is an argument.

The oldest ticket comes first. It is matched with those that want the same ruleset and number of seats, and the same
region or none, oldest first, until the seats are full. Once it has waited for as long as it has patience, bots take
the seats that are left; then those come along whose own patience is nearly over too, so that people who wait at the
same time meet each other instead of playing with bots alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

NEARLY_MS: Final = 8_000
"""Patience that a ticket may have left and still come along to a match with bots."""


class Waiting(NamedTuple):
    """A ticket that waits. `table` stands for ruleset and seats: tickets of one table may meet."""

    ticket: str
    player: str
    table: bytes
    seats: int
    region: str
    created_ms: int
    patience_ms: int

    def patience_left(self, now_ms: int) -> int:
        """Milliseconds until bots are welcome; 0 or less once they are."""
        return self.created_ms + self.patience_ms - now_ms


class Proposal(NamedTuple):
    """A match that can be made: its tickets, oldest first, and the seats that bots take."""

    tickets: tuple[Waiting, ...]
    bots: int


def propose(waiting: Iterable[Waiting], now_ms: int) -> list[Proposal]:
    """Every match that can be made now; no ticket is in two of them."""
    tables: dict[bytes, list[Waiting]] = {}
    for ticket in waiting:
        tables.setdefault(ticket.table, []).append(ticket)
    return [proposal for table in tables.values() for proposal in _propose_at(table, now_ms)]


def _propose_at(waiting: list[Waiting], now_ms: int) -> list[Proposal]:
    left = {ticket.ticket: ticket for ticket in sorted(waiting, key=_age)}
    proposals = []
    for first in list(left.values()):
        if first.ticket not in left:
            continue
        people = _people_for(first, [ticket for ticket in left.values() if ticket is not first], now_ms)
        if people:
            proposals.append(Proposal(tuple(sorted(people, key=_age)), first.seats - len(people)))
            for ticket in people:
                del left[ticket.ticket]
    return proposals


def _age(ticket: Waiting) -> tuple[int, str]:
    return ticket.created_ms, ticket.ticket


def _people_for(first: Waiting, others: list[Waiting], now_ms: int) -> list[Waiting]:
    """Those who play with this ticket if its match can be made now; else nobody."""
    people = _company(first, others)
    if len(people) == first.seats:
        return people
    if first.patience_left(now_ms) > 0:
        return []
    return _company(first, [ticket for ticket in others if ticket.patience_left(now_ms) <= NEARLY_MS])


def _company(first: Waiting, others: list[Waiting]) -> list[Waiting]:
    """The ticket and those of its table that may play with it and with each other, at most as many as it has seats."""
    people, region = [first], first.region
    for ticket in others:
        if len(people) == first.seats:
            break
        fits = not region or not ticket.region or ticket.region == region
        if fits and all(ticket.player != other.player for other in people):
            people.append(ticket)
            region = region or ticket.region
    return people
