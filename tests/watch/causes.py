"""What makes each alert fire, done on purpose to a running server; each cause names the alerts that it must bring."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from typing import Any, Final

import grpc
import maumau
import msgspec
import redis
from maumau.v1 import authority_pb2, authority_pb2_grpc

from services.game_authority.relay import encode_result
from services.local.ports import free_ports
from services.rules.room.step import MatchResult
from services.runtime.routes import GAME_AUTHORITY, SCORING
from services.store.keys import PARTITIONS, Keys, RoomId
from tests.e2e.calls import Duel, Guest, channel_to, next_message, sign_in
from tests.watch.scene import Scene

Cause = Callable[[Scene], Awaitable[None]]

KEYS: Final = Keys()
LATE_SECONDS: Final = 1.7
"""A freeze that makes things late by more than a second and is no outage yet."""
RUN_SECONDS: Final = 1.2
WAIT_SECONDS: Final = 90.0


@contextlib.asynccontextmanager
async def meanwhile(*works: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Does these things until the block ends."""
    tasks = [asyncio.create_task(work) for work in works]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        for outcome in await asyncio.gather(*tasks, return_exceptions=True):
            if isinstance(outcome, Exception):
                raise outcome


async def redis_stands_still(scene: Scene) -> None:
    async with restless(scene):
        since = time.monotonic()
        scene.redis.freeze()
        try:
            await scene.prometheus.fires(
                *("ActionsFail/1h", "ActionsFail/6h", "ActionsFail/3d"),
                *("NothingReady", "ProcessNotReady", "SyntheticPlayerFails"),
                since=since,
            )
        finally:
            scene.redis.thaw()
        await scene.prometheus.fires("OutagesCredited", since=since)


async def redis_is_slow(scene: Scene) -> None:
    async def pause() -> None:
        with contextlib.closing(scene.redis.client()) as client:
            while True:
                await asyncio.to_thread(client.client_pause, 250)
                await asyncio.sleep(0.3)

    async with meanwhile(pause()):
        await scene.prometheus.fires("ActionsSlow/1h", "ActionsSlow/6h", "ActionsSlow/3d", since=time.monotonic())


async def redis_fills_up(scene: Scene) -> None:
    with contextlib.closing(scene.redis.client()) as client:
        usual = int(client.config_get("maxmemory")["maxmemory"] or 0)
        try:
            for part, alert in ((0.82, "RedisMemoryHigh"), (0.97, "RedisFull")):
                since = time.monotonic()
                used: Any = client.info("memory")
                client.config_set("maxmemory", int(used["used_memory"] / part))
                await scene.prometheus.fires(alert, since=since)
        finally:
            client.config_set("maxmemory", usual)


async def connections_break(scene: Scene) -> None:
    """Of the subscriptions, while one process commits what others' viewers wait for."""

    async def cut() -> None:
        with contextlib.closing(scene.redis.client()) as client:
            while True:
                await asyncio.to_thread(client.execute_command, "CLIENT", "KILL", "TYPE", "pubsub")
                await asyncio.sleep(0.03)

    async with duels(scene, 6), meanwhile(cut()):
        await scene.prometheus.fires("RedisConnectionsBreak", "GapsSurge", since=time.monotonic())


async def processes_stutter(scene: Scene) -> None:
    """All authorities freeze together, again and again: for a moment their loops are late, for longer deadlines are."""
    children = [scene.stack[process.name] for process in scene.stack.processes if process.service == GAME_AUTHORITY]
    for freeze_seconds, alert in ((0.8, "LoopLags"), (LATE_SECONDS, "TimersLate")):
        async with meanwhile(stutter(children, freeze_seconds)):
            await scene.prometheus.fires(alert, since=time.monotonic())


async def one_process_stutters(scene: Scene) -> None:
    """What others commit reaches its viewers late."""
    names = [process.name for process in scene.stack.processes if process.service == GAME_AUTHORITY]
    async with duels(scene), meanwhile(stutter([scene.stack[names[1]]], LATE_SECONDS)):
        await scene.prometheus.fires("EventsLate/1h", "EventsLate/6h", "EventsLate/3d", since=time.monotonic())


async def stutter(children: list[Any], freeze_seconds: float) -> None:
    try:
        while True:
            for child in children:
                child.pause()
            await asyncio.sleep(freeze_seconds)
            for child in children:
                child.resume()
            await asyncio.sleep(RUN_SECONDS)
    finally:
        for child in children:
            child.resume()


