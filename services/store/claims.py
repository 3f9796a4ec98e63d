"""Claims: the tickets of a match are taken off the queue, and given its room or put back, or given back later since the
match did not begin.

A claim takes the tickets of a match, all or none, under a lease in Redis time; whoever finds a lease ended takes the
claim over. All of it lies under the hash tag of the tickets. Plans are opaque bytes here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

import msgspec

from services.store import scripts
from services.store.batcher import Pipelines
from services.store.keys import TICKET_KEPT_MS, PlayerId, RoomId
from services.store.routed import Arg

MOST_DUE: Final = 20
MOST_STARTS: Final = 200


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


class ClaimStore:
    """`alive_ms`: a waiting ticket that nobody has seen for this long is dead, and not claimed. `lease_ms`: of a claim.
    `clock` gives the time in ms instead of Redis, for a simulated day. Methods raise `StoreUnavailable`."""

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
