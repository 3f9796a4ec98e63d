"""Who is there: streams in rooms, processes in the fleet."""

from __future__ import annotations

import asyncio
from typing import Any

import redis

from services.store.assembly import Store
from services.store.keys import PlayerId, ProcessId, RoomId, StreamId
from services.store.presence import Entry
from tests.store.conftest import MakeStore
from tests.store.making import new_room


def entry(player: str = "anna", stream: str = "s1", process: str = "p1") -> Entry:
    return Entry(PlayerId(player), StreamId(stream), ProcessId(process))


def expire(raw: redis.Redis, store: Store, room: RoomId, ms: int) -> None:
    """As if `ms` had passed since the last renewal."""
    key = store.pipelines.keys.room(room).presence
    members: Any = raw.zrange(key, 0, -1, withscores=True)
    raw.zadd(key, {member: score - ms for member, score in members})


async def test_a_stream_is_there_from_entering_to_leaving(store: Store) -> None:
    room = new_room()
    assert await store.presence.enter(room, entry())
    assert await store.presence.enter(room, entry("bela", "s2", "p2"))
    assert not await store.presence.enter(room, entry())
    assert set(await store.presence.entries(room)) == {entry(), entry("bela", "s2", "p2")}
    await store.presence.leave(room, entry())
    assert await store.presence.entries(room) == [entry("bela", "s2", "p2")]


async def test_two_streams_of_one_player_leave_one_by_one(store: Store) -> None:
    room = new_room()
    await store.presence.enter(room, entry(stream="phone"))
    await store.presence.enter(room, entry(stream="laptop"))
    await store.presence.leave(room, entry(stream="phone"))
    assert await store.presence.entries(room) == [entry(stream="laptop")]


async def test_an_entry_that_is_not_renewed_is_gone_after_25_s(store: Store, raw: redis.Redis) -> None:
    room = new_room()
    await store.presence.enter(room, entry())
    await store.presence.enter(room, entry("bela"))
    expire(raw, store, room, 20_000)
    await store.presence.enter(room, entry("bela"))
    assert len(await store.presence.entries(room)) == 2
    expire(raw, store, room, 6_000)
    assert await store.presence.entries(room) == [entry("bela")]
    assert 0 < raw.pttl(store.pipelines.keys.room(room).presence) <= 25_000


async def test_how_long_an_entry_lives_is_a_setting(make_store: MakeStore, raw: redis.Redis) -> None:
    store = make_store(presence_ms=90_000)
    room = new_room()
    await store.presence.enter(room, entry())
    expire(raw, store, room, 80_000)
    assert await store.presence.entries(room) == [entry()]


async def test_the_entries_of_a_killed_process_do_not_count(make_store: MakeStore, raw: redis.Redis) -> None:
    store = make_store()
    room = new_room()
    await store.presence.enter(room, entry(process="killed"))
    await store.presence.enter(room, entry("bela", process="alive"))
    await store.fleet.announce(ProcessId("killed"), b"")
    raw.zincrby(store.pipelines.keys.pulses, -3_500, "killed")
    await store.fleet.announce(ProcessId("alive"), b"")
    running = await store.fleet.running()
    assert await store.presence.entries(room, running) == [entry("bela", process="alive")]
    assert len(await store.presence.entries(room)) == 2


async def test_a_leave_is_not_overtaken_by_the_renewal_before_it(make_store: MakeStore) -> None:
    store = make_store(commands_per_batch=1, batches=8)
    room = new_room()
    await asyncio.gather(
        *(
            call
            for _ in range(20)
            for call in (store.presence.enter(room, entry()), store.presence.leave(room, entry()))
        )
    )
    assert await store.presence.entries(room) == []


async def test_the_fleet_knows_what_each_running_process_announced(store: Store, raw: redis.Redis) -> None:
    first = await store.fleet.announce(ProcessId("one"), b"schema 1")
    assert await store.fleet.announce(ProcessId("two"), b"schema 1 and 2") >= first
    assert await store.fleet.running() == {"one": b"schema 1", "two": b"schema 1 and 2"}
    raw.zincrby(store.pipelines.keys.pulses, -20_000, "one")
    assert await store.fleet.running() == {"two": b"schema 1 and 2"}
    assert set(await store.fleet.running(within_ms=30_000)) == {"one", "two"}
    await store.fleet.leave(ProcessId("two"))
    assert await store.fleet.running() == {}


async def test_a_process_long_silent_is_forgotten(store: Store, raw: redis.Redis) -> None:
    await store.fleet.announce(ProcessId("old"), b"x")
    raw.zincrby(store.pipelines.keys.pulses, -700_000, "old")
    await store.fleet.announce(ProcessId("new"), b"y")
    assert raw.hkeys(store.pipelines.keys.about) == [b"new"]
    assert raw.zrange(store.pipelines.keys.pulses, 0, -1) == [b"new"]
