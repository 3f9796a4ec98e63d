"""Compares what a pool stores with what its ledger gives when it is replayed. They must be equal, to the last bit of a
rating, at any time at which no void waits to be computed in."""

from __future__ import annotations

import asyncio
import time
from typing import Final, NamedTuple

from services.scoring.replay import Replay, UnknownVoid
from services.store.keys import Entrant
from services.store.ledgers import Ledgers
from services.store.rebuilds import Rebuilds

MOST_EXAMPLES: Final = 20
_BREATH: Final = 16


class Audit(NamedTuple):
    """What was found. `examples` name entrants by number."""

    entries: int
    compared: int
    differences: list[str]


class Auditor:
    """Reads only. Results may come in meanwhile."""

    def __init__(self, ledgers: Ledgers, rebuilds: Rebuilds) -> None:
        self._ledgers = ledgers
        self._rebuilds = rebuilds

    async def audit(self, pool: str) -> Audit:
        """Replay and compare."""
        while True:
            try:
                found = await self._try(pool)
            except UnknownVoid:
                continue
            if found is not None:
                return found

    async def _try(self, pool: str) -> Audit | None:
        """None if the pool was recomputed meanwhile."""
        replay = Replay(await self._ledgers.voids(pool))
        await self._replay(pool, replay)
        generation = (await self._ledgers.head(pool)).generation
        standings = await self._standings(pool, generation)
        boards = {span: await self._rebuilds.board(pool, generation, span) for span in replay.boards}
        while True:
            replay.touched()
            await self._replay(pool, replay)
            moved = replay.touched()
            for span in moved.lines:
                boards[span] = await self._rebuilds.board(pool, generation, span)
            entrants = sorted(moved.entrants)
            newer = await self._rebuilds.standings_of(pool, generation, entrants)
            for entrant in entrants:
                standings.pop(entrant, None)
            standings |= newer
            head = await self._ledgers.head(pool)
            if head.generation != generation:
                return None
            if head.position == replay.position:
                return _compared(replay, standings, boards)

    async def _replay(self, pool: str, replay: Replay) -> None:
        async for page in self._ledgers.entries(pool, replay.position):
            for number, entry in enumerate(page):
                replay.take(entry)
                if number % _BREATH == 0:
                    await asyncio.sleep(0)

    async def _standings(self, pool: str, generation: int) -> dict[Entrant, bytes]:
        found = dict[Entrant, bytes]()
        async for page in self._rebuilds.standings(pool, generation):
            found |= page
        return found


def _compared(replay: Replay, standings: dict[Entrant, bytes], boards: dict[str, dict[Entrant, int]]) -> Audit:
    differences = [
        f"standing of entrant {entrant}"
        for entrant in sorted(replay.standings.keys() | standings.keys())
        if replay.stored(entrant) != standings.get(entrant)
    ]
    compared = len(replay.standings.keys() | standings.keys())
    for span, expected in replay.boards.items():
        if 0 < replay.ends_ms[span] <= time.time() * 1000:  # forgotten by now
            continue
        compared += len(expected.keys() | boards[span].keys())
        differences += [
            f"line of entrant {entrant} on the board {span}"
            for entrant in sorted(expected.keys() | boards[span].keys())
            if expected.get(entrant) != boards[span].get(entrant)
        ]
    return Audit(replay.position, compared, differences)
