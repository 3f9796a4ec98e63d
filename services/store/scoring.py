"""Results of matches: counted once each, with the sums, histories and boards that follow from them.

A rating pool is one hash tag, so that one script does all of this or nothing. Its ledger keeps every result in the
order in which they were counted. Records and ledger entries are opaque bytes here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

import msgspec

from services.store import scripts
from services.store.batcher import Pipelines
from services.store.keys import PlayerId, PoolKeys
from services.store.players import DAY_MS

_encode = msgspec.msgpack.Encoder().encode


class Share(NamedTuple):
    """What one person gets from a match. Without `sums` it only enters the person's history."""

    player: PlayerId
    name: str
    wins: int | None
    """What is added on the board; 0 puts the person on it; None leaves the board alone."""
    sums: Mapping[str, int]
    """What is added to the totals, by field."""


class Result(NamedTuple):
    """A match that ended."""

    match: str
    pool: str
    digest: bytes
    """Equal for reports of the same result, and only for those."""
    record: bytes
    ledger_entry: bytes
    ended_ms: int
    shares: tuple[Share, ...]


class Applied(NamedTuple):
    """The result counts. `position` is its place in the ledger, from 1; `repeated`: it counted already."""

    position: int
    repeated: bool


class Conflicting(NamedTuple):
    """The match has another result already, and that one stands."""

    pool: str


class MatchEntry(NamedTuple):
    """One match of a history. Newer ones are greater."""

    ended_ms: int
    match: str


class BoardLine(NamedTuple):
    """One line of a board. Equal scores share the better place (1, 2, 2, 4) and stand in the order of their ids."""

    place: int
    player: PlayerId
    wins: int


class BoardPage(NamedTuple):
    """Some lines of a board that has `size` of them."""

    size: int
    lines: list[BoardLine]


_APPLIED: Final = 0
_CONFLICT: Final = 2


class ScoringStore:
    """All methods raise `StoreUnavailable` when Redis is away; every write may simply be sent again."""

    def __init__(self, pipelines: Pipelines, history_days: int) -> None:
        self._keys = pipelines.keys
        self._reads = pipelines.reads
        self._writes = pipelines.writes
        self._lifetime_ms = history_days * DAY_MS

    async def apply(self, result: Result) -> Applied | Conflicting:
        """Count a result, unless its match has one."""
        keys = self._keys.pool(result.pool)
        pool = await self._pool_for(result)
        if pool != result.pool:
            return Conflicting(pool)
        kind, position = await self._apply_in_pool(keys, result)
        return Conflicting(pool) if kind == _CONFLICT else Applied(position, repeated=kind != _APPLIED)

    async def _pool_for(self, result: Result) -> str:
        """The pool that the match belongs to: the one of its first report."""
        key = self._keys.match_pool(result.match)
        first = await self._writes.command("SET", key, result.pool, "NX", "GET", "PX", self._lifetime_ms)
        return result.pool if first is None else first.decode()

    async def _apply_in_pool(self, keys: PoolKeys, result: Result) -> tuple[int, int]:
        people = [
            (share.player, share.name, -1 if share.wins is None else share.wins, _flat(share.sums))
            for share in result.shares
        ]
        kind, position = await self._writes.script(
            scripts.APPLY_RESULT,
            (
                *(keys.match(result.match), keys.applied, keys.ledger, keys.board),
                *(key for share in result.shares for key in (keys.totals(share.player), keys.history(share.player))),
            ),
            (
                *(result.match, result.digest, result.record, result.ledger_entry),
                *(result.ended_ms, self._lifetime_ms, result.ended_ms - self._lifetime_ms, _encode(people)),
            ),
        )
        return kind, position

    async def pool_of(self, match: str) -> str | None:
        """The rating pool of a match; None if nobody reported it."""
        pool = await self._reads.command("GET", self._keys.match_pool(match))
        return None if pool is None else pool.decode()

    async def record(self, match: str) -> bytes | None:
        """The record of a match; None if it is unknown or was forgotten."""
        pool = await self.pool_of(match)
        return None if pool is None else await self.record_in(pool, match)

    async def record_in(self, pool: str, match: str) -> bytes | None:
        """The record of a match of this pool; None if it is unknown there or was forgotten."""
        record: bytes | None = await self._reads.command("HGET", self._keys.pool(pool).match(match), "record")
        return record

    async def history(
        self, pool: str, player: PlayerId, before: MatchEntry | None = None, limit: int = 20
    ) -> list[MatchEntry]:
        """Matches of a player that are older than `before`, newest first, at most `limit`."""
        newest = "+inf" if before is None else before.ended_ms
        offset, found = 0, list[MatchEntry]()
        while len(found) < limit:
            page = await self._history_page(pool, player, newest, offset, limit)
            found += [entry for entry in page if before is None or entry < before]
            offset += len(page)
            if len(page) < limit:
                break
        return found[:limit]

    async def _history_page(
        self, pool: str, player: PlayerId, newest: str | int, offset: int, limit: int
    ) -> list[MatchEntry]:
        key = self._keys.pool(pool).history(player)
        reply = await self._reads.command(
            "ZRANGE", key, newest, "-inf", "BYSCORE", "REV", "LIMIT", offset, limit, "WITHSCORES"
        )
        return [MatchEntry(int(ended), match.decode()) for match, ended in _pairs(reply)]

    async def totals(self, pool: str, player: PlayerId) -> dict[str, int]:
        """The sums over a player's matches, by field; empty for one who has none."""
        reply = await self._reads.command("HGETALL", self._keys.pool(pool).totals(player))
        fields = {field.decode(): value for field, value in _pairs(reply)}
        return {field: int(value) for field, value in fields.items() if field != "name"}

    async def names_and_matches(self, pool: str, players: Iterable[PlayerId]) -> list[tuple[str, int]]:
        """The last known name and the number of matches of each player."""
        keys = self._keys.pool(pool)
        replies = await asyncio.gather(
            *(self._reads.command("HMGET", keys.totals(player), "name", "matches") for player in players)
        )
        return [((name or b"").decode(), int(matches or 0)) for name, matches in replies]

    async def board(self, pool: str, first: int, limit: int) -> BoardPage:
        """Lines of the board from a position on, 0 being the best."""
        return _board_page(await self._reads.script(scripts.BOARD, (self._keys.pool(pool).board,), ("", first, limit)))

    async def around(self, pool: str, player: PlayerId, neighbours: int) -> BoardPage | None:
        """The player's line with those next to it, at most `neighbours` each way; None if it is not on the board."""
        key = self._keys.pool(pool).board
        reply = await self._reads.script(scripts.BOARD, (key,), (player, neighbours, neighbours))
        return None if reply is None else _board_page(reply)


def _flat(sums: Mapping[str, int]) -> list[str | int]:
    return [part for pair in sums.items() for part in pair]


def _pairs(reply: list[bytes] | dict[bytes, bytes]) -> Iterable[tuple[bytes, bytes]]:
    return reply.items() if isinstance(reply, dict) else zip(reply[::2], reply[1::2], strict=True)


def _board_page(reply: list[bytes | int]) -> BoardPage:
    size, *flat = reply
    lines = [
        BoardLine(int(place), PlayerId(bytes(player).decode()), -int(float(score)))
        for player, score, place in zip(flat[::3], flat[1::3], flat[2::3], strict=True)
    ]
    return BoardPage(int(size), lines)
