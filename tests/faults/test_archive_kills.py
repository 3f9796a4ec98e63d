"""Kills while a match is handed to scoring: its log is archived before its room goes, or before the room's log goes on
without it, whoever dies on the way.

The controls confirm the result before the log is kept, as a relay would that only cares for results, and cut the log of
a room although an earlier match of it is not archived.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import maumau
import pytest
from maumau.v1 import room_pb2
from maumau.verify import verify

from services.local.plan import StackOptions
from services.local.stack import Stack
from services.runtime.routes import SCORING
from services.store.assembly import Store
from services.store.connect import StoreSettings
from services.store.keys import RoomId
from tests.e2e.eventually import eventually
from tests.e2e.lounge import Lounge, choose, lounge, sees, start
from tests.e2e.stacks import options, with_authority
from tests.faults.crashing import crash_environ, crashes_left
from tests.faults.scale import PATIENCE

pytestmark = PATIENCE


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Any]:
    with contextlib.ExitStack() as opened:
        yield lambda **changed: opened.enter_context(Stack(options(tmp_path, **changed)))


async def archived(store: Store) -> bool:
    return (await store.outbox.counts()).waiting == 0


async def kept_after_the_room(stack: Stack, hall: Lounge, store: Store, environ: dict[str, str] | None = None) -> bool:
    """Plays a match whose room is dropped as soon as it may be; whether its replay is there afterwards."""
    ana, bo = await hall.clients("Ana", "Bo")
    host = await hall.create(ana, seats=2)
    sides = [host, await hall.join(bo, host)]
    await start(sides)
    match = (await play_to_the_end(sides)).match_id
    head = await store.rooms.head(RoomId(host.id))
    assert head is not None
    await store.rooms.retire(RoomId(host.id), head, 0)
    if environ is not None:
        await eventually(lambda: crashes_left(environ) == 0, "a process has died")
        await asyncio.to_thread(stack.wait_ready)
    await eventually(lambda: archived(store), "nothing waits for scoring")
    await eventually(lambda: _is_gone(store, host.id), "the room is gone")
    with contextlib.suppress(maumau.Refused):
        return verify(await ana.replay(host.id, match)).holds
    return False


async def play_to_the_end(sides: list[maumau.Room]) -> room_pb2.RoomView:
    """The match, acted by whoever may, over unary calls' retries too: a process may die under it."""
    while not any(side.view.HasField("outcome") for side in sides):
        for side in sides:
            if side.legal and not side.view.HasField("outcome"):
                with contextlib.suppress(maumau.MaumauError):
                    await side.act(choose(side.legal))
        await asyncio.sleep(0)
    return next(side.view for side in sides if side.view.HasField("outcome"))


async def _is_gone(store: Store, room: str) -> bool:
    return await store.rooms.head(RoomId(room)) is None


@pytest.mark.long
async def test_scoring_that_dies_on_the_way_keeps_the_log_in_the_end(server: Any, tmp_path: Path) -> None:
    environ = crash_environ(tmp_path, "applied", "archived")
    modules = {**StackOptions().modules, SCORING: "tests.faults.crashing_scoring"}
    stack = server(environ=environ, modules=modules, authorities=1)
    async with lounge(stack.address) as hall, Store(StoreSettings(url=stack.redis_url)) as store:
        assert await kept_after_the_room(stack, hall, store, environ)


async def test_an_authority_that_dies_on_the_way_keeps_the_log_in_the_end(server: Any, tmp_path: Path) -> None:
    environ = crash_environ(tmp_path, "reported", "log sent")
    stack = server(environ=environ, modules=with_authority("tests.faults.crashing_relay"))
    async with lounge(stack.address) as hall, Store(StoreSettings(url=stack.redis_url)) as store:
        assert await kept_after_the_room(stack, hall, store, environ)


@pytest.mark.long
async def test_control_a_relay_that_confirms_before_the_log_is_kept_loses_it(server: Any, tmp_path: Path) -> None:
    environ = crash_environ(tmp_path, "reported", without="archive first")
    stack = server(environ=environ, modules=with_authority("tests.faults.crashing_relay"))
    async with lounge(stack.address) as hall, Store(StoreSettings(url=stack.redis_url)) as store:
        assert not await kept_after_the_room(stack, hall, store, environ)


async def both_kept(server: Any, environ: dict[str, str], *, cut: bool = False) -> bool:
    """Plays two matches in a room, of which scoring gets the second one first; whether both can be replayed. `cut`: the
    room's log begins with the second one then."""
    stack = server(environ=environ, authorities=1, modules=with_authority("tests.faults.late_relay"))
    async with lounge(stack.address) as hall, Store(StoreSettings(url=stack.redis_url)) as store:
        ana, bo = await hall.clients("Ana", "Bo")
        host = await hall.create(ana, seats=2)
        sides = [host, await hall.join(bo, host)]
        await start(sides)
        first = (await play_to_the_end(sides)).match_id
        await host.act(maumau.actions.rematch())
        await start(sides)
        for side in sides:
            await sees(side, lambda view: view.match_id != first)
        second = (await play_to_the_end(sides)).match_id
        await eventually(lambda: archived(store), "nothing waits for scoring")
        assert crashes_left(environ) == 0
        assert (await store.rooms.first_version(RoomId(host.id)) != 1) == cut
        assert verify(await ana.replay(host.id, second)).holds
        with contextlib.suppress(maumau.Refused):
            return verify(await ana.replay(host.id, first)).holds
        return False


@pytest.mark.long
async def test_a_log_is_not_cut_before_scoring_has_all_of_it_whoever_dies_then(server: Any, tmp_path: Path) -> None:
    assert await both_kept(server, crash_environ(tmp_path, "log sent"))


@pytest.mark.long
async def test_control_a_log_that_is_cut_before_scoring_has_all_of_it_loses_a_replay(
    server: Any, tmp_path: Path
) -> None:
    assert not await both_kept(server, crash_environ(tmp_path, "log sent", without="owed"), cut=True)
