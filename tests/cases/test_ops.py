"""Processes die, clients vanish, Redis goes away: what must go on goes on."""

from __future__ import annotations

import asyncio
import contextlib
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from maumau.v1 import actions_pb2, authority_pb2

from services.local.stack import Stack
from services.runtime.routes import GAME_AUTHORITY
from tests.e2e.calls import LIMIT_SECONDS, channel_to, reason_of, sign_in
from tests.e2e.eventually import eventually
from tests.e2e.lounge import Lounge, lounge, sees, take_a_turn_each
from tests.e2e.stacks import options

LONG_SECONDS = 60.0
SLOW_BOTS = {"MAUMAU_BOT_MOVE_MIN_SECONDS": "1", "MAUMAU_BOT_MOVE_MAX_SECONDS": "1"}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Any]:
    with contextlib.ExitStack() as opened:
        yield lambda **changed: opened.enter_context(Stack(options(tmp_path, **changed)))


async def test_a_bot_whose_process_died_before_its_move_moves_once(server: Any) -> None:
    """Entries 121 and 187: the deadline is in the store, and whoever sweeps carries it out."""
    stack = server(environ=SLOW_BOTS, authorities=1)
    async with lounge(stack.address) as hall:
        (host,) = await hall.match("Ana", bots=1)
        await sees(host, lambda view: view.shedding.turn == view.own_seat)
        await take_a_turn_each([host])
        version = host.version
        stack[f"{GAME_AUTHORITY}-1"].kill()
        view = await host.wait_until(
            lambda view: view.version > version and view.shedding.turn == view.own_seat, LONG_SECONDS
        )
        assert view.version > version
        assert not view.seats[1].played_by_bot


async def test_a_code_that_was_answered_is_good_although_its_process_died(server: Any) -> None:
    """Entry 142: the code is known before the room has it, so that no answer is needed to make it so."""
    stack = server(authorities=1)
    rotate = actions_pb2.Action(rotate_invite=actions_pb2.Action.RotateInvite())
    async with lounge(stack.address) as hall, channel_to(stack.address) as channel:
        ana, bo = await sign_in(channel, "Ana"), await hall.client("Bo")
        room = await ana.create_room(2)
        answer = await ana.act(room, rotate, 0)
        stack[f"{GAME_AUTHORITY}-1"].kill()
        await asyncio.to_thread(stack.wait_ready)
        joined = await hall.enter(await bo.join_room(invite_code=answer.room.invite_code))
        assert (joined.id, joined.own_seat) == (room, 1)


async def test_a_refused_stream_ends_at_once(stack: Stack, hall: Lounge) -> None:
    """Entry 188."""
    (host,) = await hall.table("Ana", bots=1)
    async with channel_to(stack.address) as channel:
        eve = await sign_in(channel, "Eve")
        calls = [eve.watch(host.id) for _ in range(50)]
        calls += [await eve.play(host.id) for _ in range(50)]  # type: ignore[misc]
        for call in calls:
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await asyncio.wait_for(call.read(), LIMIT_SECONDS)
            assert caught.value.code() is grpc.StatusCode.NOT_FOUND
            assert reason_of(caught.value)[0] == "ROOM_NOT_FOUND"


async def test_streams_of_vanished_clients_end_and_their_seats_are_empty(stack: Stack, hall: Lounge) -> None:
    """Entry 181."""
    host, _ = await hall.table("Ana", "Bo")
    await sees(host, lambda view: view.seats[1].connected)
    await eventually(lambda: open_streams(stack) == 2, "the streams of other tests have ended")
    async with channel_to(stack.address) as channel:
        cid = await sign_in(channel, "Cid")
        room = await cid.create_room(2)
        watches = [cid.watch(room) for _ in range(100)]
        for watch in watches:
            assert isinstance(await watch.read(), authority_pb2.WatchResponse)
        assert open_streams(stack) == 102
    await eventually(lambda: open_streams(stack) == 2, "the streams of the closed connection have ended")


def open_streams(stack: Stack) -> int:
    """Open `Watch` and `Play` streams of all authorities, as Prometheus sees them."""
    lines = [
        line
        for process in stack.processes
        if process.service == GAME_AUTHORITY
        for line in stack.metrics(process.name).splitlines()
    ]
    return sum(int(float(line.split()[-1])) for line in lines if line.startswith("maumau_open_streams{"))


async def test_readiness_follows_redis_and_liveness_does_not(server: Any) -> None:
    """Entry 184."""
    stack = server(authorities=1, envoy=False)
    ports = [process.metrics_port for process in stack.processes]
    assert [[status(port, path) for path in ("/readyz", "/livez")] for port in ports] == [[200, 200]] * 3
    stack["redis"].restart = False
    stack["redis"].kill()
    await eventually(lambda: all(status(port, "/readyz") == 503 for port in ports), "no process is ready")
    assert [status(port, "/livez") for port in ports] == [200] * 3
    stack["redis"].restart = True
    await eventually(lambda: all(status(port, "/readyz") == 200 for port in ports), "all are ready again")
    assert [stack[process.name].starts for process in stack.processes] == [1] * 3


def status(port: int, path: str) -> int:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=LIMIT_SECONDS) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code
