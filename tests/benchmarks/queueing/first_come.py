"""The baseline: whoever came first plays with whoever came next and fits. No ratings, no pace, no past; the same
tables, regions, parties, patience and bots."""

from __future__ import annotations

from collections.abc import Iterable

from services.matchmaking.matching.proposing import NEARLY_MS
from services.matchmaking.matching.waiting import Proposal, Waiting


def propose(waiting: Iterable[Waiting], now_ms: int) -> list[Proposal]:
    """As `matching.proposing.propose`."""
    left = {ticket.ticket: ticket for ticket in sorted(waiting, key=lambda ticket: ticket.age)}
    proposals = []
    for first in list(left.values()):
        if first.ticket not in left:
            continue
        company = _company(first, [ticket for ticket in left.values() if ticket is not first])
        if _players(company) < first.seats:
            if first.patience_left(now_ms) > 0:
                continue
            nearly = [t for t in left.values() if t is not first and t.patience_left(now_ms) <= NEARLY_MS]
            company = _company(first, nearly)
        for ticket in company:
            del left[ticket.ticket]
        proposals.append(Proposal(tuple(company), first.seats - _players(company)))
    return proposals


def _players(tickets: list[Waiting]) -> int:
    return sum(len(ticket.players) for ticket in tickets)


def _company(first: Waiting, others: list[Waiting]) -> list[Waiting]:
    company, region = [first], first.region
    for ticket in others:
        fits = not region or not ticket.region or ticket.region == region
        if ticket.table == first.table and fits and _players([*company, ticket]) <= first.seats:
            company.append(ticket)
            region = region or ticket.region
    return company
