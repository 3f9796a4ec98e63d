"""Boards of a rating pool: who has how many wins in how many matches of a span of time, and at which place."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from services.store import scripts
from services.store.batcher import Pipelines
from services.store.keys import Entrant

WIN: Final = 1 << 22
"""What a win weighs in a score beside a match: nobody has as many matches in one pool. See board.lua."""
ALL_TIME: Final = "all"


class BoardLine(NamedTuple):
    """One line of a board. Equal wins share the better place (1, 2, 2, 4); among these, fewer matches stand first, then
    the one who came to the pool first."""

    place: int
    entrant: Entrant
    wins: int
    matches: int


class BoardPage(NamedTuple):
    """Some lines of a board that has `size` of them."""

    size: int
    lines: list[BoardLine]


def change_of(wins: int) -> int:
    """What one match adds to a score."""
    return 1 - wins * WIN


def wins_and_matches(score: int) -> tuple[int, int]:
    """What a score is made of."""
    wins = -(score // WIN)
    return wins, score + wins * WIN


class Boards:
    """Reads boards. All methods raise `StoreUnavailable` when Redis is away."""

    def __init__(self, pipelines: Pipelines) -> None:
        self._keys = pipelines.keys
        self._reads = pipelines.reads
        self._generations: dict[str, int] = {}

    async def page(self, pool: str, span: str, first: int, limit: int) -> BoardPage:
        """Lines of a board from a position on, 0 being the best. A board that is not there is empty."""
        reply = await self._read(pool, span, ("", first, limit))
        assert reply is not None
        return _page(reply)

    async def around(self, pool: str, span: str, entrant: Entrant, neighbours: int) -> BoardPage | None:
        """The entrant's line with those next to it, at most `neighbours` each way; None if it is not on the board."""
        reply = await self._read(pool, span, (entrant, neighbours, neighbours))
        return None if reply is None else _page(reply)

    async def spans(self, pool: str) -> list[str]:
        """Every span that there may be a board of."""
        keys = self._keys.pool(pool)
        generation = int(await self._reads.command("HGET", keys.head, "generation") or 0)
        return sorted(span.decode() for span in await self._reads.command("SMEMBERS", keys.spans(generation)))

    async def _read(self, pool: str, span: str, asked: tuple[str | int, ...]) -> Any:
        keys = self._keys.pool(pool)
        while True:
            cached = self._generations.get(pool, 0)
            reply = await self._reads.script(scripts.BOARD, (keys.head, keys.board(cached, span)), (cached, *asked))
            if reply is None or reply[0] != -1:
                return reply
            self._generations[pool] = reply[1]


def _page(reply: Iterable[Any]) -> BoardPage:
    size, *flat = reply
    lines = [
        BoardLine(int(place), Entrant(entrant.decode()), *wins_and_matches(int(float(score))))
        for entrant, score, place in zip(flat[::3], flat[1::3], flat[2::3], strict=True)
    ]
    return BoardPage(int(size), lines)
