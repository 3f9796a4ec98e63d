"""Tickets of quick play as their players have them: opened, seen, ended. What is done with those that wait, is in
`claims.py`.

All of it lies under one hash tag. Wishes are opaque bytes here.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Collection, Sequence
from enum import IntEnum
from typing import Any, Final, NamedTuple

import msgspec

from services.store import scripts
from services.store.batcher import Pipelines
from services.store.errors import StoreUnavailable
from services.store.keys import TICKET_KEPT_MS, PlayerId, RoomId
from services.store.routed import Arg

MOST_TRIES: Final = 12
PAUSE_S: Final = 0.005
"""Longest pause before the second try, once more for each further one: those who ask at once spread out."""
_ANOTHER: Final = 0
"""What the script says when a player's ticket is not the one that was named to it."""


class TicketState(IntEnum):
    """Where a ticket is in its life. Values are stored, and are those of the contract."""

    WAITING = 1
    CLAIMED = 2
    ASSIGNED = 3
    CANCELLED = 4
    EXPIRED = 5
    REPLACED = 6


class Member(NamedTuple):
    """A player of a ticket, and how this one is called."""

    player: PlayerId
    name: str


class Ticket(msgspec.Struct, frozen=True, kw_only=True):
    """A wish of a player, or of a party, for a match. `about` is what the matching has to know of its players. `match`
    while it is claimed and after; `room` and a seat for each player once assigned; `failed` counts matches that did not
    begin. Times are those of Redis."""

    id: str
    players: tuple[Member, ...]
    state: TicketState
    wish: bytes
    about: bytes
    created_ms: int
    seen_ms: int
    match: str = ""
    room: RoomId | None = None
    seats: tuple[int, ...] = ()
    failed: int = 0


class Opening(IntEnum):
    """What came of asking for a ticket."""

    SAME = 1
    BEING_MATCHED = 2
    ASSIGNED = 3
    OPENED = 4
    REPLACED_ANOTHER = 5


class Opened(NamedTuple):
    """A ticket, and how it came to be it. BEING_MATCHED and ASSIGNED: the old ticket of one of the players, not a new
    one."""

    opening: Opening
    ticket: Ticket


class Request(NamedTuple):
    """What a ticket shall be. `digest` is equal for equal wishes of the same players."""

    id: str
    players: tuple[Member, ...]
    wish: bytes
    about: bytes
    digest: bytes


_encode = msgspec.msgpack.Encoder().encode
_decode_members = msgspec.msgpack.Decoder(tuple[Member, ...]).decode
_decode_seats = msgspec.msgpack.Decoder(tuple[int, ...]).decode


