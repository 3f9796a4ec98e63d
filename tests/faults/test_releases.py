"""Two releases side by side: both serve the same rooms, and no room is made that one of them does not understand."""

from __future__ import annotations

import asyncio
import contextlib
import copy
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import grpc
import maumau
import msgspec
import pytest
from maumau.v1 import authority_pb2_grpc

from services.local.plan import StackOptions
from services.local.stack import Stack
from services.runtime.routes import GAME_AUTHORITY
from services.store.assembly import Store
from services.store.connect import StoreSettings
from services.store.keys import RoomId
from services.store.records import Snapshot
from tests.e2e.calls import Duel, Guest, channel_to, reason_of, sign_in
from tests.e2e.lounge import choose, lounge, play, start
from tests.e2e.stacks import complaints, options
from tests.faults.newer_release import ASKS_NOBODY, NEWER
from tests.faults.scale import PATIENCE, count

pytestmark = PATIENCE

OLD, NEW = f"{GAME_AUTHORITY}-1", f"{GAME_AUTHORITY}-2"
MATCHES = count(6, 40, 200)
AT_ONCE = 6


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Any]:
    """Starts two authorities, the second of the next release."""

    def started(**environ: str) -> Stack:
        modules = {**StackOptions().modules, NEW: "tests.faults.newer_release"}
        return opened.enter_context(Stack(options(tmp_path, modules=modules, environ=environ)))

    with contextlib.ExitStack() as opened:
        yield started


@contextlib.asynccontextmanager
async def store_of(stack: Stack) -> AsyncIterator[Store]:
    async with Store(StoreSettings(url=stack.redis_url)) as store:
        yield store


async def stored(store: Store, room: str) -> Snapshot:
    snapshot = await store.rooms.read(RoomId(room))
    assert snapshot is not None
    return snapshot


def rooms_at(channel: grpc.aio.Channel) -> authority_pb2_grpc.GameAuthorityServiceStub:
    return authority_pb2_grpc.GameAuthorityServiceStub(channel)


def made_with(snapshot: Snapshot) -> tuple[int, int]:
    """Schema and revision, which stand first in every form."""
    schema, revision, *_ = msgspec.msgpack.decode(snapshot.state)
    return schema, revision


@pytest.mark.shows("P27")
async def test_processes_of_two_releases_serve_the_same_rooms_to_their_end(server: Any, promise: Any) -> None:
    stack = server()
    slots, ended, forms = asyncio.Semaphore(AT_ONCE), set[str](), set[tuple[int, int]]()
    old, new = stack.addresses(GAME_AUTHORITY)

    async def one() -> None:
        async with slots, channel_to(stack.address) as edge, channel_to(old) as to_old, channel_to(new) as to_new:
            table = await _table(edge)
            table.ana.rooms, table.bo.rooms = rooms_at(to_old), rooms_at(to_new)
            await table.start()
            ended.add(await play_out(table))
            forms.add(made_with(await stored(store, table.room)))

    async with store_of(stack) as store:
        await asyncio.gather(*(one() for _ in range(MATCHES)))
    assert len(ended) == MATCHES
    assert forms == {(1, 1)}
    assert complaints(stack) == []
    promise("P27", f"{MATCHES} of {MATCHES} matches end whose two people are served by two releases")


async def _table(edge: grpc.aio.Channel) -> Duel:
    """Two people at a table for one short match."""
    ana, bo = [await sign_in(edge, name) for name in ("Ana", "Bo")]
    room = await ana.create_room(2, target=20)
    await bo.join(room)
    return Duel(ana, bo, room)


async def play_out(table: Duel) -> str:
    """Both lay cards whenever they may, until the match is over; its id."""
    while True:
        for guest in (table.ana, table.bo):
            view = (await guest.get_room(table.room)).room
            if view.HasField("outcome"):
                return str(view.match_id)
            if view.legal.actions:
                await guest.act(table.room, choose(list(view.legal.actions)), view.version)


@pytest.mark.long
@pytest.mark.control("P27")
async def test_control_a_release_that_asks_nobody_makes_rooms_that_the_other_one_cannot_serve(
    server: Any, promise: Any
) -> None:
    stack = server(**{ASKS_NOBODY: "1"})
    old, new = stack.addresses(GAME_AUTHORITY)
    async with channel_to(stack.address) as edge, channel_to(old) as to_old, channel_to(new) as to_new:
        room, ana = await _room_of_the_newer(stack, edge, to_new)
        async with store_of(stack) as store:
            before = await stored(store, room)
            assert made_with(before) == (NEWER, NEWER)
            asking = copy.copy(ana)
            asking.rooms = rooms_at(to_old)
            for _ in range(2):
                assert await _refused(asking.get_room(room)) == "ROOM_NOT_UNDERSTOOD"
                assert await _refused(asking.act(room, maumau.actions.set_ready(True), 0)) == "ROOM_NOT_UNDERSTOOD"
            assert await _refused(_watched(asking, room)) == "ROOM_NOT_UNDERSTOOD"
            assert (await stored(store, room))[:3] == before[:3]
        await ana.act(room, maumau.actions.set_ready(True), 0)
        assert (await ana.get_room(room)).room.seats[0].ready
    assert complaints(stack) == []
    promise("P27", "a room made with the newest of one release is refused by the other, and left alone")


async def _room_of_the_newer(stack: Stack, edge: grpc.aio.Channel, to_new: grpc.aio.Channel) -> tuple[str, Guest]:
    """A room that the newer process made; matchmaking asks both in turn."""
    ana = await sign_in(edge, "Ana", rooms=to_new)
    async with store_of(stack) as store:
        while True:
            room = await ana.create_room(2)
            if made_with(await stored(store, room)) == (NEWER, NEWER):
                return room, ana


async def _refused(call: Any) -> str:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
    return reason_of(caught.value)[0]


async def _watched(guest: Guest, room: str) -> None:
    async for _ in guest.watch(room):
        return


@pytest.mark.long
async def test_once_all_are_of_the_next_release_new_rooms_are_too_and_old_ones_stay_as_they_were(server: Any) -> None:
    stack = server()
    async with lounge(stack.address) as hall, store_of(stack) as store:
        before = await hall.table("Ana", "Bo")
        assert made_with(await stored(store, before[0].id)) == (1, 1)
        stack[OLD].restart = False
        stack[OLD].kill(15)
        await asyncio.to_thread(stack[OLD].wait_ended, 20)
        after = await hall.table("Cid", "Dan")
        assert made_with(await stored(store, after[0].id)) == (NEWER, NEWER)
        for sides in (before, after):
            await start(sides)
            await play(sides)
        assert made_with(await stored(store, before[0].id)) == (1, 1)
        assert made_with(await stored(store, after[0].id)) == (NEWER, NEWER)
