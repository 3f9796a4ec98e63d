"""Shows how the process gets on with Redis: connections in use, connections that broke, commands that wait."""

from __future__ import annotations

import asyncio
from typing import Final

from services.runtime import metrics
from services.store.assembly import Store
from services.store.connect import POOLS
from services.store.primaries import pool_use

LOOK_SECONDS: Final = 1.0


async def measure_store(store: Store) -> None:
    """Runs as long as the process."""
    broken = dict.fromkeys(POOLS, 0)
    while True:
        for pool, use in pool_use(store.primaries).items():
            breaks = use.breaks + (store.hub.breaks if pool == "pubsub" else 0)
            metrics.redis_connections_in_use.labels(pool).set(use.in_use)
            metrics.redis_connections_limit.labels(pool).set(use.limit)
            metrics.redis_reconnects.labels(pool).inc(
                max(0, breaks - broken[pool])
            )  # a primary that went took its own along
            broken[pool] = breaks
        metrics.redis_commands_waiting.set(store.pipelines.reads.waiting + store.pipelines.writes.waiting)
        await asyncio.sleep(LOOK_SECONDS)
