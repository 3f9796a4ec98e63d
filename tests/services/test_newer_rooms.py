"""Rooms of a newer release beside this one: who looks at all rooms looks past them."""

from __future__ import annotations

import pytest
from maumau.internal.v1 import operator_pb2 as pb

from services.game_authority.all_rooms import AllRooms
from services.game_authority.census import UNKNOWN, Census
from services.rules.room.codec import encode
from services.store.assembly import Store
from services.store.connect import StoreSettings
from services.store.keys import ProcessId, RoomId
from services.store.records import ClockChange, Origin, Pending
from tests.rules.rooms import Stage
from tests.servers import Server
from tests.store.making import made

NEWER_KIND = 99
"""What a room of next year waits for."""


@pytest.mark.parametrize("newer", [b"\x93\xcd\x03\xe7\x01\x01", b"not even a room"])
async def test_rooms_of_a_newer_release_are_left_out_of_the_list_and_counted(
    redis_server: Server, newer: bytes
) -> None:
    async with Store(StoreSettings(url=redis_server.url, prefix=f"newer{len(newer)}")) as store:
        process = ProcessId("p1")
        await store.fleet.announce(process, b"")
        room = Stage().now
        clock = ClockChange(pending=(Pending(1, Origin.NOW, 60_000),))
        later = ClockChange(pending=(Pending(NEWER_KIND, Origin.NOW, 60_000),))
        await made(store.rooms, RoomId(room.id), clock, state=encode(room))
        await made(store.rooms, RoomId("r_newer"), later, state=newer)
        listed = await AllRooms(store).page(pb.ListAllRoomsRequest())
        assert [line.room.room_id for line in listed.rooms] == [room.id]
        counted = await Census(store, process).count()
        assert sum(counted.values()) == 2
        assert sum(number for (state, _), number in counted.items() if state == UNKNOWN) == 1
