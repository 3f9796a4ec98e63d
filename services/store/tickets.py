"""Tickets of quick play: opened, seen, ended, claimed for a match, and given a room or put back.

All of it lies under one hash tag. A claim takes the tickets of a match off the queue, all or none, under a lease in
Redis time; whoever finds a lease ended takes the claim over. Wishes and plans are opaque bytes here.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
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
MOST_DUE: Final = 20
MOST_STARTS: Final = 200
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


class Claimed(NamedTuple):
    """A ticket of a claim."""

    ticket: str
    players: tuple[PlayerId, ...]


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
_decode_members = msgspec.msgpack.Decoder(tuple[Member, ...]).decode
_decode_seats = msgspec.msgpack.Decoder(tuple[int, ...]).decode


class TicketStore:
    """`alive_ms`: a waiting ticket that nobody has seen for this long is dead. `lease_ms`: of a claim. `clock` gives
    the time in ms instead of Redis, for a simulated day."""

    def __init__(
        self, pipelines: Pipelines, alive_ms: int, lease_ms: int, clock: Callable[[], int] | None = None
    ) -> None:
        self._keys = pipelines.keys
        self._reads = pipelines.reads
        self._writes = pipelines.writes
        self._alive_ms = alive_ms
        self._lease_ms = lease_ms
        self._clock = clock

    @property
    def _now(self) -> int | str:
        return "" if self._clock is None else self._clock()

    async def now_ms(self) -> int:
        """The time of the Redis that dates tickets."""
        if self._clock is not None:
            return self._clock()
        seconds, micros = await self._reads.command("TIME", near=self._keys.waiting)
        return int(seconds) * 1000 + int(micros) // 1000

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

    async def claim(self, claim: Claim) -> Claim | None:
        """Take the tickets of a match off the queue; None, and nothing has changed, if one of them waits no longer."""
        keys = self._keys
        ends = await self._writes.script(
            scripts.CLAIM_TICKETS,
            (keys.waiting, keys.claims, keys.claim(claim.match), *(keys.ticket(t.ticket) for t in claim.tickets)),
            (
                *(self._now, claim.match, self._lease_ms, self._alive_ms, _encode((claim.tickets, claim.plan))),
                *(t.ticket for t in claim.tickets),
            ),
        )
        return claim._replace(lease_ends=int(ends)) if ends else None

    async def due(self) -> list[Claim]:
        """Claims whose lease has ended, now leased to the caller."""
        return await self._due(self._keys.claims, self._keys.claim, self._lease_ms, MOST_DUE)

    async def due_starts(self, again_ms: int) -> list[Claim]:
        """Matches with a room of which it has to be seen whether they have begun; the caller has them for `again_ms`,
        then they are due again."""
        return await self._due(self._keys.starts, self._keys.start, again_ms, MOST_STARTS)

    async def _due(self, queue: str, key: Callable[[str], str], lease_ms: int, most: int) -> list[Claim]:
        ends, *matches = await self._writes.script(scripts.DUE_CLAIMS, (queue,), (self._now, lease_ms, most))
        claims = []
        for match in (match.decode() for match in matches):
            stored = await self._reads.command("GET", key(match))
            if stored is not None:
                claims.append(Claim(match, *_decode(stored), int(ends)))
            elif queue == self._keys.starts:
                await self._writes.command("ZREM", queue, match)
        return claims

    async def assign(self, claim: Claim, room: RoomId, seats: Sequence[Sequence[int]], start_ms: int = 0) -> bool:
        """Give the tickets of a claim their room, with a seat for each player; false if the claim was settled already.
        After `start_ms` it is due to be seen whether the match has begun; 0: never."""
        return await self._settle(claim, room, seats, start_ms)

    async def put_back(self, claim: Claim) -> bool:
        """Let the tickets of a claim wait again as if nothing had been; false if the lease is another's."""
        return await self._settle(claim, "", [()] * len(claim.tickets), 0)

    async def _settle(self, claim: Claim, room: str, seats: Sequence[Sequence[int]], start_ms: int) -> bool:
        keys = self._keys
        each = zip(claim.tickets, seats, strict=True)
        settled = await self._writes.script(
            scripts.SETTLE_CLAIM,
            (
                *(keys.waiting, keys.claims, keys.claim(claim.match), keys.starts, keys.start(claim.match)),
                *self._with_holders(claim.tickets),
            ),
            (
                *(self._now, claim.match, room, claim.lease_ends, TICKET_KEPT_MS, start_ms),
                *(part for t, own in each for part in (t.ticket, _encode(own), len(t.players))),
            ),
        )
        return bool(settled)

    def _with_holders(self, tickets: Iterable[Claimed]) -> Iterator[str]:
        for claimed in tickets:
            yield self._keys.ticket(claimed.ticket)
            yield from (self._keys.holder(player) for player in claimed.players)

    async def begun(self, claim: Claim) -> None:
        """The match began, or there is nobody to go back: it need not be looked at again."""
        await asyncio.gather(
            self._writes.command("DEL", self._keys.start(claim.match)),
            self._writes.command("ZREM", self._keys.starts, claim.match),
        )

    async def give_back(self, claim: Claim, came: Collection[PlayerId]) -> int:
        """The match did not begin: tickets all of whose players came wait again, with their waiting time, the others
        end. The number of those that wait again."""
        keys = (self._keys.waiting, self._keys.starts, self._keys.start(claim.match))
        args: list[Arg] = [self._now, claim.match, TICKET_KEPT_MS]
        for claimed in claim.tickets:
            args += (claimed.ticket, int(all(player in came for player in claimed.players)), len(claimed.players))
        returned = await self._writes.script(scripts.RETURN_TICKETS, (*keys, *self._with_holders(claim.tickets)), args)
        return int(returned)

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
