"""No slow leak: streams are opened and cancelled and moves are made, many of them, and afterwards every process has the
tasks, files and, but for a bound, the memory that it had before, and Redis has the same keys.

`make soak` runs more of it. Control: an authority that keeps something of every stream.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from pathlib import Path
from typing import NamedTuple

import grpc
import pytest
import redis

from services.local.stack import Stack
from services.runtime.routes import GAME_AUTHORITY
from tests.e2e.calls import Duel, channel_to, duel
from tests.e2e.eventually import eventually
from tests.e2e.stacks import complaints, options, with_authority
from tests.faults.record import Promise
from tests.faults.scale import PATIENCE, SIZE, SIZES, USUAL, count

pytestmark = PATIENCE

STREAMS, MOVES = count(150, 10_000, 100_000), count(150, 30_000, 1_000_000)
WARM_UP_SHARE = 0.3
"""Of both, before it is measured what a process has."""
ROOMS, AT_ONCE = 8, 8
CONTROL_STREAMS = 600
RSS_BYTES = 20 * 1024 * 1024
SPARE = 24
"""So many tasks and files more or less say nothing: pools open as many connections, each with a task, when much is
asked at once. What is kept of each stream or move is far more."""
MOST_VERSIONS = 8_000
"""A match ends by rule soon after; then a room is replaced by a new one."""


COUNTS = "maumau_loop_lag_seconds_count"
"""How often a process has counted its tasks."""


class Held(NamedTuple):
    """What a process has."""

    rss: int
    files: int
    tasks: int


def held(stack: Stack) -> dict[str, Held]:
    return {process.name: _held(stack, process.name) for process in stack.processes}


async def held_from_now(stack: Stack) -> dict[str, Held]:
    """The same once all tasks have been counted anew: a process counts them twice a second."""
    counted = {process.name: _shown(stack, process.name)[COUNTS] for process in stack.processes}
    for name, times in counted.items():
        await eventually(lambda: _shown(stack, name)[COUNTS] > times, "tasks are counted")  # noqa: B023 - awaited at once
    return held(stack)


def _held(stack: Stack, name: str) -> Held:
    shown = _shown(stack, name)
    names = ("process_resident_memory_bytes", "process_open_fds", "maumau_loop_tasks")
    return Held(*(int(shown[each]) for each in names))


def _shown(stack: Stack, name: str) -> dict[str, float]:
    """A process's metrics by series."""
    lines = stack.metrics(name).splitlines()
    return {line.split(" ")[0]: float(line.split(" ")[1]) for line in lines if not line.startswith("#")}


def more(before: dict[str, Held], after: dict[str, Held]) -> list[str]:
    """Which process has more tasks or files than before, in words."""
    return [
        f"{name}: {was} became {after[name]}"
        for name, was in before.items()
        if after[name].tasks > was.tasks + SPARE or after[name].files > was.files + SPARE
    ]


def growth(before: dict[str, Held], after: dict[str, Held]) -> tuple[int, str]:
    """The most that a process's memory grew, in bytes, and which."""
    return max((after[name].rss - was.rss, name) for name, was in before.items())


async def open_and_cancel(pairs: list[Duel], streams: int) -> None:
    """Streams of both kinds, each cancelled once it has brought something."""
    left = iter(range(streams))

    async def some(pair: Duel) -> None:
        for number in left:
            guest = (pair.ana, pair.bo)[number % 2]
            stream = guest.watch(pair.room) if number % 4 < 2 else await guest.play(pair.room)
            await stream.read()
            stream.cancel()

    await asyncio.gather(*(some(pairs[number % len(pairs)]) for number in range(AT_ONCE)))


async def move(pairs: list[Duel], moves: int, lobby: grpc.aio.Channel, here: list[grpc.aio.Channel]) -> None:
    """So many actions in all rooms together; a room whose match nears its end by rule is replaced."""
    left = iter(range(moves))

    async def some(place: int) -> None:
        chance = random.Random(place)
        for _ in left:
            guest, _, view = await pairs[place].on_turn()
            if view.version > MOST_VERSIONS:
                pairs[place] = await _started(lobby, here[place % len(here)])
                continue
            await guest.act(view.room_id, chance.choice(list(view.legal.actions)), view.version)

    await asyncio.gather(*(some(place) for place in range(len(pairs))))


