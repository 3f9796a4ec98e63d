"""Results of matches: counted once each, with the histories, standings and boards that follow from them.

A rating pool is one hash tag, so that one script does all of this or nothing. Its ledger keeps every result in the
order in which they were counted. Records, standings and ledger bodies are opaque bytes here.

A caller looks at the standings of the players (`enlist`), computes what they become, and offers that (`append`). Where
one of them, the season or the generation has moved in between, the offer is `Moved` and the caller begins again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from services.store import scripts
from services.store.batcher import Pipelines
from services.store.keys import Entrant, PlayerId, PoolKeys
from services.store.players import DAY_MS

_encode = msgspec.msgpack.Encoder().encode


class Known(NamedTuple):
    """What a player is in a pool. `standing` is empty for one who has none yet."""

    entrant: Entrant
    standing: bytes


class Present(NamedTuple):
    """A pool as it was looked at. A stranger's place in `known` is None."""

    generation: int
    season: str
    known: tuple[Known | None, ...]


class Share(NamedTuple):
    """What one person gets from a match."""

    entrant: Entrant
    player: PlayerId
    name: str
    before: bytes
    after: bytes
    change: int
    """What is added to the score on each board; 0 leaves the boards alone."""


class Result(NamedTuple):
    """A match that ended, and what follows from it if nothing has moved since `season` and `generation` were read."""

    match: str
    pool: str
    digest: bytes
    """Equal for reports of the same result, and only for those."""
    record: bytes
    body: bytes
    """What the ledger keeps."""
    ended_ms: int
    generation: int
    season: str
    spans: tuple[tuple[str, int], ...]
    """The boards it counts on, each with the ms at which it is forgotten, or 0."""
    shares: tuple[Share, ...]


class Claim(NamedTuple):
    """The pool of a match. `first`: nobody had reported it."""

    pool: str
    first: bool


class Applied(NamedTuple):
    """The result counts. `position` is its place in the ledger, from 1; `repeated`: it counted already."""

    position: int
    repeated: bool


class Conflicting(NamedTuple):
    """The match has another result already, and that one stands."""

    pool: str


class Moved(NamedTuple):
    """What the result was computed from has changed: nothing was written."""


class MatchEntry(NamedTuple):
    """One match of a history. Newer ones are greater."""

    ended_ms: int
    match: str


class Record(NamedTuple):
    """A stored match."""

    content: bytes
    voided: bool


_APPLIED, _REPEATED, _CONFLICT, _MOVED = range(4)


