"""Each process is stopped in turn, as an orchestrator does, while people play, look for rooms and read their scores.

Controls: authorities that stop without a go-away, and clients that try each call once. The smoke of this is
tests/e2e/test_stopping.py.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from pathlib import Path

import grpc
import maumau
import pytest
from maumau.v1 import matchmaking_pb2

from services.local.stack import Stack
from services.runtime.routes import GAME_AUTHORITY, MATCHMAKING
from tests.e2e.calls import channel_to, sign_in
from tests.e2e.eventually import eventually
from tests.e2e.playing import Match, Party, get_on, party, rest
from tests.e2e.stacks import complaints, options, with_authority
from tests.faults.history import History, Outcome, read_records
from tests.faults.record import Promise
from tests.faults.rig import AUTHORITIES, findings
from tests.faults.scale import PATIENCE, count

pytestmark = PATIENCE

PARTIES = count(2, 10, 40)
ACTS_BETWEEN = count(10, 60, 200)
ENDLESS = {"match.target": 10_000}
RESUMED_SECONDS = 2.0
GRACE_SECONDS, NOTICE_SECONDS = 5.0, 2
TIMES = {"MAUMAU_STOP_GRACE_SECONDS": str(GRACE_SECONDS), "MAUMAU_STOP_NOTICE_SECONDS": str(NOTICE_SECONDS)}
LOOK_SECONDS = 0.01
CALL_SECONDS = 0.05


class Offline:
    """How long people's rooms were without a stream, each time. It looks at them again and again."""

    def __init__(self, played: list[Party]) -> None:
        self.seconds = list[float]()
        self._rooms = [person.room for players in played for person in players.people]
        self._since = dict[int, float]()

    async def look_on(self) -> None:
        """Until cancelled."""
        while True:
            now = time.monotonic()
            for number, room in enumerate(self._rooms):
                if not room.online:
                    self._since.setdefault(number, now)
                elif number in self._since:
                    self.seconds.append(now - self._since.pop(number))
            await asyncio.sleep(LOOK_SECONDS)


class Caller:
    """Makes one kind of call again and again. `failed` holds what went wrong."""

    def __init__(self, call: Callable[[], Awaitable[object]]) -> None:
        self._call = call
        self.made, self.failed = 0, list[str]()

    async def call_on(self) -> None:
        """Until cancelled."""
        while True:
            try:
                await self._call()
            except (maumau.MaumauError, grpc.aio.AioRpcError) as error:
                self.failed.append(repr(error))
            self.made += 1
            await asyncio.sleep(CALL_SECONDS)


def callers(client: maumau.Client, room: str) -> list[Caller]:
    """Of each service, and one that asks for a seat, which matchmaking asks an authority for."""

    async def list_rooms() -> None:
        async for _ in client.rooms():
            return

    return [
        Caller(list_rooms),
        Caller(lambda: client.scoring.statistics(family="mau-mau-32")),
        Caller(lambda: client.get_room(room)),
        Caller(lambda: client.join_room(room)),
        Caller(client.player),
    ]


@contextlib.asynccontextmanager
async def at_work(works: Iterable[Awaitable[object]]) -> AsyncIterator[None]:
    """They go on meanwhile."""
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def stop_and_start(stack: Stack, name: str) -> float:
    """SIGTERM; how long the process took to end. Its successor is ready when this returns."""
    child, starts, began = stack[name], stack[name].starts, time.monotonic()
    child.terminate()
    await eventually(lambda: child.starts > starts, f"{name} ends", 2 * GRACE_SECONDS + NOTICE_SECONDS)
    took = time.monotonic() - began
    await asyncio.to_thread(stack.wait_ready)
    return took


@pytest.mark.long
@pytest.mark.shows("P14")
async def test_a_rolling_restart_fails_no_call_and_no_game(tmp_path: Path, history: History, promise: Promise) -> None:
    ended = dict[str, float]()
    async with contextlib.AsyncExitStack() as opened:
        stack = opened.enter_context(Stack(options(tmp_path, authorities=AUTHORITIES, environ=TIMES)))
        played = [
            await opened.enter_async_context(party(stack.address, Match(2, 1, options=ENDLESS), history, f"R{number}"))
            for number in range(PARTIES)
        ]
        client = await opened.enter_async_context(maumau.connect(stack.address))
        for players in played:
            await players.start()
        calling, offline = callers(client, (await client.create_room("mau-mau-32", seats=2)).id), Offline(played)
        works = [*(caller.call_on() for caller in calling), offline.look_on(), *(players.play() for players in played)]
        async with at_work(works):
            for name in [process.name for process in stack.processes]:
                ended[name] = await stop_and_start(stack, name)
                await get_on(history, ACTS_BETWEEN)
            await rest(played, history)
        assert await findings(stack.redis_url, [players.room_id for players in played], history) == []
        assert complaints(stack) == []
    records = read_records([history.path])
    assert records.count(Outcome.UNKNOWN) == 0
    assert [caller.failed for caller in calling] == [[]] * len(calling)
    assert offline.seconds, "streams were moved"
    assert max(offline.seconds) <= RESUMED_SECONDS
    assert max(ended.values()) <= NOTICE_SECONDS + GRACE_SECONDS
    promise(
        "P14",
        f"{len(ended)} processes: 0 failed of {len(records.calls):,} acts and {sum(c.made for c in calling):,} calls, "
        f"{len(offline.seconds)} streams resumed in {max(offline.seconds):.1f} s or less, each process ended within "
        f"{max(ended.values()):.1f} s",
    )


@pytest.mark.long
@pytest.mark.control("P14")
async def test_control_an_authority_that_sends_nobody_away_does_not_end_in_time(
    tmp_path: Path, history: History, promise: Promise
) -> None:
    modules = with_authority("tests.faults.silent_stops")
    with Stack(options(tmp_path, environ=TIMES, modules=modules)) as stack:
        async with party(stack.address, Match(2, options=ENDLESS), history, "S"):
            names = [process.name for process in stack.processes if process.service == GAME_AUTHORITY]
            took = max([await stop_and_start(stack, name) for name in names])
    assert took > NOTICE_SECONDS + GRACE_SECONDS
    promise("P14", f"without a go-away a process ends after {took:.1f} s, its streams cut")


@pytest.mark.long
@pytest.mark.control("P14")
async def test_control_calls_that_are_tried_once_fail(tmp_path: Path, promise: Promise) -> None:
    with Stack(options(tmp_path, environ=TIMES, envoy=False, authorities=1)) as stack:
        async with channel_to(stack.addresses(MATCHMAKING)[0]) as channel:
            guest = await sign_in(channel, "Ana")
            request = matchmaking_pb2.ListRoomsRequest()
            caller = Caller(lambda: guest.matchmaking.ListRooms(request, metadata=guest.metadata(), timeout=5))
            async with at_work([caller.call_on()]):
                await stop_and_start(stack, MATCHMAKING)
    assert caller.failed
    promise("P14", f"tried once, {len(caller.failed)} of {caller.made} calls fail")
