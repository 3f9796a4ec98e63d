"""How many tickets one matchmaking process matches in a second, and at what CPU.

The process is the real one. Tickets are opened for it in the store, as other processes would; its rooms it asks of a
stand-in for the authority over gRPC, which says that every match began. Its CPU is read from the system."""

from __future__ import annotations

import asyncio
import os
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Final

from maumau.internal.v1 import room_control_pb2 as internal
from maumau.internal.v1.room_control_pb2_grpc import add_RoomControlServiceServicer_to_server
from maumau.v1 import matchmaking_pb2 as pb
from maumau.v1 import room_pb2, rules_pb2

from services.matchmaking.wishes import About, duration, encode_about, encode_wish, read_wish
from services.runtime.auth import InternalGuard
from services.runtime.lifecycle import Runtime
from services.runtime.settings import PREFIX, Settings
from services.runtime.unoffered import offer
from services.store.assembly import Store
from services.store.connect import StoreSettings
from services.store.keys import PlayerId
from services.store.tickets import Member, Request, TicketStore
from tests.benchmarks import machine

PRESETS: Final = ("mau-mau-32", "uno", "uno-mattel", "mau-mau-brasil")
SEATS: Final = 4
STEP_SECONDS: Final = 0.05
MOST_CORES: Final = 1.0
LEAST_SHARE: Final = 0.95
"""Of the tickets that were opened; the others had just come, or wait for somebody like them."""
_NAME: Final = "speed"


class Rooms:
    """An authority that makes every room and whose matches begin at once."""

    def __init__(self) -> None:
        self.matched = 0

    async def CreateRoom(self, request: internal.CreateRoomRequest, context: Any) -> internal.CreateRoomResponse:  # noqa: N802
        self.matched += len(request.people)
        return internal.CreateRoomResponse(seats=[person.seat for person in request.people])

    async def GetRoomSummary(  # noqa: N802
        self, request: internal.GetRoomSummaryRequest, context: Any
    ) -> internal.GetRoomSummaryResponse:
        playing = room_pb2.RoomSummary(state=room_pb2.ROOM_STATE_PLAYING)
        return internal.GetRoomSummaryResponse(room=playing, match_began=True)


class _Bare:
    async def ready(self) -> bool:
        return True

    async def drain(self) -> None:
        return None

    async def resume(self) -> None:
        return None

    async def close(self) -> None:
        return None


def measure_speed(url: str, keys_dir: Path, per_second: int, seconds: float) -> dict[str, Any]:
    """Opens so many tickets a second for so long, and sees how many are matched by then."""
    return asyncio.run(_measure(url, keys_dir, per_second, seconds))


async def _measure(url: str, keys_dir: Path, per_second: int, seconds: float) -> dict[str, Any]:
    rooms = Rooms()
    settings = Settings(
        public_port=0, internal_port=0, metrics_port=0, keys_dir=keys_dir, redis_url=url, log_level="warning"
    )
    runtime = Runtime("stand-in", settings)

    async def bind(runtime: Runtime) -> _Bare:
        runtime.internal.guard(InternalGuard(settings))
        served = offer("maumau.internal.v1.RoomControlService", rooms)
        runtime.internal.add(add_RoomControlServiceServicer_to_server, served)
        return _Bare()

    serving = asyncio.create_task(runtime.run(bind))
    await runtime.started.wait()
    matching = _start(url, keys_dir, runtime.internal.number)
    try:
        return await _feed(url, rooms, matching.pid, per_second, seconds)
    finally:
        matching.terminate()
        await asyncio.to_thread(matching.wait)
        runtime.stop()
        await serving


def _start(url: str, keys_dir: Path, authority: int) -> subprocess.Popen[bytes]:
    values = {
        "REDIS_URL": url,
        "REDIS_PREFIX": _NAME,
        "KEYS_DIR": str(keys_dir),
        "GAME_AUTHORITY_TARGET": f"127.0.0.1:{authority}",
        "LOG_LEVEL": "warning",
        **dict.fromkeys(("PUBLIC_PORT", "INTERNAL_PORT", "METRICS_PORT"), "0"),
    }
    environ = {**os.environ, **{PREFIX + name: value for name, value in values.items()}}
    return subprocess.Popen([sys.executable, "-m", "services.matchmaking"], env=environ)


async def _feed(url: str, rooms: Rooms, pid: int, per_second: int, seconds: float) -> dict[str, Any]:
    chance = random.Random(1)
    async with Store(StoreSettings(url=url, prefix=_NAME)) as store:
        tickets = TicketStore(store.pipelines, 60_000, 10_000)
        await _warm_up(tickets, rooms, chance)
        opened, matched, used, began = 0, rooms.matched, machine.cpu_seconds(pid), time.perf_counter()
        while (gone := time.perf_counter() - began) < seconds:
            due = round(per_second * gone) - opened
            await asyncio.gather(*(_open(tickets, chance, opened + number) for number in range(due)))
            opened += due
            await asyncio.sleep(STEP_SECONDS)
        in_time, took = rooms.matched - matched, time.perf_counter() - began
        cores = (machine.cpu_seconds(pid) - used) / took
    sentence = f"{in_time} of {opened} tickets were matched in {took:.0f} s on {cores:.2f} cores"
    return {
        "opened": opened,
        "matched": in_time,
        "seconds": round(took, 1),
        "per_second": round(in_time / took),
        "cores": round(cores, 2),
        "missed": [sentence] if cores > MOST_CORES or in_time < LEAST_SHARE * opened else [],
    }


async def _warm_up(tickets: TicketStore, rooms: Rooms, chance: random.Random) -> None:
    """Until the process matches."""
    await asyncio.gather(*(_open(tickets, chance, -number) for number in range(1, 200)))
    async with asyncio.timeout(60):
        while rooms.matched < 100:  # noqa: ASYNC110 - what is waited for is in another process
            await asyncio.sleep(STEP_SECONDS)


_WISHES: Final = [
    read_wish(pb.TicketRequest(ruleset=rules_pb2.Ruleset(preset=preset), seats=SEATS, patience=duration(60_000)), 0, 1)
    for preset in PRESETS
]


async def _open(tickets: TicketStore, chance: random.Random, number: int) -> None:
    members = (Member(PlayerId(f"player {number}"), f"Player {number}"),)
    wish = chance.choice(_WISHES)
    about = About(ratings=(chance.gauss(25.0, 6.0),))
    await tickets.open(Request(f"t{number}", members, encode_wish(wish), encode_about(about), wish.digest(members)))