class TicketStore:
    """`alive_ms`: a waiting ticket that nobody has seen for this long is dead. `clock` gives the time in ms instead of
    Redis, for a simulated day."""

    def __init__(self, pipelines: Pipelines, alive_ms: int, clock: Callable[[], int] | None = None) -> None:
        self._keys = pipelines.keys
        self._reads = pipelines.reads
        self._writes = pipelines.writes
        self._alive_ms = alive_ms
        self._clock = clock

    @property
    def _now(self) -> int | str:
        return "" if self._clock is None else self._clock()

    async def held(self, player: PlayerId) -> Ticket | None:
        """The ticket that a player holds, whatever became of it."""
        ticket = await self._held(player)
        return await self.read(ticket) if ticket else None

    async def _held(self, player: PlayerId) -> str:
        ticket = await self._reads.command("GET", self._keys.holder(player))
        return "" if ticket is None else str(ticket.decode())

    async def open(self, request: Request, *, over: Collection[str] = ()) -> Opened:
        """A ticket for a wish: the one that the players hold if it has this digest, else a new one in the place of
        theirs. `over` names assigned tickets whose match is known to have ended. Raises `StoreUnavailable`, also where
        the players ask for too much at once."""
        for tried in range(MOST_TRIES):
            if tried:
                await asyncio.sleep(random.uniform(0, tried * PAUSE_S))
            held = await asyncio.gather(*(self._held(member.player) for member in request.players))
            keys, args = self._opening(request, held, over)
            what, number = await self._writes.script(scripts.OPEN_TICKET, keys, args)
            if what == _ANOTHER:
                continue
            ticket = await self.read(request.id if what >= Opening.OPENED else held[number - 1])
            if ticket is not None:
                return Opened(Opening(what), ticket)
        raise StoreUnavailable(f"the players' tickets changed {MOST_TRIES} times in a row", maybe_applied=False)

    def _opening(self, request: Request, held: Sequence[str], over: Collection[str]) -> tuple[list[str], list[Arg]]:
        keys = [self._keys.waiting, self._keys.ticket(request.id)]
        args: list[Arg] = [self._now, request.id, request.digest, request.wish, request.about]
        args += [_encode(request.players), self._alive_ms, TICKET_KEPT_MS]
        for member, ticket in zip(request.players, held, strict=True):
            keys += (self._keys.holder(member.player), self._keys.ticket(ticket or request.id))
            args += (member.player, ticket, int(bool(ticket) and ticket in over))
        return keys, args

    async def see(self, ticket: str, player: PlayerId) -> Ticket | None:
        """The ticket as one of its players sees it, which keeps it alive; None if there is none, or it is others'."""
        args = (self._now, player)
        return _ticket(ticket, await self._writes.script(scripts.SEE_TICKET, (self._keys.ticket(ticket),), args))

    async def cancel(self, ticket: Ticket) -> TicketState:
        """Take a waiting ticket back; the state after it. One that is being matched is cancelled if it is put back."""
        return await self._end(ticket, TicketState.CANCELLED)

    async def expire(self, ticket: Ticket) -> TicketState:
        """End a waiting ticket that nobody sees any more; the state after it."""
        return await self._end(ticket, TicketState.EXPIRED)

    async def waiting_ids(self, limit: int) -> list[str]:
        """Ids of waiting tickets, the oldest first."""
        return [ticket.decode() for ticket in await self._reads.command("ZRANGE", self._keys.waiting, 0, limit - 1)]

    async def read(self, ticket: str) -> Ticket | None:
        """The ticket as it is, which does not keep it alive."""
        return _ticket(ticket, await self._reads.command("HGETALL", self._keys.ticket(ticket)))

    async def count_waiting(self) -> int:
        """How many tickets wait."""
        return int(await self._reads.command("ZCARD", self._keys.waiting))

    async def waiting(self, limit: int) -> list[Ticket]:
        """Waiting tickets, the oldest first."""
        found = await asyncio.gather(*(self.read(ticket) for ticket in await self.waiting_ids(limit)))
        return [ticket for ticket in found if ticket is not None and ticket.state is TicketState.WAITING]

    async def _end(self, ticket: Ticket, state: TicketState) -> TicketState:
        holders = (self._keys.holder(member.player) for member in ticket.players)
        keys = (self._keys.ticket(ticket.id), self._keys.waiting, *holders)
        args = (self._now, ticket.id, int(state), self._alive_ms, TICKET_KEPT_MS)
        now = await self._writes.script(scripts.END_TICKET, keys, args)
        return TicketState(now) if now else TicketState.EXPIRED


def _ticket(ticket: str, reply: Any) -> Ticket | None:
    pairs = reply.items() if isinstance(reply, dict) else zip(reply[::2], reply[1::2], strict=True)
    fields = dict(pairs)
    if b"players" not in fields:
        return None
    return Ticket(
        id=ticket,
        players=_decode_members(fields[b"players"]),
        state=TicketState(int(fields[b"state"])),
        wish=fields[b"wish"],
        about=fields[b"about"],
        created_ms=int(fields[b"created"]),
        seen_ms=int(fields[b"seen"]),
        match=fields.get(b"match", b"").decode(),
        room=RoomId(fields[b"room"].decode()) if b"room" in fields else None,
        seats=_decode_seats(fields[b"seats"]) if b"seats" in fields else (),
        failed=int(fields.get(b"failed", 0)),
    )
