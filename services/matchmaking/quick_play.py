"""The work behind tickets: in rounds, makes every match that can be made, and finishes what a dead process left.

Any number of processes do this at once and none leads.
"""

from __future__ import annotations

import asyncio
import random
from typing import Final

from services.matchmaking.backfill import Backfill
from services.matchmaking.line import Line
from services.matchmaking.making import Maker
from services.matchmaking.matching.proposing import propose
from services.matchmaking.matching.waiting import Proposal
from services.matchmaking.starts import Starts
from services.runtime.logs import log
from services.store.claims import ClaimStore
from services.store.errors import StoreError

ROUND_SECONDS: Final = 0.5
LEAST_SECONDS: Final = 0.1
"""Between two rounds, however many tickets are opened: those that come together are better matched together."""


class QuickPlay:
    """One process's part in making matches. `soon` is called when a ticket was opened here."""

    def __init__(self, claims: ClaimStore, line: Line, maker: Maker, starts: Starts, backfill: Backfill) -> None:
        self._claims = claims
        self._line = line
        self._maker = maker
        self._starts = starts
        self._backfill = backfill
        self._wake = asyncio.Event()

    def soon(self) -> None:
        """Looks at the waiting tickets at once."""
        self._wake.set()

    async def run(self) -> None:
        """Runs as long as the process. What a round could not do, the next one does."""
        while True:
            try:
                await self.round()
            except StoreError as error:
                log.warning("tickets not looked at", error=str(error))
            except Exception:  # people still sign in, and find rooms, in this process
                log.exception("tickets not looked at")
            await asyncio.sleep(LEAST_SECONDS)
            await self._pause()

    async def _pause(self) -> None:
        try:
            async with asyncio.timeout(ROUND_SECONDS * random.uniform(0.8, 1.2)):
                await self._wake.wait()
        except TimeoutError:
            return
        self._wake.clear()

    async def round(self) -> None:
        """Takes over claims that nobody finished, sees whether matches have begun, makes every match that can be made
        now, and gives free seats to those who wait on."""
        due, now, _ = await asyncio.gather(self._claims.due(), self._claims.now_ms(), self._starts.look())
        for claim in due:
            await self._maker.finish(claim)
        waiting = await self._line.look(now)
        proposals = propose(waiting, now)
        await asyncio.gather(*(self._make(proposal) for proposal in proposals))
        taken = {ticket.ticket for proposal in proposals for ticket in proposal.tickets}
        await self._backfill.place([each for each in self._line.all() if each.ticket.id not in taken], now)

    async def _make(self, proposal: Proposal) -> None:
        tickets = [self._line.ticket(waiting.ticket) for waiting in proposal.tickets]
        await self._maker.make(tickets, proposal.tickets, proposal.bots)
        for ticket in tickets:
            self._line.forget(ticket.id)
