"""A new generation of what follows from a pool's ledger, written beside the present one and put in its place at once.

One process at a time holds a lease for it. All that it writes lies under keys of the new generation; the swap is one
script, which takes place only if the new generation holds every entry of the ledger and the lease was never lost.
Until then, and if the process dies, the present generation goes on counting; the next one to begin removes the rest.
"""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final, NamedTuple

from services.store import scripts
from services.store.batcher import Pipelines
from services.store.keys import Entrant
from services.store.routed import Arg
from services.store.scoring import pairs

LEASE_MS: Final = 10_000
_BATCH: Final = 500
"""Entrants, or lines of a board, that are written at once."""

LOST, SWAPPED, BEHIND = range(3)
"""What became of a swap: the lease was lost, it is done, or there are newer entries."""


class Build(NamedTuple):
    """A new generation on its way."""

    pool: str
    token: str
    base: int
    generation: int


class LeaseLost(Exception):  # noqa: N818 - not a fault of this process
    """Another process recomputes the pool by now."""


class Rebuilds:
    """All methods raise `StoreUnavailable` when Redis is away."""

    def __init__(self, pipelines: Pipelines, lease_ms: int = LEASE_MS) -> None:
        self._keys = pipelines.keys
        self._reads = pipelines.reads
        self._writes = pipelines.writes
        self._lease_ms = lease_ms

    async def begin(self, pool: str) -> Build | None:
        """Take the lease and remove what dead processes left; None if another process holds it."""
        keys, token = self._keys.pool(pool), secrets.token_hex(16)
        reply = await self._writes.script(
            scripts.BEGIN_REBUILD, (keys.head, keys.rebuild, keys.generations), (token, self._lease_ms)
        )
        if reply is None:
            return None
        build = Build(pool, token, *reply)
        await self._remove_all_but(pool, (build.base, build.generation))
        return build

    async def write_standings(self, build: Build, standings: Mapping[Entrant, bytes | None]) -> None:
        """None removes one. Raises LeaseLost."""
        target = self._keys.pool(build.pool).standings(build.generation)
        kept = ((entrant, standing) for entrant, standing in standings.items() if standing is not None)
        await self._fill(build, target, "HSET", (part for pair in kept for part in pair), per=2)
        gone = (entrant for entrant, standing in standings.items() if standing is None)
        await self._fill(build, target, "HDEL", gone)

    async def write_board(self, build: Build, span: str, ends_ms: int, scores: Mapping[Entrant, int | None]) -> None:
        """None removes a line. Raises LeaseLost."""
        target = self._keys.pool(build.pool).board(build.generation, span)
        kept = ((score, entrant) for entrant, score in scores.items() if score is not None)
        await self._fill(build, target, "ZADD", (part for pair in kept for part in pair), per=2, span=(span, ends_ms))
        gone = (entrant for entrant, score in scores.items() if score is None)
        await self._fill(build, target, "ZREM", gone)

    async def _fill(
        self,
        build: Build,
        target: str,
        command: str,
        parts: Iterable[Arg],
        *,
        per: int = 1,
        span: tuple[str, int] = ("", 0),
    ) -> None:
        keys = self._keys.pool(build.pool)
        for batch in _batches(parts, _BATCH * per):
            written = await self._writes.script(
                scripts.FILL,
                (keys.rebuild, target, keys.spans(build.generation)),
                (build.token, self._lease_ms, command, *span, *batch),
            )
            if not written:
                raise LeaseLost

    async def swap(self, build: Build, index: int) -> int:
        """Put the new generation in place, if `index` is the last entry of the ledger."""
        keys = self._keys.pool(build.pool)
        done: int = await self._writes.script(
            scripts.FINISH_REBUILD,
            (keys.head, keys.rebuild),
            (build.token, self._lease_ms, build.base, build.generation, index),
        )
        return done

    async def hold(self, build: Build) -> None:
        """Renew the lease. Raises LeaseLost."""
        keys = self._keys.pool(build.pool)
        renewal = (build.token, self._lease_ms, "", "", 0)
        if not await self._writes.script(scripts.FILL, (keys.rebuild, keys.rebuild, keys.rebuild), renewal):
            raise LeaseLost

    async def end(self, build: Build, *, keep: int) -> None:
        """Remove every generation but the one to keep, and give the lease back. Only while no swap is on its way."""
        try:
            await self.hold(build)
        except LeaseLost:
            return
        await self._remove_all_but(build.pool, (keep,))
        await self._writes.script(scripts.END_REBUILD, (self._keys.pool(build.pool).rebuild,), (build.token,))

    async def _remove_all_but(self, pool: str, kept: Sequence[int]) -> None:
        keys = self._keys.pool(pool)
        for member in await self._reads.command("ZRANGE", keys.generations, 0, -1):
            generation = int(member)
            if generation not in kept:
                spans = await self._reads.command("SMEMBERS", keys.spans(generation))
                boards = [keys.board(generation, span.decode()) for span in spans]
                await self._writes.command("UNLINK", keys.standings(generation), *boards)
                await self._writes.command("UNLINK", keys.spans(generation))
                await self._writes.command("ZREM", keys.generations, generation)

    async def standings(self, pool: str, generation: int) -> AsyncIterator[dict[Entrant, bytes]]:
        """All standings of a generation, some at a time, each at least once."""
        cursor = b"0"
        while True:
            key = self._keys.pool(pool).standings(generation)
            cursor, found = await self._reads.command("HSCAN", key, cursor, "COUNT", _BATCH)
            yield {Entrant(entrant.decode()): standing for entrant, standing in pairs(found)}
            if int(cursor) == 0:
                return

    async def standings_of(self, pool: str, generation: int, entrants: Sequence[Entrant]) -> dict[Entrant, bytes]:
        """Standings of some entrants."""
        if not entrants:
            return {}
        reply = await self._reads.command("HMGET", self._keys.pool(pool).standings(generation), *entrants)
        return {entrant: found for entrant, found in zip(entrants, reply, strict=True) if found is not None}

    async def board(self, pool: str, generation: int, span: str) -> dict[Entrant, int]:
        """All scores of a board. By a cursor, since lines change places while it is read."""
        found, cursor = dict[Entrant, int](), b"0"
        key = self._keys.pool(pool).board(generation, span)
        while True:
            cursor, page = await self._reads.command("ZSCAN", key, cursor, "COUNT", 4 * _BATCH)
            found |= {Entrant(entrant.decode()): int(float(score)) for entrant, score in pairs(page)}
            if int(cursor) == 0:
                return found


def _batches(parts: Iterable[Arg], size: int) -> Iterator[list[Arg]]:
    left = iter(parts)
    while batch := list(islice(left, size)):
        yield batch
