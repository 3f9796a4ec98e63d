"""New rooms are refused before Redis is full, so that running matches end."""

from __future__ import annotations

import asyncio
import contextlib

import pytest
from structlog.testing import capture_logs

from services.runtime.settings import Settings
from services.runtime.store_watch import StoreWatch
from services.store.assembly import Store
from services.store.connect import StoreSettings
from services.store.server_state import ServerState
from services.wire.errors import Refusal
from tests.e2e.eventually import eventually
from tests.servers import kinds, running


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


async def test_a_set_up_that_may_lose_rooms_is_warned_of_once() -> None:
    lone = state(1)
    weak = lone._replace(append_only=False, policy="allkeys-lru", replicas=1)
    async with Store(StoreSettings()) as store:
        watch = StoreWatch(Settings(), store)
        with capture_logs() as told:
            for _ in range(2):
                watch.take({"one:1": lone, "two:2": weak})
        assert {line["primary"] for line in told} == {"two:2"}
        first_words = [line["complaint"].split()[0] for line in told]
        assert first_words == ["maxmemory-policy", "appendonly", "min-replicas-to-write", "MAUMAU_REDIS_WAIT_REPLICAS"]
        with capture_logs() as told:
            good = lone._replace(replicas=1, needs_replicas=True)
            StoreWatch(Settings(redis_wait_replicas=1), store).take({"two:2": good})
        assert told == []


async def test_a_redis_that_may_not_be_asked_is_warned_of() -> None:
    with running(kinds()[0]) as server:
        with contextlib.closing(server.client()) as client:
            client.acl_setuser("default", enabled=True, nopass=True, categories=["+@all", "-@dangerous"], keys=["*"])
        async with Store(StoreSettings(url=server.url)) as store:
            with capture_logs() as told:
                watching = asyncio.create_task(StoreWatch(Settings(), store).watch())
                await eventually(lambda: bool(told), "it is told")
                watching.cancel()
    assert told[0]["log_level"] == "warning"
    assert told[0]["event"] == "redis cannot be asked whether it is set up to keep rooms"
