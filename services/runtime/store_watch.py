"""Keeps an eye on Redis: how full it is, and whether it is set up to keep what it is given.

At `redis_full_percent` of its memory new guests, rooms and tickets are refused, so that running matches end. What is
set up wrongly is said once, at the start, in one warning each; likewise where Redis does not let us ask.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final

from services.runtime import metrics
from services.runtime.logs import log
from services.runtime.settings import Settings, variable
from services.store.assembly import Store
from services.store.errors import StoreError, StoreUnavailable
from services.store.server_state import ServerState, server_states
from services.wire.errors import refusal

LOOK_SECONDS: Final = 5.0


class StoreWatch:
    """What this process last saw of Redis."""

    def __init__(self, settings: Settings, store: Store) -> None:
        self._settings = settings
        self._store = store
        self._full = False
        self._told: set[str] = set()

    def refuse_if_full(self) -> None:
        """Raises Refusal (SERVER_FULL) where something new would need memory that running matches need."""
        if self._full:
            raise refusal("SERVER_FULL", retry_after=LOOK_SECONDS)

    async def watch(self) -> None:
        """Runs as long as the process."""
        while True:
            try:
                self.take(await server_states(self._store.pipelines))
            except StoreUnavailable as error:
                log.info("the state of Redis is not known", error=str(error))
            except StoreError as error:
                self._tell("redis cannot be asked whether it is set up to keep rooms", error=str(error))
            await asyncio.sleep(LOOK_SECONDS)

    def take(self, states: Mapping[str, ServerState]) -> None:
        """Draws the conclusions from what each primary says of itself."""
        for name, state in states.items():
            metrics.redis_memory_percent.labels(name).set(round(state.fullness * 100, 1))
            for complaint in state.complaints():
                self._tell("redis is not set up to keep rooms", primary=name, complaint=complaint)
            if state.replicas and not self._settings.redis_wait_replicas:
                self._tell(
                    "redis is not set up to keep rooms",
                    primary=name,
                    complaint=f"{variable('redis_wait_replicas')} is 0 although there are replicas: what was accepted "
                    "last may be lost when one of them takes over; set it to 1",
                )
        fullest = max((state.fullness for state in states.values()), default=0.0) * 100
        full = fullest >= self._settings.redis_full_percent
        if full != self._full:
            log.warning("redis memory", full=full, percent=round(fullest, 1))
        self._full = full

    def _tell(self, what: str, **about: str) -> None:
        """One warning each, not one at every look."""
        told = f"{what} {about}"
        if told not in self._told:
            self._told.add(told)
            log.warning(what, **about)
