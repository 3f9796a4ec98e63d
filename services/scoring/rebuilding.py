"""Recomputes a pool from its ledger after a result was taken back, while new results keep coming in.

The recomputed state is a new generation beside the present one. It is put in place when it holds every entry of the
ledger, so a result that comes in meanwhile is counted in the old generation and, once, in the new one. A process that
dies on the way leaves the old generation counting; `run` in this or another process sees that a void is not computed in
yet, and begins again.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from typing import Final

from services.runtime import metrics
from services.runtime.logs import log
from services.scoring.replay import Replay, UnknownVoid
from services.store.errors import StoreUnavailable
from services.store.ledgers import Ledgers
from services.store.rebuilds import BEHIND, LOST, Build, LeaseLost, Rebuilds

LOOK_SECONDS: Final = 5.0
"""Time between two looks for voids that nobody has computed in."""
_BREATH: Final = 16
"""Entries that are replayed before other tasks get a turn."""
_POLL_SECONDS: Final = 0.05


class Rebuilder:
    """Of all pools. `run` belongs in a task of its own."""

    def __init__(self, ledgers: Ledgers, rebuilds: Rebuilds, pools: Sequence[str]) -> None:
        self._ledgers = ledgers
        self._rebuilds = rebuilds
        self._pools = tuple(pools)
        self._wanted = asyncio.Event()

    async def run(self) -> None:
        """Recomputes what is due, at once when asked and every few seconds in any case; never returns."""
        while True:
            for pool in self._pools:
                await self._look_at(pool)
            try:
                async with asyncio.timeout(LOOK_SECONDS * random.uniform(0.8, 1.2)):
                    await self._wanted.wait()
            except TimeoutError:
                pass
            self._wanted.clear()

    async def _look_at(self, pool: str) -> None:
        """A pool that cannot be recomputed holds up no other."""
        try:
            await self.rebuild_if_due(pool)
        except StoreUnavailable:
            log.info("pool not looked at: the store is away", pool=pool)
        except Exception:
            log.exception("a pool was not recomputed", pool=pool)

    async def wait_computed(self, pool: str, position: int, seconds: float) -> bool:
        """Wakes `run` and waits until the void at this position is computed in, at most so long. Whether it is."""
        self._wanted.set()
        try:
            async with asyncio.timeout(seconds):
                while True:
                    if (await self._ledgers.head(pool)).built >= position:
                        return True
                    await asyncio.sleep(_POLL_SECONDS)
        except TimeoutError:
            return False

    async def rebuild_if_due(self, pool: str) -> bool:
        """Recompute the pool, if there is a void that is not computed in and nobody else is at it. Whether it was."""
        head = await self._ledgers.head(pool)
        return head.void > head.built and await self.rebuild(pool)

    async def rebuild(self, pool: str) -> bool:
        """Recompute the pool, unless somebody else is at it. Whether it was."""
        while (build := await self._rebuilds.begin(pool)) is not None:
            try:
                entries = await self._fill_and_swap(build)
            except UnknownVoid:  # another result was taken back meanwhile
                await self._rebuilds.end(build, keep=build.base)
                continue
            except LeaseLost:
                break
            # Whatever else goes wrong leaves the lease to run out: the swap may be on its way to Redis still.
            await self._rebuilds.end(build, keep=build.generation)
            metrics.recomputations.inc()
            log.info("pool recomputed", pool=pool, entries=entries)
            return True
        return False

    async def _fill_and_swap(self, build: Build) -> int:
        replay = Replay(await self._ledgers.voids(build.pool))
        while True:
            await self._replay(build, replay)
            await self._write(build, replay)
            answer = await self._rebuilds.swap(build, replay.position)
            if answer == LOST:
                raise LeaseLost
            if answer != BEHIND:
                return replay.position

    async def _replay(self, build: Build, replay: Replay) -> None:
        async for page in self._ledgers.entries(build.pool, replay.position):
            for number, entry in enumerate(page):
                replay.take(entry)
                if number % _BREATH == 0:
                    await asyncio.sleep(0)
            await self._rebuilds.hold(build)

    async def _write(self, build: Build, replay: Replay) -> None:
        touched = replay.touched()
        await self._rebuilds.write_standings(build, {entrant: replay.stored(entrant) for entrant in touched.entrants})
        for span, entrants in touched.lines.items():
            scores = {entrant: replay.boards[span].get(entrant) for entrant in entrants}
            await self._rebuilds.write_board(build, span, replay.ends_ms[span], scores)
