"""New rooms are refused before Redis is full, so that running matches end."""

from __future__ import annotations

import pytest

from services.runtime.settings import Settings
from services.runtime.store_watch import StoreWatch
from services.store.assembly import Store
from services.store.connect import StoreSettings
from services.store.server_state import ServerState
from services.wire.errors import Refusal


def state(used: int, *, limit: int = 1_000) -> ServerState:
    return ServerState((7, 0, 15), used, limit, "noeviction", append_only=True, role="master")


async def test_at_ninety_percent_of_its_memory_nothing_new_is_made_and_below_it_again_is() -> None:
    async with Store(StoreSettings()) as store:
        watch = StoreWatch(Settings(), store)
        watch.take({"primary": state(899)})
        watch.refuse_if_full()
        watch.take({"primary": state(900)})
        with pytest.raises(Refusal) as refused:
            watch.refuse_if_full()
        assert refused.value.reason == "SERVER_FULL"
        assert refused.value.retry_after
        watch.take({"primary": state(500)})
        watch.refuse_if_full()


async def test_a_redis_without_a_limit_is_never_full() -> None:
    async with Store(StoreSettings()) as store:
        watch = StoreWatch(Settings(), store)
        watch.take({"primary": state(10**12, limit=0)})
        watch.refuse_if_full()
