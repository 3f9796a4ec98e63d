"""A process with a wrong clock changes no deadline and no result: the same matches, move by move, on a server whose
clocks are right and on one of whose processes one is a minute ahead and one a minute behind.

Seeds follow from names (`given_seeds.py`), people move by chance drawn from the same names, and let the clock move for
them now and then. Control: processes whose timers go by their own clock.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import time
from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import grpc
import maumau
import pytest
from maumau.v1 import authority_pb2_grpc, room_pb2

from services.local.stack import Stack
from services.rules.room.actions import CreditTime
from services.rules.room.journal import decode_entry
from services.runtime.routes import GAME_AUTHORITY, MATCHMAKING
from services.store.assembly import Store
from services.store.connect import StoreSettings
from services.store.records import LogEntry
from tests.e2e.calls import Duel, channel_to, sign_in
from tests.e2e.stacks import complaints, options, with_authority
from tests.faults.checker import read_log
from tests.faults.crashing import WITHOUT
from tests.faults.firings import early, firings
from tests.faults.record import Promise
from tests.faults.scale import PATIENCE, USUAL, count
from tests.faults.sitting import SHORTEST_TURN_SECONDS
from tests.faults.wrong_clock import wrong_clock

pytestmark = [PATIENCE, pytest.mark.needs("faketime")]

ROOMS, STEPS = count(4, 20, 100), count(8, 60, 120)
BANK_SECONDS = 1
SILENCE = count(8, 12, 12)
"""In one of so many steps, another one in each room, nobody moves, and the clock does."""
AHEAD, BEHIND = 60, -60
TIMES = {"MAUMAU_WINDOW_SECONDS": "5"}
"""So that no window ends while somebody is about to act."""
MODULES = with_authority("tests.faults.given_seeds")
Stub = authority_pb2_grpc.GameAuthorityServiceStub


class Step(NamedTuple):
    """A version without its time, and with places in the room instead of identities."""

    payload: bytes
    kind: int
    ms: int
    banks: tuple[int, ...]


def clock_of(stack: Stack, name: str) -> float:
    """How far a process's clock is ahead, in s, as its last line says."""
    said = datetime.fromisoformat(json.loads(stack[name].log().splitlines()[0])["time"])
    return said.timestamp() - time.time()


@contextlib.asynccontextmanager
async def stubs(stack: Stack, *numbers: int) -> AsyncIterator[list[Stub]]:
    """Of these processes, by their place."""
    async with contextlib.AsyncExitStack() as opened:
        addresses = [stack.addresses(GAME_AUTHORITY)[number] for number in numbers]
        yield [Stub(await opened.enter_async_context(channel_to(address))) for address in addresses]


async def play_all(stack: Stack, *numbers: int) -> list[list[Step]]:
    """The logs of all rooms, played at these processes in turn."""
    async with (
        channel_to(stack.addresses(MATCHMAKING)[0]) as lobby,
        stubs(stack, *numbers) as processes,
        Store(StoreSettings(url=stack.redis_url)) as store,
    ):
        return list(await asyncio.gather(*(play(lobby, processes, store, number) for number in range(ROOMS))))


async def play(lobby: grpc.aio.Channel, processes: Sequence[Stub], store: Store, number: int) -> list[Step]:
    """One room, one step after the other."""
    chance = random.Random(number)
    pair = await seated(lobby, processes[-1], number)
    version = await started(pair)
    for step in range(STEPS):
        pair.ana.rooms = pair.bo.rooms = processes[step % len(processes)]
        silent = step % SILENCE == (3 + number) % SILENCE
        version = await (beyond(pair, version) if silent else advance(pair, version, chance))
    log = await read_log(store.rooms, pair.room)
    return [told(pair, entry) for entry in log if entry.version <= version and not _credits(entry)]


def _credits(entry: LogEntry) -> bool:
    """A machine that was too busy for a while, which is an outage like any other."""
    return isinstance(decode_entry(entry.payload).action, CreditTime)


async def seated(lobby: grpc.aio.Channel, process: Stub, number: int) -> Duel:
    ana, bo = [await sign_in(lobby, f"{name} {number}") for name in ("Ana", "Bo")]
    ana.rooms = bo.rooms = process
    pair = Duel(ana, bo, await ana.create_room(2, turn_seconds=SHORTEST_TURN_SECONDS, bank_seconds=BANK_SECONDS))
    await bo.join(pair.room)
    return pair