async def a_process_freezes(scene: Scene) -> None:
    child = scene.stack[f"{GAME_AUTHORITY}-1"]
    child.pause()
    try:
        await scene.prometheus.fires("ProcessDown", since=time.monotonic())
    finally:
        child.resume()


async def processes_are_killed(scene: Scene) -> None:
    names = [process.name for process in scene.stack.processes if process.service == GAME_AUTHORITY]

    async def kill() -> None:
        while True:
            for name in names:
                scene.stack[name].kill()
            await asyncio.to_thread(scene.stack.wait_ready, WAIT_SECONDS)
            await asyncio.sleep(2)

    async with meanwhile(kill()):
        await scene.prometheus.fires("ProcessesRestart", since=time.monotonic())
    await asyncio.to_thread(scene.stack.wait_ready, WAIT_SECONDS)


async def envoy_freezes(scene: Scene) -> None:
    scene.stack["envoy"].pause()
    try:
        await scene.prometheus.fires("EdgeDown", "SyntheticPlayerFails", since=time.monotonic())
    finally:
        scene.stack["envoy"].resume()


async def the_synthetic_player_dies(scene: Scene) -> None:
    since = time.monotonic()
    scene.stop_synthetic()
    await scene.prometheus.fires("SyntheticPlayerMissing", since=since)
    scene.start_synthetic()


async def scoring_freezes_and_finds_two_results(scene: Scene) -> None:
    """While it is frozen results wait. One of them gets a twin that says something else."""
    since = time.monotonic()
    scene.stack[SCORING].pause()
    try:
        await scene.prometheus.fires("OutboxLags", since=since)
        with contextlib.closing(scene.redis.client()) as client:
            await asyncio.to_thread(add_twin, client)
    finally:
        scene.stack[SCORING].resume()
    await scene.prometheus.fires("ResultsConflict", "OutboxDead", since=since)
    with contextlib.closing(scene.redis.client()) as client:
        client.delete(*(KEYS.partition(number).dead for number in range(PARTITIONS)))


def add_twin(client: redis.Redis) -> None:
    for number in range(PARTITIONS):
        outbox = KEYS.partition(number).outbox
        entries: Any = client.xrange(outbox, count=1)
        if entries:
            fields = entries[0][1]
            result = msgspec.msgpack.decode(fields[b"b"], type=MatchResult)
            other = msgspec.structs.replace(result, unrated=not result.unrated)
            client.xadd(outbox, {**fields, b"b": encode_result(other)})
            return
    raise AssertionError("no result waits")


async def a_room_cannot_be_read(scene: Scene) -> None:
    since = time.monotonic()
    async with channel_to(scene.stack.address) as channel:
        guest = await sign_in(channel, "Ana")
        good, bad = KEYS.room(RoomId(await guest.create_room(2))).room, KEYS.room(RoomId("r_damaged")).room
        with contextlib.closing(scene.redis.client()) as client:
            stored: Any = client.hgetall(good)
            client.hset(bad, mapping={**stored, b"s": b"nonsense"})

        async def look() -> None:
            while True:
                with contextlib.suppress(grpc.aio.AioRpcError):
                    await guest.get_room("r_damaged")
                await asyncio.sleep(0.3)

        async with meanwhile(look()):
            await scene.prometheus.fires("HandlersFail", since=since)
        with contextlib.closing(scene.redis.client()) as client:
            client.delete(bad)


async def readers_do_not_read(scene: Scene) -> None:
    since = time.monotonic()
    narrow = [("grpc.http2.bdp_probe", 0), ("grpc.use_local_subchannel_pool", 1)]
    async with contextlib.AsyncExitStack() as stack:
        channel = await stack.enter_async_context(channel_to(scene.stack.address))
        ana = await sign_in(channel, "Ana")
        room = await ana.create_room(2)
        calls = []
        for _ in range(15):
            own = await stack.enter_async_context(grpc.aio.insecure_channel(scene.stack.address, options=narrow))
            stub = authority_pb2_grpc.GameAuthorityServiceStub(own)
            calls.append(stub.Watch(authority_pb2.WatchRequest(room_id=room), metadata=ana.metadata(room)))
            await next_message(calls[-1])

        async def talk() -> None:
            number = 0
            while True:
                number += 1
                text, request_id = "🂡" * 300, number.to_bytes(16, "big")
                chat = authority_pb2.SendChatRequest(room_id=room, text=text, request_id=request_id)
                with contextlib.suppress(grpc.aio.AioRpcError):
                    await ana.rooms.SendChat(chat, metadata=ana.metadata(room), timeout=20)

        async with meanwhile(talk()):
            await scene.prometheus.fires("SlowReadersSurge", since=since)
        for call in calls:
            call.cancel()


