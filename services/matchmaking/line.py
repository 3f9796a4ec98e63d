"""The waiting tickets as one process knows them.

What a ticket asks for never changes, so each is read once; only its place on the queue is looked up in every round, and
from time to time whether anybody still looks at it.
"""

from __future__ import annotations

import asyncio
from typing import Final, NamedTuple

from services.matchmaking.matching.waiting import Waiting
from services.matchmaking.wishes import waiting_of
from services.runtime import metrics
from services.store.tickets import Ticket, TicketState, TicketStore

LOOKED_AT: Final = 5_000
"""Waiting tickets, the oldest, that one round looks at."""
UNHEARD_MS: Final = 3_000
"""After so long without a look nobody may have been able to look at a ticket: Redis was away, or all of us were."""


class InLine(NamedTuple):
    """A ticket that waits. `look_ms`: when it is time to see whether it is still alive."""

    ticket: Ticket
    waiting: Waiting
    look_ms: int


class Line:
    """Who waits. `alive_ms`: a ticket that nobody has seen for this long is dead. After an outage of ours everybody has
    as long again to look: until then who was not seen is not matched, and keeps the ticket."""

    def __init__(self, tickets: TicketStore, alive_ms: int) -> None:
        self._tickets = tickets
        self._alive_ms = alive_ms
        self._known: dict[str, InLine] = {}
        self._looked_ms = 0
        self._ends_from_ms = 0
        """From when on tickets end."""

    def all(self) -> list[InLine]:
        """As they were at the last look, the oldest first."""
        return list(self._known.values())

    def ticket(self, ticket: str) -> Ticket:
        """One of them."""
        return self._known[ticket].ticket

    async def look(self, now_ms: int) -> list[Waiting]:
        """Who waits now, the oldest first. Ends tickets that nobody looks at any more."""
        if not 0 <= now_ms - self._looked_ms <= UNHEARD_MS:
            self._ends_from_ms = now_ms + self._alive_ms
        ids, number = await asyncio.gather(self._tickets.waiting_ids(LOOKED_AT), self._tickets.count_waiting())
        known = {ticket: self._known[ticket] for ticket in ids if ticket in self._known}
        doubtful = [ticket for ticket in ids if ticket not in known or known[ticket].look_ms <= now_ms]
        read = await asyncio.gather(*(self._tickets.read(ticket) for ticket in doubtful))
        for asked, ticket in zip(doubtful, read, strict=True):
            entry = None if ticket is None else await self._judge(ticket, now_ms)
            if entry is None:
                known.pop(asked, None)
            else:
                known[asked] = entry
        self._known = {ticket: known[ticket] for ticket in ids if ticket in known}
        self._looked_ms = now_ms
        metrics.tickets_waiting.set(number)
        return [entry.waiting for entry in self._known.values()]

    async def _judge(self, ticket: Ticket, now_ms: int) -> InLine | None:
        if ticket.state is not TicketState.WAITING:
            return None
        if now_ms - ticket.seen_ms < self._alive_ms:
            return InLine(ticket, waiting_of(ticket), ticket.seen_ms + self._alive_ms)
        if now_ms >= self._ends_from_ms and await self._tickets.expire(ticket) is TicketState.EXPIRED:
            metrics.tickets.labels("expired").inc()
        return None

    def forget(self, ticket: str) -> None:
        """A ticket that is not as it was thought to be is read again."""
        self._known.pop(ticket, None)
