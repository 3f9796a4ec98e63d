"""Tickets of quick play: opened, seen, ended, claimed for a match, and given a room or put back.

All of it lies under one hash tag. A claim takes the tickets of a match off the queue, all or none, under a lease in
Redis time; whoever finds a lease ended takes the claim over. Wishes and plans are opaque bytes here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from enum import IntEnum
from typing import Any, Final, NamedTuple

import msgspec

from services.store import scripts
from services.store.batcher import Pipelines
from services.store.keys import TICKET_KEPT_MS, PlayerId, RoomId

MOST_TRIES: Final = 5
MOST_DUE: Final = 20


class TicketState(IntEnum):
    """Where a ticket is in its life. Values are stored, and are those of the contract."""

    WAITING = 1
    CLAIMED = 2
    ASSIGNED = 3
    CANCELLED = 4
    EXPIRED = 5
    REPLACED = 6


class Ticket(msgspec.Struct, frozen=True, kw_only=True):
    """A player's wish for a match. `match` while it is claimed and after; `room` and `seat` once assigned.
    Times are those of Redis."""

    id: str
    player: PlayerId
    name: str
    state: TicketState
    wish: bytes
    created_ms: int
    seen_ms: int
    match: str = ""
    room: RoomId | None = None
    seat: int = 0


class Opening(IntEnum):
    """What came of asking for a ticket."""

    SAME = 1
    BEING_MATCHED = 2
    ASSIGNED = 3
    OPENED = 4
    REPLACED_ANOTHER = 5


class Opened(NamedTuple):
    """The player's ticket, and how it came to be it. BEING_MATCHED and ASSIGNED: the old ticket, not a new one."""

    opening: Opening
    ticket: Ticket


class Claimed(NamedTuple):
    """A ticket of a claim."""

    ticket: str
    player: PlayerId


class Claim(NamedTuple):
    """A match that is being made. `lease_ends` names the lease that is held, in ms by the clock of Redis."""

    match: str
    tickets: tuple[Claimed, ...]
    plan: bytes
    lease_ends: int = 0


class _Stored(NamedTuple):
    tickets: tuple[Claimed, ...]
    plan: bytes


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(_Stored).decode


