"""Whose tickets end since nobody looks at them, and whose could not be looked at."""

from __future__ import annotations

from typing import Any, cast

import pytest

from services.matchmaking import line as line_module
from services.matchmaking.line import Line
from services.store.keys import PlayerId
from services.store.tickets import Member, Ticket, TicketState, TicketStore

ALIVE_MS = 20_000
ROUND_MS = 500


class Queue:
    """The store of tickets: when each that waits was seen last, in ms."""

    def __init__(self, **seen: int) -> None:
        self.seen = seen

    async def waiting_ids(self, limit: int) -> list[str]:
        return list(self.seen)

    async def count_waiting(self) -> int:
        return len(self.seen)

    async def read(self, ticket: str) -> Ticket:
        players = (Member(PlayerId(ticket), ticket),)
        seen = self.seen[ticket]
        return Ticket(
            id=ticket, players=players, state=TicketState.WAITING, wish=b"", about=b"", created_ms=0, seen_ms=seen
        )

    async def expire(self, ticket: Ticket) -> TicketState:
        del self.seen[ticket.id]
        return TicketState.EXPIRED


class Rounds:
    """A process that looks at the line twice a second."""

    def __init__(self, queue: Queue, now_ms: int) -> None:
        self.line, self.now_ms = Line(cast(TicketStore, queue), ALIVE_MS), now_ms

    async def pass_time(self, ms: int) -> None:
        for _ in range(0, ms, ROUND_MS):
            self.now_ms += ROUND_MS
            await self.line.look(self.now_ms)

    async def away(self, ms: int) -> list[str]:
        """Redis does not answer for so long; who can be matched after that."""
        self.now_ms += ms
        await self.line.look(self.now_ms)
        return [each.ticket.id for each in self.line.all()]


@pytest.fixture(autouse=True)
def _any_wish(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line_module, "waiting_of", lambda ticket: cast(Any, ticket.id))


async def test_a_ticket_that_nobody_looks_at_ends() -> None:
    queue = Queue(left=1_000_000)
    rounds = Rounds(queue, 1_000_000)
    await rounds.pass_time(ALIVE_MS - ROUND_MS)
    assert queue.seen
    await rounds.pass_time(2 * ROUND_MS)
    assert not queue.seen


async def test_no_ticket_ends_for_an_outage_in_which_nobody_could_look_at_it() -> None:
    queue = Queue(stays=1_000_000, left=1_000_000)
    rounds = Rounds(queue, 1_000_000)
    await rounds.pass_time(ALIVE_MS // 2)
    assert await rounds.away(2 * ALIVE_MS) == [], "nobody is matched who may have gone"
    assert set(queue.seen) == {"stays", "left"}
    queue.seen["stays"] = rounds.now_ms + 400
    await rounds.pass_time(ROUND_MS)
    assert [each.ticket.id for each in rounds.line.all()] == ["stays"]
    await rounds.pass_time(ALIVE_MS // 2)
    queue.seen["stays"] = rounds.now_ms
    await rounds.pass_time(ALIVE_MS // 2)
    assert set(queue.seen) == {"stays"}


async def test_a_process_that_has_just_started_ends_nobodys_ticket() -> None:
    queue = Queue(left=1_000_000)
    rounds = Rounds(queue, 1_000_000)
    assert await rounds.away(2 * ALIVE_MS) == []
    assert queue.seen
    await rounds.pass_time(ALIVE_MS + ROUND_MS)
    assert not queue.seen
