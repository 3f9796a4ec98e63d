"""What operators do to a rating pool: take results back, open and close seasons, forget players; and the ledger itself,
which keeps all of it in order."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Final, NamedTuple

import msgspec

from services.store import scripts
from services.store.batcher import Pipelines
from services.store.keys import Entrant, PlayerId

PAGE: Final = 500
"""Entries of the ledger that are read at once."""


class Entry(NamedTuple):
    """One entry of a ledger. Which fields there are depends on `kind`."""

    position: int
    kind: str
    """`result`, `void`, `open`, `close` or `forget`."""
    body: bytes = b""
    """result: what was counted."""
    voids: int = 0
    """void: index of the result that is taken back."""
    season: str = ""
    """open, close."""
    entrant: Entrant = Entrant("")
    """forget."""
    match: str = ""
    """result: whose it is."""


class Season(NamedTuple):
    """`closed_ms` is 0 while it runs."""

    season: str
    name: str
    opened_ms: int
    closed_ms: int


class Head(NamedTuple):
    """Where a pool stands: last entry of the ledger, generation, last void, and the last void that is computed in."""

    position: int
    generation: int
    void: int
    built: int


class SeasonAnswer(NamedTuple):
    """What became of opening or closing a season."""

    kind: int
    season: Season | None
    other: str = ""
    """ANOTHER: the season that runs, or the one asked for if it is over."""


DONE, REPEATED, ANOTHER, UNKNOWN = range(4)
"""Kinds of `SeasonAnswer`."""

_season: Final = msgspec.msgpack.Decoder(tuple[str, int, int]).decode


class Ledgers:
    """All methods raise `StoreUnavailable` when Redis is away; every write may simply be sent again."""

    def __init__(self, pipelines: Pipelines) -> None:
        self._keys = pipelines.keys
        self._reads = pipelines.reads
        self._writes = pipelines.writes

    async def head(self, pool: str) -> Head:
        """Where the pool stands."""
        fields = ("index", "generation", "void", "built")
        return Head(
            *(int(value or 0) for value in await self._reads.command("HMGET", self._keys.pool(pool).head, *fields))
        )

    async def entries(self, pool: str, after: int = 0) -> AsyncIterator[list[Entry]]:
        """The entries behind an index, a page at a time."""
        while True:
            reply = await self._reads.command("XRANGE", self._keys.pool(pool).ledger, f"({after}-0", "+", "COUNT", PAGE)
            if not reply:
                return
            page = [_entry(entry, fields) for entry, fields in reply]
            yield page
            after = page[-1].position

    async def voids(self, pool: str) -> set[int]:
        """Indexes of the results that were taken back."""
        return {int(index) for index in await self._reads.command("SMEMBERS", self._keys.pool(pool).voids)}

    async def void(self, pool: str, match: str) -> tuple[int, bool] | None:
        """Take a result back. The entry's index, and whether it had been taken back before; None for no match."""
        keys = self._keys.pool(pool)
        kind, index = await self._writes.script(
            scripts.VOID_MATCH, (keys.match(match), keys.head, keys.ledger, keys.voids), (match,)
        )
        return (index, kind == 2) if kind else None

    async def open_season(self, pool: str, season: str, name: str) -> SeasonAnswer:
        """REPEATED for the running one, ANOTHER where another runs or this one is over."""
        return await self._season(pool, ("open", season, name))

    async def close_season(self, pool: str, season: str) -> SeasonAnswer:
        """REPEATED for a closed one, UNKNOWN for none."""
        return await self._season(pool, ("close", season))

    async def _season(self, pool: str, words: tuple[str, ...]) -> SeasonAnswer:
        keys = self._keys.pool(pool)
        kind, stored = await self._writes.script(scripts.SEASON, (keys.head, keys.ledger, keys.seasons), words)
        if kind in (DONE, REPEATED):
            return SeasonAnswer(kind, Season(words[1], *_season(stored)))
        return SeasonAnswer(kind, None, stored.decode())

    async def seasons(self, pool: str) -> list[Season]:
        """All seasons, newest first."""
        reply = await self._reads.command("HGETALL", self._keys.pool(pool).seasons)
        found = reply.items() if isinstance(reply, dict) else zip(reply[::2], reply[1::2], strict=True)
        seasons = [Season(season.decode(), *_season(stored)) for season, stored in found]
        return sorted(seasons, key=lambda season: (season.opened_ms, season.season), reverse=True)

    async def running_season(self, pool: str) -> str:
        """Empty if none runs."""
        return (await self._reads.command("HGET", self._keys.pool(pool).head, "season") or b"").decode()

    async def forget(self, pool: str, player: PlayerId) -> bool:
        """The player is no longer known in the pool. False for one who was not."""
        keys = self._keys.pool(pool)
        while (entrant := await self._reads.command("HGET", keys.numbers, player)) is not None:
            number = Entrant(entrant.decode())
            generation = (await self.head(pool)).generation
            spans = [span.decode() for span in await self._reads.command("SMEMBERS", keys.spans(generation))]
            standing = await self._reads.command("HGET", keys.standings(generation), number) or b""
            done = await self._writes.script(
                scripts.FORGET_ENTRANT,
                (
                    *(keys.head, keys.ledger, keys.numbers, keys.entrants, keys.standings(generation)),
                    *(keys.history(number), *(keys.board(generation, span) for span in spans)),
                ),
                (player, number, generation, standing),
            )
            if done == 1:
                return True
        return False


def _entry(entry: bytes, flat: list[bytes]) -> Entry:
    fields = dict(zip(flat[::2], flat[1::2], strict=True))
    return Entry(
        position=int(entry.split(b"-")[0]),
        kind=fields[b"k"].decode(),
        body=fields.get(b"b", b""),
        voids=int(fields.get(b"i", 0)),
        season=fields.get(b"s", b"").decode(),
        entrant=Entrant(fields.get(b"e", b"").decode()),
        match=fields.get(b"m", b"").decode() if fields[b"k"] == b"result" else "",
    )
