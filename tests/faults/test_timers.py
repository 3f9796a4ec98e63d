"""Turn timers come exactly once and never early, whoever dies: tables at which nobody does anything, and processes that
are killed at moments drawn by chance.

Controls: processes without the sweep, and processes whose timers do not ask Redis whether it is time.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from services.local.stack import Stack
from services.runtime.routes import GAME_AUTHORITY
from services.store.assembly import Store
from services.store.connect import StoreSettings
from services.store.keys import RoomId
from tests.e2e.eventually import eventually
from tests.e2e.stacks import complaints, options, with_authority
from tests.faults.checker import read_log
from tests.faults.crashing import WITHOUT
from tests.faults.firings import Firing, doubled, early, firings
from tests.faults.record import Promise
from tests.faults.scale import PATIENCE, SIZE, SIZES, USUAL, count
from tests.faults.sitting import Table, sitting

pytestmark = PATIENCE

TABLES, KILLS = count(8, 200, 500), count(1, 5, 20)
MOST_BETWEEN_KILLS = count(0, 300, 750)
CONTROL_TABLES = 8
TIMES = {
    "MAUMAU_RECONNECT_GRACE_SECONDS": "0",  # it puts timeouts off without a version
    "MAUMAU_BOT_MOVE_MIN_SECONDS": "3",  # bots play for people after three timeouts
    "MAUMAU_BOT_MOVE_MAX_SECONDS": "6",
}
MODULES = with_authority("tests.faults.negligent_timers")
FORGOTTEN_MS = 4_000
LATENESS_MS, LATENESS_AFTER_KILL_MS = 250, 2_000
AFTER_KILL_MS = 8_000
"""Deadlines up to so long after a kill may be the dead process's."""


@contextlib.asynccontextmanager
async def tables(stack: Stack, number: int) -> AsyncIterator[tuple[list[Table], Store]]:
    async with Store(StoreSettings(url=stack.redis_url)) as store, sitting(stack.address, number) as made:
        yield made, store


async def all_firings(store: Store, made: list[Table]) -> list[Firing]:
    return [firing for table in made for firing in firings(table.room, await read_log(store.rooms, table.room))]


async def overdue(store: Store, made: list[Table], ms: int) -> int:
    """At how many tables a deadline has been passed by so much, and nothing was done."""
    seen = [await store.rooms.glance(RoomId(table.room)) for table in made]
    return sum(bool(found and found[1].deadline and found[1].now - found[1].deadline > ms) for found in seen)


async def none_overdue(store: Store, made: list[Table], ms: int) -> bool:
    return await overdue(store, made, ms) == 0


def late(fired: list[Firing], kills: list[float]) -> tuple[list[Firing], list[Firing]]:
    """Those away from kills and those near one, the latest last."""
    near: dict[bool, list[Firing]] = {True: [], False: []}
    for firing in sorted(fired, key=lambda firing: firing.late_ms):
        near[any(firing.at >= at and firing.deadline < at + AFTER_KILL_MS for at in kills)].append(firing)
    return near[False], near[True]


async def get_on(made: list[Table], versions: int) -> None:
    """Returns once so many more versions were shown."""
    reached = _shown(made) + versions
    while (before := _shown(made)) < reached:
        await eventually(lambda: _shown(made) > before, "something is carried out")


def _shown(made: list[Table]) -> int:
    return sum(table.version for table in made)


@pytest.mark.shows("P16")
async def test_deadlines_are_carried_out_once_and_never_early_whoever_dies(tmp_path: Path, promise: Promise) -> None:
    chance, kills = random.Random(16), list[float]()
    with Stack(options(tmp_path, environ=TIMES)) as stack:
        async with tables(stack, TABLES) as (made, store):
            for kill in range(KILLS):
                await get_on(made, chance.randint(0, MOST_BETWEEN_KILLS))
                stack[f"{GAME_AUTHORITY}-{kill % 2 + 1}"].kill()
                kills.append(time.time() * 1000)
                await asyncio.to_thread(stack.wait_ready)
            await get_on(made, TABLES)
            await eventually(lambda: none_overdue(store, made, FORGOTTEN_MS), "no deadline is forgotten")
            found = await all_firings(store, made)
        assert complaints(stack) == []
    assert early(found) == []
    assert doubled(found) == []
    promise("P16", f"{len(found):,} deadlines, {KILLS} kills: early 0, double 0, {lateness(found, kills)}")


def lateness(found: list[Firing], kills: list[float]) -> str:
    """In words; in `make faults` it is held to what is promised."""
    calm, near = late(found, kills)
    nearly_all = calm[: round(len(calm) * 0.99)]
    if SIZE in SIZES[1:]:
        assert nearly_all[-1].late_ms <= LATENESS_MS, (calm[-10:], kills)
        assert near[-1].late_ms <= LATENESS_AFTER_KILL_MS, (near[-10:], kills)
    worst = [some[-1].late_ms if some else 0 for some in (nearly_all, near)]
    return f"late p99 {worst[0]} ms, after a kill at most {worst[1]} ms"


@pytest.mark.control("P16")
async def test_control_timers_that_do_not_ask_are_found_out(tmp_path: Path, promise: Promise) -> None:
    with Stack(options(tmp_path, authorities=1, environ={**TIMES, WITHOUT: "question"}, modules=MODULES)) as stack:
        async with tables(stack, CONTROL_TABLES) as (made, store):
            await get_on(made, CONTROL_TABLES)
            found = await all_firings(store, made)
    assert early(found)
    promise("P16", f"{len(early(found))} of {len(found)} early by timers that do not ask")


@USUAL
@pytest.mark.control("P16")
async def test_control_without_the_sweep_deadlines_die_with_their_process(tmp_path: Path, promise: Promise) -> None:
    with Stack(options(tmp_path, authorities=1, environ={**TIMES, WITHOUT: "sweep"}, modules=MODULES)) as stack:
        async with tables(stack, CONTROL_TABLES) as (made, store):
            stack[f"{GAME_AUTHORITY}-1"].kill()
            await asyncio.to_thread(stack.wait_ready)
            await eventually(lambda: overdue(store, made, FORGOTTEN_MS), "a deadline is forgotten")
            forgotten = await overdue(store, made, FORGOTTEN_MS)
    promise("P16", f"{forgotten} of {CONTROL_TABLES} forgotten without the sweep")