class TicketStore:
    """`alive_ms`: a waiting ticket that nobody has seen for this long is dead. `lease_ms`: of a claim."""

    def __init__(self, pipelines: Pipelines, alive_ms: int, lease_ms: int) -> None:
        self._keys = pipelines.keys
        self._reads = pipelines.reads
        self._writes = pipelines.writes
        self._alive_ms = alive_ms
        self._lease_ms = lease_ms

    async def now_ms(self) -> int:
        """The time of Redis."""
        seconds, micros = await self._reads.command("TIME")
        return int(seconds) * 1000 + int(micros) // 1000

    async def held(self, player: PlayerId) -> Ticket | None:
        """The ticket that a player holds, whatever became of it."""
        ticket = await self._reads.command("GET", self._keys.holder(player))
        return None if ticket is None else await self._read(ticket.decode())

    async def open(
        self, new_id: str, player: PlayerId, name: str, wish: bytes, digest: bytes, *, over: str = ""
    ) -> Opened:
        """A ticket for a wish: the one that the player holds if its wish has this digest, else a new one in its place.
        `over` names an assigned ticket whose match is known to have ended."""
        for _ in range(MOST_TRIES):
            held = await self._reads.command("GET", self._keys.holder(player))
            old = "" if held is None else held.decode()
            keys = (
                self._keys.holder(player),
                self._keys.waiting,
                self._keys.ticket(new_id),
                self._keys.ticket(old or new_id),
            )
            is_over = int(bool(old) and old == over)
            args = (old, new_id, digest, player, name, wish, self._alive_ms, TICKET_KEPT_MS, is_over)
            reply = await self._writes.script(scripts.OPEN_TICKET, keys, args)
            ticket = await self._read(new_id if reply >= Opening.OPENED else old) if reply else None
            if ticket is not None:
                return Opened(Opening(reply), ticket)
        raise AssertionError(f"the ticket of {player} changed {MOST_TRIES} times in a row")

    async def see(self, ticket: str, player: PlayerId) -> Ticket | None:
        """The ticket as its player sees it, which keeps it alive; None if there is none, or it is another's."""
        return _ticket(ticket, await self._writes.script(scripts.SEE_TICKET, (self._keys.ticket(ticket),), (player,)))

    async def cancel(self, ticket: Ticket) -> TicketState:
        """Take a waiting ticket back; the state after it. One that is being matched is cancelled if it is put back."""
        return await self._end(ticket, TicketState.CANCELLED)

    async def expire(self, ticket: Ticket) -> TicketState:
        """End a waiting ticket that nobody sees any more; the state after it."""
        return await self._end(ticket, TicketState.EXPIRED)

    async def count_waiting(self) -> int:
        """How many tickets wait."""
        return int(await self._reads.command("ZCARD", self._keys.waiting))

    async def waiting(self, limit: int) -> list[Ticket]:
        """Waiting tickets, the oldest first."""
        ids = [ticket.decode() for ticket in await self._reads.command("ZRANGE", self._keys.waiting, 0, limit - 1)]
        found = await asyncio.gather(*(self._read(ticket) for ticket in ids))
        return [ticket for ticket in found if ticket is not None and ticket.state is TicketState.WAITING]

    async def claim(self, claim: Claim) -> Claim | None:
        """Take the tickets of a match off the queue; None, and nothing has changed, if one of them waits no longer."""
        keys = self._keys
        ends = await self._writes.script(
            scripts.CLAIM_TICKETS,
            (keys.waiting, keys.claims, keys.claim(claim.match), *(keys.ticket(t.ticket) for t in claim.tickets)),
            (
                *(claim.match, self._lease_ms, self._alive_ms, _encode((claim.tickets, claim.plan))),
                *(t.ticket for t in claim.tickets),
            ),
        )
        return claim._replace(lease_ends=int(ends)) if ends else None

    async def due(self) -> list[Claim]:
        """Claims whose lease has ended, now leased to the caller."""
        ends, *matches = await self._writes.script(scripts.DUE_CLAIMS, (self._keys.claims,), (self._lease_ms, MOST_DUE))
        claims = []
        for match in (match.decode() for match in matches):
            stored = await self._reads.command("GET", self._keys.claim(match))
            if stored is not None:
                claims.append(Claim(match, *_decode(stored), int(ends)))
        return claims

    async def assign(self, claim: Claim, room: RoomId, seats: Sequence[int]) -> bool:
        """Give the tickets of a claim their room, with a seat each; false if the claim was settled already."""
        return await self._settle(claim, room, seats)

    async def put_back(self, claim: Claim) -> bool:
        """Let the tickets of a claim wait again as if nothing had been; false if the lease is another's."""
        return await self._settle(claim, "", [0] * len(claim.tickets))

    async def _settle(self, claim: Claim, room: str, seats: Sequence[int]) -> bool:
        keys = self._keys
        each = zip(claim.tickets, seats, strict=True)
        settled = await self._writes.script(
            scripts.SETTLE_CLAIM,
            (
                *(keys.waiting, keys.claims, keys.claim(claim.match)),
                *(key for t in claim.tickets for key in (keys.ticket(t.ticket), keys.holder(t.player))),
            ),
            (
                *(claim.match, room, claim.lease_ends, TICKET_KEPT_MS),
                *(part for t, seat in each for part in (t.ticket, seat)),
            ),
        )
        return bool(settled)

    async def _end(self, ticket: Ticket, state: TicketState) -> TicketState:
        keys = (self._keys.ticket(ticket.id), self._keys.waiting, self._keys.holder(ticket.player))
        args = (ticket.id, int(state), self._alive_ms, TICKET_KEPT_MS)
        now = await self._writes.script(scripts.END_TICKET, keys, args)
        return TicketState(now) if now else TicketState.EXPIRED

    async def _read(self, ticket: str) -> Ticket | None:
        return _ticket(ticket, await self._reads.command("HGETALL", self._keys.ticket(ticket)))


def _ticket(ticket: str, reply: Any) -> Ticket | None:
    pairs = reply.items() if isinstance(reply, dict) else zip(reply[::2], reply[1::2], strict=True)
    fields = {name.decode(): value for name, value in pairs}
    if "state" not in fields:
        return None
    return Ticket(
        id=ticket,
        player=PlayerId(fields["player"].decode()),
        name=fields["name"].decode(),
        state=TicketState(int(fields["state"])),
        wish=fields["wish"],
        created_ms=int(fields["created"]),
        seen_ms=int(fields["seen"]),
        match=fields.get("match", b"").decode(),
        room=RoomId(fields["room"].decode()) if "room" in fields else None,
        seat=int(fields.get("seat", 0)),
    )