async def _started(lobby: grpc.aio.Channel, rooms: grpc.aio.Channel) -> Duel:
    pair = await duel(lobby, rooms=rooms)
    await pair.start()
    return pair


def keys(stack: Stack, made_since: list[Duel]) -> set[bytes]:
    """All keys but those of rooms made meanwhile, and of who looks at a room just now, which go by themselves."""
    new = [word.encode() for pair in made_since for word in (pair.room, pair.ana.id, pair.bo.id)]
    with contextlib.closing(redis.Redis.from_url(stack.redis_url)) as client:
        found = set(client.scan_iter(count=1_000))
    return {key for key in found if b"presence" not in key and not any(word in key for word in new)}


class Soaked(NamedTuple):
    """What was held after the warm-up and at the end."""

    before: dict[str, Held]
    after: dict[str, Held]
    new_keys: set[bytes]


async def soak(stack: Stack, streams: int, moves: int, *, patiently: bool = True) -> Soaked:
    async with channel_to(stack.address) as lobby, contextlib.AsyncExitStack() as opened:
        # At the authorities' own ports: Envoy closes a connection whose streams end within a second (rapid reset).
        addresses = stack.addresses(GAME_AUTHORITY)
        here = [await opened.enter_async_context(channel_to(address)) for address in addresses]
        pairs = [await _started(lobby, here[number % len(here)]) for number in range(ROOMS)]
        first = list(pairs)
        for share in (WARM_UP_SHARE, 1 - WARM_UP_SHARE):
            if share != WARM_UP_SHARE:
                before, base = await held_from_now(stack), keys(stack, [])
            streaming = open_and_cancel(pairs, round(streams * share))
            await asyncio.gather(streaming, move(pairs, round(moves * share), lobby, here))
            await eventually(lambda: no_stream_is_open(stack), "all streams have ended")
        if patiently:
            await given_back(stack, before)
        made_since = [pair for pair in pairs if pair not in first]
        return Soaked(before, held(stack), keys(stack, made_since) - base)


async def given_back(stack: Stack, before: dict[str, Held]) -> None:
    """Returns once no process has more than before."""
    await eventually(lambda: not more(before, held(stack)), lambda: f"given back: {more(before, held(stack))}")


def no_stream_is_open(stack: Stack) -> bool:
    """As the authorities' metrics say."""
    names = [process.name for process in stack.processes if process.service == GAME_AUTHORITY]
    lines = [line for name in names for line in stack.metrics(name).splitlines()]
    return not any(line.startswith("maumau_open_streams{") and not line.endswith(" 0.0") for line in lines)


@pytest.mark.shows("P20")
async def test_streams_and_moves_leave_nothing_behind(tmp_path: Path, promise: Promise) -> None:
    with Stack(options(tmp_path)) as stack:
        soaked = await soak(stack, STREAMS, MOVES)
        assert complaints(stack) == []
    assert soaked.new_keys == set()
    grown, name = growth(soaked.before, soaked.after)
    if SIZE in SIZES[1:]:
        assert grown <= RSS_BYTES, f"{name} grew by {grown} bytes"
    said = f"{STREAMS:,} streams and {MOVES:,} moves: tasks, files and keys back to base"
    promise("P20", f"{said}, RSS {grown / 2**20:+.1f} MB at most ({name})")


@USUAL
@pytest.mark.control("P20")
async def test_control_an_authority_that_keeps_something_of_every_stream_is_found_out(
    tmp_path: Path, promise: Promise
) -> None:
    leaking = with_authority("tests.faults.leaking_streams")
    with Stack(options(tmp_path, authorities=1, modules=leaking)) as stack:
        soaked = await soak(stack, CONTROL_STREAMS, ROOMS, patiently=False)
    assert more(soaked.before, soaked.after)
    grown, _ = growth(soaked.before, soaked.after)
    assert grown > RSS_BYTES / 2
    tasks = sum(soaked.after[name].tasks - was.tasks for name, was in soaked.before.items())
    promise(
        "P20", f"{tasks} tasks and {grown / 2**20:.0f} MB more after {CONTROL_STREAMS} streams of a leaking authority"
    )
