"""How long people will wait, as far as the latest waits say."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from services.matchmaking.matching.estimates import estimate_ms
from services.matchmaking.wishes import wish_of
from services.store.encounters import EncounterStore
from services.store.tickets import Ticket, TicketState

FRESH_SECONDS: Final = 2.0
MOST_TABLES: Final = 1_000


class Waits:
    """Estimates; what is known of a table is read once in two seconds."""

    def __init__(self, encounters: EncounterStore, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._encounters = encounters
        self._monotonic = monotonic
        self._known: dict[bytes, tuple[float, list[int]]] = {}

    async def of_ticket(self, ticket: Ticket, now_ms: int) -> int | None:
        """The whole wait of a ticket in ms; None once it is over, or where nothing honest can be said."""
        if ticket.state is not TicketState.WAITING:
            return None
        wish = wish_of(ticket)
        return estimate_ms(await self._at(wish.table), max(0, now_ms - ticket.created_ms), wish.patience_ms)

    async def of_newcomer(self, table: bytes, patience_ms: int) -> int | None:
        """The same for one who comes now."""
        return estimate_ms(await self._at(table), 0, patience_ms)

    async def _at(self, table: bytes) -> list[int]:
        now = self._monotonic()
        read_at, waits = self._known.get(table, (-FRESH_SECONDS, []))
        if now - read_at < FRESH_SECONDS:
            return waits
        waits = await self._encounters.waits(table)
        if len(self._known) >= MOST_TABLES:
            del self._known[next(iter(self._known))]
        self._known[table] = (now, waits)
        return waits