async def started(pair: Duel) -> int:
    """The version at which the match has begun."""
    await pair.ready()
    return (await pair.ana.act(pair.room, maumau.actions.start(), 0)).version


async def advance(pair: Duel, version: int, chance: random.Random) -> int:
    """Who is on turn acts, where a round has ended in the next one; where it is the clock's turn, or a bot's, it does.
    The next version."""
    if (await pair.ana.get_room(pair.room, since_version=version - 1)).room.state == room_pb2.ROOM_STATE_PAUSE:
        version = await beyond(pair, version)
    for guest in (pair.ana, pair.bo):
        view = (await guest.get_room(pair.room, since_version=version - 1, wait_milliseconds=5_000)).room
        if may_act(view):
            legal = sorted(view.legal.actions, key=lambda action: action.SerializeToString(deterministic=True))
            return (await guest.act(pair.room, chance.choice(legal), view.version)).version
    return await beyond(pair, version)


def may_act(view: room_pb2.RoomView) -> bool:
    """Whether the table waits for this person, and no bot plays the seat."""
    on_turn = view.shedding.turn == view.own_seat and bool(view.legal.actions)
    return on_turn and not view.seats[view.own_seat].played_by_bot


async def beyond(pair: Duel, version: int) -> int:
    """The version that the clock or a bot makes."""
    while True:
        view = (await pair.ana.get_room(pair.room, since_version=version, wait_milliseconds=5_000)).room
        if view.version > version:
            return version + 1


def told(pair: Duel, entry: LogEntry) -> Step:
    payload = entry.payload.replace(pair.room.encode(), b"room")
    for guest, name in ((pair.ana, b"ana"), (pair.bo, b"bo")):
        payload = payload.replace(guest.id.encode(), name)
    clock = entry.clock
    return Step(payload, clock.kind, clock.deadline - clock.due_from, clock.banks)


@USUAL
@pytest.mark.shows("P17")
async def test_a_wrong_clock_changes_no_deadline_and_no_result(tmp_path: Path, promise: Promise) -> None:
    wrong = {f"{GAME_AUTHORITY}-2": wrong_clock(AHEAD), f"{GAME_AUTHORITY}-3": wrong_clock(BEHIND)}
    async with (
        server(tmp_path / "right") as right,
        server(tmp_path / "wrong", authorities=3, environ_of=wrong) as other,
    ):
        assert [round(clock_of(other, name)) for name in wrong] == pytest.approx([AHEAD, BEHIND], abs=20)
        logs = await asyncio.gather(play_all(right, 0), play_all(other, 0, 1), play_all(other, 2, 0))
        assert complaints(other) == []
    assert logs[0] == logs[1] == logs[2]
    steps = sum(len(log) for log in logs[0])
    promise(
        "P17", f"{steps:,} versions of {ROOMS} rooms alike with right clocks, one {AHEAD} s ahead, one {-BEHIND} behind"
    )


@contextlib.asynccontextmanager
async def server(var_dir: Path, **changed: Any) -> AsyncIterator[Stack]:
    """Starts it beside the loop, so that several start at the same time."""
    changed = {"authorities": 1, "environ": TIMES, "modules": MODULES, "envoy": False, **changed}
    stack = Stack(options(var_dir, **changed))
    try:
        await asyncio.to_thread(stack.start)
        yield stack
    finally:
        await asyncio.to_thread(stack.stop)


@pytest.mark.control("P17")
async def test_control_timers_by_a_process_own_clock_are_found_out(tmp_path: Path, promise: Promise) -> None:
    environ = {**TIMES, WITHOUT: "clock of Redis"}
    ahead = {f"{GAME_AUTHORITY}-1": wrong_clock(AHEAD)}
    async with (
        server(tmp_path, environ=environ, environ_of=ahead) as stack,
        channel_to(stack.addresses(MATCHMAKING)[0]) as lobby,
        stubs(stack, 0) as processes,
        Store(StoreSettings(url=stack.redis_url)) as store,
    ):
        pair = await seated(lobby, processes[0], 0)
        await beyond(pair, await started(pair))
        log = await read_log(store.rooms, pair.room)
    moved = early(firings(pair.room, log))
    assert moved
    promise("P17", f"a deadline {-moved[0].late_ms / 1000:.0f} s early by a process that goes by its own clock")
