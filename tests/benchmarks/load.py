"""The clients of one run, in a process of their own: `python -m tests.benchmarks.load SPEC` prints one JSON line.

They enter, begin, and are measured in one window for each think time, after it has settled.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from typing import Any, Final, Protocol

import msgspec
import uvloop

from tests.benchmarks.machine import busy_seconds, cpu_seconds
from tests.benchmarks.meter import Meter, percentile
from tests.benchmarks.reference.players import SketchRoom
from tests.benchmarks.sdk_players import SdkRoom
from tests.benchmarks.seating import Seating
from tests.benchmarks.stream_players import StreamRoom

AT_ONCE: Final = 8
"""Rooms that enter at a time."""
SETTLE_SECONDS: Final = 2.0


class Spec(msgspec.Struct, kw_only=True):
    """What to run. `players`: sketch, sdk or stream; `shape`: play, act or act-pubsub. `lobby` serves identity and
    matchmaking. `pids` of the processes whose CPU is read: `server`, and others beside it."""

    players: str
    shape: str
    address: str
    lobby: str = ""
    rooms: int
    thinks: list[float]
    seconds: float
    pids: dict[str, int]


class Room(Protocol):
    """Four players in one room."""

    async def enter(self) -> None: ...

    async def begin(self) -> None: ...


def _rooms(spec: Spec, meter: Meter) -> list[Room]:
    if spec.players == "sketch":
        return [SketchRoom(spec.address, spec.shape, meter) for _ in range(spec.rooms)]
    seating = Seating(spec.lobby)
    if spec.players == "stream":
        return [StreamRoom(spec.address, seating, meter) for _ in range(spec.rooms)]
    mode: Any = "play" if spec.shape == "play" else "unary"
    return [SdkRoom(spec.address, mode, seating, meter) for _ in range(spec.rooms)]


async def run(spec: Spec) -> list[dict[str, Any]]:
    """The figures of each think time."""
    meter = Meter()
    meter.think = spec.thinks[0]
    rooms = _rooms(spec, meter)
    gate = asyncio.Semaphore(AT_ONCE)

    async def enter(room: Room) -> None:
        async with gate:
            await room.enter()

    await asyncio.gather(*map(enter, rooms))
    await asyncio.gather(*(room.begin() for room in rooms))
    figures = []
    for think in spec.thinks:
        meter.think = think
        await asyncio.sleep(SETTLE_SECONDS + think)
        figures.append(await _window(spec, meter))
    return figures


async def _window(spec: Spec, meter: Meter) -> dict[str, Any]:
    meter.start()
    began, before = time.perf_counter(), _used(spec)
    await asyncio.sleep(spec.seconds)
    meter.on = False
    accepted, seconds = meter.accepted, time.perf_counter() - began
    used = {name: after - before[name] for name, after in _used(spec).items()}
    others = used.pop("machine") - sum(used.values())
    return {
        "think": meter.think,
        "actions_per_second": round(accepted / seconds, 1),
        "refused": dict(meter.refused),
        "p50_ms": _ms(percentile(meter.seen, 0.5)),
        "p99_ms": _ms(percentile(meter.seen, 0.99)),
        "cpu_us": {name: round(spent / max(1, accepted) * 1e6, 1) for name, spent in used.items()},
        "client_cores": round(used["clients"] / seconds, 2),
        "server_cores": round(used["server"] / seconds, 2),
        "other_cores": round(others / seconds, 2),
    }


def _used(spec: Spec) -> dict[str, float]:
    processes = {name: cpu_seconds(pid) for name, pid in spec.pids.items()}
    return {**processes, "clients": cpu_seconds(os.getpid()), "machine": busy_seconds()}


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds * 1e3, 2)


if __name__ == "__main__":
    print(json.dumps(uvloop.run(run(msgspec.json.decode(sys.argv[1], type=Spec)))), flush=True)
    os._exit(0)  # streams and channels end with the process
