"""New rooms are refused before Redis is full, so that running matches end."""

from __future__ import annotations

import asyncio
import contextlib

import grpc
import pytest
from maumau.v1 import identity_pb2
from maumau.v1.identity_pb2_grpc import IdentityServiceStub
from structlog.testing import capture_logs

from services.runtime import store_watch
from services.runtime.settings import Settings
from services.runtime.store_watch import StoreWatch
from services.store.assembly import Store
from services.store.connect import StoreSettings
from services.store.server_state import ServerState
from services.wire.errors import Refusal
from tests.e2e.calls import reason_of
from tests.e2e.eventually import eventually
from tests.servers import kinds, running
from tests.services.rig import Rig, sign_in


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


async def test_nobody_becomes_a_new_guest_in_a_nearly_full_redis_and_those_there_are_stay(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A guest costs a stranger nothing and is kept for months: a flood of them took what running matches need."""
    seen = {"primary": state(500)}

    async def states(_: object) -> dict[str, ServerState]:
        return seen

    monkeypatch.setattr(store_watch, "server_states", states)
    monkeypatch.setattr(store_watch, "LOOK_SECONDS", 0.02)
    channel = await rig.matchmaking()
    ana = await sign_in(channel, "Ana")
    seen["primary"] = state(900)

    async def is_refused() -> bool:
        try:
            await sign_in(channel, "Bo")
        except grpc.aio.AioRpcError as error:
            return reason_of(error)[0] == "SERVER_FULL"
        return False

    await eventually(is_refused, "nobody new is taken")
    request = identity_pb2.RefreshSessionRequest(refresh_token=ana.refresh_token)
    assert (await IdentityServiceStub(channel).RefreshSession(request)).session.player_id == ana.id


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
