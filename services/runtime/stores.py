"""Opens the store with the settings of the process, and says what its failures mean to callers."""

from __future__ import annotations

from services.runtime.errors import Refused
from services.runtime.settings import Settings
from services.store.assembly import Store
from services.store.connect import StoreSettings
from services.store.errors import OutOfMemory, StoreUnavailable
from services.wire.errors import register


def open_store(settings: Settings) -> Store:
    """The store of this process. Nothing connects before it is used."""
    return Store(
        StoreSettings(
            url=settings.redis_url,
            prefix=settings.redis_prefix,
            command_connections=settings.redis_command_connections,
            blocking_connections=settings.redis_blocking_connections,
            pubsub_connections=settings.redis_pubsub_connections,
            connect_timeout_ms=_ms(settings.redis_connect_timeout_seconds),
            command_timeout_ms=_ms(settings.redis_command_timeout_seconds),
            replicas_to_wait=settings.redis_wait_replicas,
            presence_ms=_ms(settings.presence_seconds),
        )
    )


async def can_write(store: Store) -> bool:
    """Whether Redis takes a write now. Raises `StoreError` or answers false if it does not."""
    return bool(await store.pipelines.writes.command("SET", store.pipelines.keys.ready, 1, "PX", 60_000) == b"OK")


def _ms(seconds: float) -> int:
    return round(seconds * 1000)


register(StoreUnavailable, lambda error: Refused("OUTCOME_UNKNOWN" if error.maybe_applied else "STORE_UNAVAILABLE"))
register(OutOfMemory, lambda _: Refused("SERVER_FULL"))
