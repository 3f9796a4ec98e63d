"""Who seems to be away when an outage of ours is over: streams could not say meanwhile that they are there."""

from __future__ import annotations

import contextlib
import time

import pytest

from services.game_authority.live_room import LiveRoom, Newest
from services.game_authority.presence import Presence
from services.rules import engine
from services.rules.room.codec import decode, encode
from services.rules.room.settings import ServerTimes
from services.store.assembly import Store
from services.store.connect import StoreSettings
from services.store.keys import ProcessId, RoomId
from services.store.records import Head
from tests.rules.rooms import Stage
from tests.servers import Server
from tests.store.making import extended, made, pass_time, silence, turn

GRACE_MS = 10_000


async def live_room(store: Store, room: RoomId) -> LiveRoom:
    snapshot = await store.rooms.read(room)
    assert snapshot is not None
    return LiveRoom(room, Newest(decode(snapshot.state), snapshot.head, snapshot.clock), time.monotonic())


async def credited(store: Store, room: RoomId, head: Head, state: bytes) -> None:
    """The outage that the sweep found is given back."""
    assert (await store.sweep.sweep()).outages
    await extended(store.rooms, room, head, state=state)


@pytest.mark.parametrize(
    ("outage_ms", "since_ms", "waits"), [(30_000, 0, True), (30_000, 60_000, False), (0, 0, False)]
)
async def test_nobody_is_taken_for_away_for_not_having_been_heard_in_an_outage(
    redis_server: Server, outage_ms: int, since_ms: int, waits: bool
) -> None:
    async with Store(StoreSettings(url=redis_server.url, prefix=f"away{outage_ms}{since_ms}")) as store:
        stage = Stage().start()
        room, state = RoomId(stage.now.id), encode(stage.now)
        first = await made(store.rooms, room, turn(30_000, banks=(60_000,) * 3), state=state)
        with contextlib.closing(redis_server.client()) as raw:
            if outage_ms:
                silence(raw, store.pipelines.keys, room, outage_ms)
                await credited(store, room, first.head, state)
                pass_time(raw, store.pipelines.keys, room, since_ms)
        live = await live_room(store, room)
        (seat,) = engine.must_act(stage.match.state)
        put_off = await Presence(store, ProcessId("p"), GRACE_MS, 30_000).put_off(live, seat, ServerTimes())
        assert (put_off is not None) == waits
        if put_off is not None:
            assert put_off.left_ms >= GRACE_MS