async def people_wait_for_matches(scene: Scene) -> None:
    async def queue(number: int) -> None:
        while True:
            async with maumau.connect(scene.stack.address, name=f"Guest {number}") as client:
                await client.quick_play("uno", seats=4, patience_seconds=2)

    async with meanwhile(*(queue(number) for number in range(2))):
        await scene.prometheus.fires("QueueWaits", since=time.monotonic())


def started(*words: str) -> subprocess.Popen[bytes]:
    """A Python process."""
    return subprocess.Popen([sys.executable, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


async def another_release_runs(scene: Scene) -> None:
    """A process that shows another version; one of its own, since a scrape that comes late would count as its end."""
    folder = scene.prometheus.folder / "other"
    folder.mkdir()
    (folder / "metrics.txt").write_text('maumau_build_info{version="0.0.1"} 1\n')
    (port,) = free_ports(1)
    words = ["-m", "http.server", str(port), "--bind", "127.0.0.1", "--directory", str(folder)]
    other = started(*words)
    labels = {"service": SCORING, "__metrics_path__": "/metrics.txt"}
    scene.prometheus.target("services", f"127.0.0.1:{port}", **labels)
    try:
        await scene.prometheus.fires("BuildsDiffer", since=time.monotonic())
    finally:
        scene.prometheus.forget("services", f"127.0.0.1:{port}")
        other.kill()
        other.wait(30)


@contextlib.asynccontextmanager
async def restless(scene: Scene, number: int = 15) -> AsyncIterator[None]:
    """People who act all the time: each in a room of its own, ready and not ready."""
    async with channel_to(scene.stack.address) as edge:
        guests = [await sign_in(edge, "Ana") for _ in range(number)]
        rooms = [await guest.create_room(2) for guest in guests]
        async with meanwhile(*(_fidget(guest, room) for guest, room in zip(guests, rooms, strict=True))):
            yield


async def _fidget(guest: Guest, room: str) -> None:
    for number in itertools.count():
        with contextlib.suppress(grpc.aio.AioRpcError):
            await guest.act(room, maumau.actions.set_ready(bool(number % 2)), 0)
        await asyncio.sleep(0.3)


@contextlib.asynccontextmanager
async def duels(scene: Scene, number: int = 3) -> AsyncIterator[None]:
    """Pairs that play at the first authority, watched by streams at the second."""
    first, second, *_ = scene.stack.addresses(GAME_AUTHORITY)
    async with (
        channel_to(scene.stack.address) as edge,
        channel_to(first) as here,
        channel_to(second) as there,
        meanwhile(*(_duel(edge, here, there) for _ in range(number))),
    ):
        yield


async def _duel(edge: grpc.aio.Channel, here: grpc.aio.Channel, there: grpc.aio.Channel) -> None:
    """Plays and is watched until it is cancelled; what a killed or frozen process breaks is begun anew."""
    elsewhere = authority_pb2_grpc.GameAuthorityServiceStub(there)
    while True:
        calls = []
        with contextlib.suppress(grpc.aio.AioRpcError, TimeoutError):
            ana, bo = [await sign_in(edge, name, rooms=here) for name in ("Ana", "Bo")]
            pair = Duel(ana, bo, await ana.create_room(2))
            await bo.join(pair.room)
            await pair.start()
            for guest in (ana, bo, ana, bo):
                calls.append(asyncio.create_task(_read(guest.watch(pair.room, at=elsewhere))))
            while True:
                await pair.turn()
        for call in calls:
            call.cancel()


async def _read(call: Any) -> None:
    with contextlib.suppress(grpc.aio.AioRpcError):
        async for _ in call:
            pass


CAUSES: Final[tuple[Cause, ...]] = (
    redis_stands_still,
    redis_is_slow,
    redis_fills_up,
    connections_break,
    processes_stutter,
    one_process_stutters,
    a_process_freezes,
    processes_are_killed,
    envoy_freezes,
    the_synthetic_player_dies,
    scoring_freezes_and_finds_two_results,
    a_room_cannot_be_read,
    readers_do_not_read,
    people_wait_for_matches,
    another_release_runs,
)
