"""Half of the clients freeze: their streams are freed, their seats shown as disconnected, the others notice nothing.

Control: a server that does not ask silent connections whether they live.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import NamedTuple

import pytest

from services.local.stack import Stack
from services.runtime.routes import GAME_AUTHORITY, MATCHMAKING
from tests.e2e.calls import Guest, channel_to, sign_in
from tests.e2e.eventually import eventually
from tests.faults.acting import accepted, ready
from tests.faults.crowd import Crowd, Member, Way, crowd
from tests.faults.delays import event_delays, is_unchanged, quantile
from tests.faults.history import History, read_records
from tests.faults.meters import now_and_then, watching
from tests.faults.record import Promise
from tests.faults.rig import started
from tests.faults.scale import PATIENCE, count

pytestmark = PATIENCE

ROOMS = count(2, 50, 50)
"""With two people in each, of whom one freezes."""
NOTICED_SECONDS = 15.0
ACTS_BEFORE, ACT_SECONDS = count(10, 300, 1_000), 0.02


class Table(NamedTuple):
    """A room in which one stays awake and one freezes."""

    room: str
    awake: Guest
    frozen: Guest


class Tables(NamedTuple):
    """All rooms, and the processes of those who stay awake and those who freeze."""

    tables: list[Table]
    awake: list[Crowd]
    frozen: list[Crowd]
    files: list[Path]

    async def play(self, history: History, acts: int) -> None:
        """Those who stay awake act, one after the other."""
        for number in range(acts):
            table = self.tables[number % len(self.tables)]
            await accepted(history, table.awake, table.room, ready(number // len(self.tables)))
            await asyncio.sleep(ACT_SECONDS)

    async def play_on(self, history: History) -> None:
        """Until cancelled."""
        while True:
            await self.play(history, 2 * len(self.tables))


@contextlib.asynccontextmanager
async def seated(stack: Stack, history: History) -> AsyncIterator[Tables]:
    """Half of the tables behind Envoy if there is one; at the others the two are with two processes."""
    first, *_, last = stack.addresses(GAME_AUTHORITY)
    edges = [stack.address] if stack.has_envoy else []
    async with contextlib.AsyncExitStack() as opened:
        lobby = await opened.enter_async_context(channel_to(stack.addresses(MATCHMAKING)[0]))
        rooms = await opened.enter_async_context(channel_to(last))
        tables = []
        for number in range(ROOMS):
            awake, frozen = [await sign_in(lobby, f"{name} {number}", rooms=rooms) for name in ("Ana", "Bo")]
            table = Table(await awake.create_room(2), awake, frozen)
            await frozen.join(table.room)
            tables.append(table)
        places = [(last, first), *((edge, edge) for edge in edges)]
        crowds, files = list[Crowd](), list[Path]()
        for number, place in enumerate(places):
            there = tables[number :: len(places)]
            for address, guests in zip(place, ("awake", "frozen"), strict=True):
                members = [Member(table.room, getattr(table, guests).token) for table in there]
                files.append(history.path.with_suffix(f".{number}-{guests}"))
                crowds.append(await opened.enter_async_context(crowd(Way.PLAIN, address, members, files[-1])))
        assert [(await each.together()).missing for each in crowds[::2]] == [0] * len(places)
        yield Tables(tables, crowds[::2], crowds[1::2], files[::2])


async def freed(stack: Stack, streams: int) -> int:
    """When (ns, monotonic) no more than so many streams were open; gives up after the promised time."""
    with contextlib.suppress(AssertionError):
        are_freed = functools.partial(now_and_then, lambda: watching(stack) <= streams)
        await eventually(are_freed, "they are freed", NOTICED_SECONDS)
    return time.monotonic_ns()


@pytest.mark.long
@pytest.mark.shows("P12")
async def test_frozen_clients_are_noticed_and_delay_nobody(tmp_path: Path, history: History, promise: Promise) -> None:
    with started(tmp_path) as rig:
        async with seated(rig.stack, history) as seats:
            await seats.play(history, ACTS_BEFORE)
            frozen_at = time.monotonic_ns()
            for each in seats.frozen:
                each.freeze()
            acting = asyncio.create_task(seats.play_on(history))
            freeing = asyncio.create_task(freed(rig.stack, ROOMS))
            alone = await asyncio.gather(*(each.alone(NOTICED_SECONDS) for each in seats.awake))
            freed_at = await freeing
            acting.cancel()
            await asyncio.gather(acting, return_exceptions=True)
            noticed_at = time.monotonic_ns()
            await seats.play(history, ACTS_BEFORE)
            assert watching(rig.stack) == ROOMS, "the others have theirs"
    assert [(answer.missing, answer.errors) for answer in alone] == [(0, [])] * len(alone)
    shown, gone = (max(answer.at for answer in alone) - frozen_at) / 1e9, (freed_at - frozen_at) / 1e9
    assert max(shown, gone) <= NOTICED_SECONDS
    records = read_records([history.path, *seats.files])
    spans = ((0, frozen_at), (frozen_at, noticed_at), (noticed_at, 1 << 63))
    before, during, after = (quantile(event_delays(records, *span), 0.99) for span in spans)
    assert is_unchanged(max(before, after), during, 1.2)
    promise(
        "P12",
        f"{ROOMS} of {2 * ROOMS} frozen: streams freed after {gone:.1f} s, shown as disconnected after {shown:.1f} s; "
        f"the others' p99 {before * 1e3:.0f} ms before, {during * 1e3:.0f} ms meanwhile, "
        f"{after * 1e3:.0f} ms afterwards",
    )


@pytest.mark.long
@pytest.mark.control("P12")
async def test_control_a_server_that_does_not_ask_notices_nothing(
    tmp_path: Path, history: History, promise: Promise
) -> None:
    with started(tmp_path, environ={"MAUMAU_KEEPALIVE_SECONDS": "3600"}, envoy=False) as rig:
        async with seated(rig.stack, history) as seats:
            for each in seats.frozen:
                each.freeze()
            await freed(rig.stack, ROOMS)
            still = watching(rig.stack) - ROOMS
    assert still > 0
    promise("P12", f"without asking {still} of {ROOMS} are taken for alive after {NOTICED_SECONDS:.0f} s")
