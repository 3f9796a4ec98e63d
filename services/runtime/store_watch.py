"""Keeps an eye on Redis: how full it is, and whether it is set up to keep what it is given.

At `redis_full_percent` of its memory new rooms and tickets are refused, so that running matches end. What is set up
wrongly is said once, at the start, in one warning each.
"""

from __future__ import annotations

import asyncio
from typing import Final

from services.runtime import metrics
from services.runtime.logs import log
from services.runtime.settings import Settings
from services.store.assembly import Store
from services.store.errors import StoreError
from services.store.server_state import ServerState, server_state
from services.wire.errors import refusal

LOOK_SECONDS: Final = 5.0


class StoreWatch:
    """What this process last saw of Redis."""

    def __init__(self, settings: Settings, store: Store) -> None:
        self._settings = settings
        self._store = store
        self._full = False
        self._complained = False

    def refuse_if_full(self) -> None:
        """Raises Refusal (SERVER_FULL) where something new would need memory that running matches need."""
        if self._full:
            raise refusal("SERVER_FULL", retry_after=LOOK_SECONDS)

    async def watch(self) -> None:
        """Runs as long as the process."""
        while True:
            try:
                self.take(await server_state(self._store.pipelines))
            except StoreError as error:
                log.info("the state of Redis is not known", error=str(error))
            await asyncio.sleep(LOOK_SECONDS)

    def take(self, state: ServerState) -> None:
        """Draws the conclusions from what Redis says of itself."""
        metrics.redis_memory_percent.labels("primary").set(round(state.fullness * 100, 1))
        full = state.fullness * 100 >= self._settings.redis_full_percent
        if full != self._full:
            log.warning("redis memory", full=full, percent=round(state.fullness * 100, 1))
        self._full = full
        for complaint in state.complaints() if not self._complained else ():
            log.warning("redis is not set up to keep rooms", complaint=complaint)
        self._complained = True