class ScoringStore:
    """All methods raise `StoreUnavailable` when Redis is away; every write may simply be sent again."""

    def __init__(self, pipelines: Pipelines, history_days: int) -> None:
        self._keys = pipelines.keys
        self._reads = pipelines.reads
        self._writes = pipelines.writes
        self._waits = pipelines.waits
        self._lifetime_ms = history_days * DAY_MS
        self._generations: dict[str, int] = {}

    async def claim(self, match: str, pool: str) -> Claim:
        """The pool that a match belongs to: the one of its first report."""
        self._keys.pool(pool)
        key = self._keys.match_pool(match)
        first = await self._writes.command("SET", key, pool, "NX", "GET", "PX", self._lifetime_ms)
        return Claim(pool, first=True) if first is None else Claim(first.decode(), first=False)

    async def counted(self, pool: str, match: str, digest: bytes) -> Applied | Conflicting | None:
        """What became of the match already; None if it does not count yet."""
        key = self._keys.pool(pool).match(match)
        known, position = await self._reads.command("HMGET", key, "digest", "index")
        if known is None:
            return None
        if self._waits:  # no replica may have confirmed it: a write of ours makes WAIT be about it, too
            await self._writes.command("PEXPIRE", key, self._lifetime_ms)
        return Applied(int(position), repeated=True) if known == digest else Conflicting(pool)

    async def enlist(self, pool: str, players: Sequence[PlayerId]) -> Present:
        """The players as they are in the pool; who is new to it becomes an entrant."""
        return await self._look(pool, players, enlist=True)

    async def look(self, pool: str, players: Sequence[PlayerId]) -> Present:
        """The players as they are in the pool."""
        return await self._look(pool, players, enlist=False)

    async def _look(self, pool: str, players: Sequence[PlayerId], *, enlist: bool) -> Present:
        keys = self._keys.pool(pool)
        batcher = self._writes if enlist else self._reads
        while True:
            cached = self._generations.get(pool, 0)
            generation, *reply = await batcher.script(
                scripts.ENLIST,
                (keys.head, keys.numbers, keys.entrants, keys.standings(cached)),
                (cached, int(enlist), *players),
            )
            self._generations[pool] = generation
            if reply:
                season, *flat = reply
                found = zip(flat[::2], flat[1::2], strict=True)
                known = (Known(Entrant(entrant.decode()), standing) if entrant else None for entrant, standing in found)
                return Present(generation, season.decode(), tuple(known))

    async def append(self, result: Result) -> Applied | Conflicting | Moved:
        """Count a result, unless its match has one."""
        keys = self._keys.pool(result.pool)
        kind, position = await self._writes.script(
            scripts.APPLY_RESULT, _keys_of(keys, result), self._arguments_of(result)
        )
        if kind == _MOVED:
            return Moved()
        return Conflicting(result.pool) if kind == _CONFLICT else Applied(position, repeated=kind == _REPEATED)

    def _arguments_of(self, result: Result) -> tuple[str | bytes | int, ...]:
        return (
            *(result.match, result.digest, result.record, result.body),
            *(result.ended_ms, self._lifetime_ms, result.ended_ms - self._lifetime_ms),
            *(result.generation, result.season, len(result.spans)),
            *(part for span in result.spans for part in span),
            *(part for share in result.shares for part in _arguments_of_share(share)),
        )

    async def pool_of(self, match: str) -> str | None:
        """The rating pool of a match; None if nobody reported it."""
        pool = await self._reads.command("GET", self._keys.match_pool(match))
        return None if pool is None else pool.decode()

    async def record(self, match: str) -> tuple[str, Record] | None:
        """The pool and the record of a match; None if it is unknown or was forgotten."""
        pool = await self.pool_of(match)
        found = None if pool is None else await self.record_in(pool, match)
        return None if pool is None or found is None else (pool, found)

    async def record_in(self, pool: str, match: str) -> Record | None:
        """The record of a match of this pool; None if it is unknown there or was forgotten."""
        key = self._keys.pool(pool).match(match)
        content, voided = await self._reads.command("HMGET", key, "record", "voided")
        return None if content is None else Record(content, voided is not None)

    async def history(
        self,
        pool: str,
        entrant: Entrant,
        before: MatchEntry | None = None,
        limit: int = 20,
        oldest_ms: int = 0,
    ) -> list[MatchEntry]:
        """Matches of an entrant that are older than `before` and ended at `oldest_ms` or later, newest first, at most
        `limit`."""
        newest = "+inf" if before is None else before.ended_ms
        offset, found = 0, list[MatchEntry]()
        while len(found) < limit:
            page = await self._history_page(pool, entrant, (newest, oldest_ms), offset, limit)
            found += [entry for entry in page if before is None or entry < before]
            offset += len(page)
            if len(page) < limit:
                break
        return found[:limit]

    async def _history_page(
        self, pool: str, entrant: Entrant, between: tuple[str | int, int], offset: int, limit: int
    ) -> list[MatchEntry]:
        key = self._keys.pool(pool).history(entrant)
        reply = await self._reads.command(
            "ZRANGE", key, *between, "BYSCORE", "REV", "LIMIT", offset, limit, "WITHSCORES"
        )
        return [MatchEntry(int(ended), match.decode()) for match, ended in pairs(reply)]

    async def entrants(self, pool: str, entrants: Iterable[Entrant]) -> dict[Entrant, tuple[PlayerId, str]]:
        """Id and last known name of entrants; forgotten ones are left out."""
        asked = list(dict.fromkeys(entrants))
        if not asked:
            return {}
        reply = await self._reads.command("HMGET", self._keys.pool(pool).entrants, *asked)
        return {entrant: about(packed) for entrant, packed in zip(asked, reply, strict=True) if packed is not None}


about: Final = msgspec.msgpack.Decoder(tuple[PlayerId, str]).decode
"""Id and name of an entrant, as they are stored."""


def _keys_of(keys: PoolKeys, result: Result) -> tuple[str, ...]:
    generation = result.generation
    return (
        *(keys.match(result.match), keys.head, keys.ledger, keys.entrants),
        *(keys.standings(generation), keys.spans(generation)),
        *(keys.board(generation, span) for span, _ in result.spans),
        *(keys.history(share.entrant) for share in result.shares),
    )


def _arguments_of_share(share: Share) -> tuple[str | bytes | int, ...]:
    return share.entrant, _encode((share.player, share.name)), share.before, share.after, share.change


def pairs(reply: list[bytes] | Mapping[bytes, bytes]) -> Iterable[tuple[bytes, bytes]]:
    """Fields and values, or members and scores, of a reply."""
    return reply.items() if isinstance(reply, Mapping) else zip(reply[::2], reply[1::2], strict=True)


async def in_all(store: ScoringStore, pools: Sequence[str], player: PlayerId) -> dict[str, Known]:
    """What a player is in each of the pools that know the player."""
    found = await asyncio.gather(*(store.look(pool, [player]) for pool in pools))
    return {pool: known for pool, present in zip(pools, found, strict=True) if (known := present.known[0])}
