"""What `check` says of Redis or Valkey: whether it is there, set up to keep what it is given, and quick."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from typing import Final

from services.maumauctl.finding import FAULT, OK, WARNING, Finding
from services.runtime.settings import Settings, variable
from services.runtime.stores import can_write
from services.store.assembly import Store
from services.store.errors import StoreError
from services.store.hub import Heard
from services.store.keys import RoomId
from services.store.records import Aside
from services.store.server_state import OLDEST_VERSION, ServerState, server_states

PINGS: Final = 20
SLOW_MS: Final = 5.0
HOPELESS_MS: Final = 100.0
HEARD_SECONDS: Final = 2.0
NOBODYS_ROOM: Final = RoomId("maumauctl-check")


async def check_redis(store: Store, settings: Settings) -> AsyncIterator[Finding]:
    """Finding by finding; what cannot be asked where Redis is away is left out."""
    try:
        states = await server_states(store.pipelines)
    except StoreError as error:
        right = f"a Redis 7.0 or newer, or Valkey, at {variable('redis_url')}, with a user who may use INFO"
        yield Finding("reachable", FAULT, str(error), right)
        return
    for name, state in states.items():
        # Of several primaries each finding names its own.
        which = f" {name}" if len(states) > 1 else ""
        for finding in _of_primary(state, settings):
            yield finding._replace(subject=finding.subject + which)
    yield await _latency(store)
    yield await _writes(store, settings)
    yield await _channel(store)


def _of_primary(state: ServerState, settings: Settings) -> Iterator[Finding]:
    yield Finding("reachable", OK, f"as {state.role}")
    yield from _of_state(state)
    yield _replicas(state, settings)


def _of_state(state: ServerState) -> Iterator[Finding]:
    version = ".".join(map(str, state.version))
    new_enough = state.version >= OLDEST_VERSION
    yield Finding("version", OK, version) if new_enough else Finding("version", FAULT, version, "7.0 or newer")
    is_primary = state.role == "master"
    yield Finding("role", OK, "primary") if is_primary else Finding("role", FAULT, state.role, "the primary")
    yield (
        Finding("appendonly", OK, "yes")
        if state.append_only
        else Finding("appendonly", FAULT, "no: a restart loses accepted actions", "appendonly yes")
    )
    yield (
        Finding("maxmemory-policy", OK, state.policy)
        if state.policy == "noeviction"
        else Finding("maxmemory-policy", FAULT, f"{state.policy}: rooms may vanish", "noeviction")
    )
    if not state.limit_bytes:
        found = "no limit: the machine's memory ends first, and new rooms are never refused"
        yield Finding("maxmemory", WARNING, found, "about three quarters of the machine's memory")
    elif state.fullness >= 0.75:
        yield Finding("maxmemory", WARNING, f"{state.fullness:.0%} used", "below 75 %; new rooms end at 90 %")
    else:
        yield Finding("maxmemory", OK, f"{state.limit_bytes >> 20} MiB, {state.fullness:.0%} used")


def _replicas(state: ServerState, settings: Settings) -> Finding:
    """Replicas that confirm commits have to be there, and a primary without them should not take writes."""
    found = f"{'set' if state.needs_replicas else '0'}, with {state.replicas} replicas connected"
    wanted = max(int(state.needs_replicas), settings.redis_wait_replicas)
    if state.replicas < wanted:
        right = f"at least {wanted} replicas: {variable('redis_wait_replicas')} is {settings.redis_wait_replicas}"
        return Finding("min-replicas-to-write", FAULT, found, right)
    if state.replicas and not state.needs_replicas:
        return Finding("min-replicas-to-write", WARNING, found, "1: a primary that was cut off takes no more writes")
    return Finding("min-replicas-to-write", OK, found)


async def _latency(store: Store) -> Finding:
    took = []
    for _ in range(PINGS):
        began = time.perf_counter()
        await store.pipelines.reads.of_each("PING")
        took.append((time.perf_counter() - began) * 1000)
    median, worst = sorted(took)[PINGS // 2], max(took)
    found = f"{median:.1f} ms, the longest of {PINGS} {worst:.1f} ms"
    if median > HOPELESS_MS:
        return Finding("latency", FAULT, found, f"below {SLOW_MS:g} ms: Redis in the same zone as the services")
    if median > SLOW_MS:
        return Finding("latency", WARNING, found, f"below {SLOW_MS:g} ms: Redis in the same zone as the services")
    return Finding("latency", OK, found)


async def _writes(store: Store, settings: Settings) -> Finding:
    prefix = f"prefix {settings.redis_prefix}"
    try:
        written = await can_write(store)
        await store.fleet.running()  # a script
    except StoreError as error:
        right = f"a primary whose user may write keys `{settings.redis_prefix}:*` and run scripts (EVALSHA, EVAL)"
        return Finding(prefix, FAULT, str(error), right)
    right = "a primary that takes writes"
    return Finding(prefix, OK, "written") if written else Finding(prefix, FAULT, "not written", right)


async def _channel(store: Store) -> Finding:
    """One word through a channel, there and back."""
    heard = asyncio.Event()

    def listen(message: Heard) -> None:
        if isinstance(message, Aside):
            heard.set()

    try:
        subscription = await store.hub.subscribe(NOBODYS_ROOM, listen)
        try:
            await store.rooms.say(NOBODYS_ROOM, b"check")
            await asyncio.wait_for(heard.wait(), HEARD_SECONDS)
        finally:
            subscription.close()
    except (StoreError, TimeoutError) as error:
        right = "a user who may use SSUBSCRIBE and SPUBLISH on the prefix's channels"
        return Finding("pub/sub", FAULT, str(error) or f"nothing heard within {HEARD_SECONDS:g} s", right)
    return Finding("pub/sub", OK, "heard")
