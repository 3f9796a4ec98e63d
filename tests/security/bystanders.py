"""People who play on beside an attack, in a process of their own: `python -m tests.security.bystanders ADDRESS`.

They act evenly until their standard input ends, and print of each act how long it took. Who attacks does so now and
then meanwhile, so that what else the machine does meets acts of both kinds alike.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
import resource
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Final, NamedTuple

import maumau

from services.local.stack import Stack
from tests.e2e.eventually import eventually
from tests.e2e.lounge import lounge
from tests.security.length import scaled

TABLES: Final = scaled(1, 4)
BETWEEN_ACTS_SECONDS: Final = 0.1
SETTLING_SECONDS: Final = 0.3
"""Left out at each change: what was still under way then belongs to neither."""
ROUNDS: Final = scaled(1, 24)
QUIET_SECONDS: Final = scaled(1, 4)


class Act(NamedTuple):
    """When it began, by the machine's monotonic clock, and how long it took, both in seconds."""

    began: float
    took: float


class Beside(NamedTuple):
    """How many times as long people's slowest acts (p99) take beside an attack as in between; and the same between one
    half of the calm rounds and the other, since of less than that nobody can tell."""

    ratio: float
    noise: float


async def _play(address: str) -> None:
    async with lounge(address) as place:
        sides = [side for number in range(TABLES) for side in await place.table(f"Ana {number}", f"Bo {number}")]
        print("playing", flush=True)
        acting = [asyncio.create_task(_act(side)) for side in sides]
        await asyncio.to_thread(sys.stdin.read)
        for task in acting:
            task.cancel()
        await asyncio.gather(*acting, return_exceptions=True)


async def _act(side: maumau.Room) -> None:
    ready = True
    while True:
        began = time.monotonic()
        await side.act(maumau.actions.set_ready(ready))
        print(json.dumps(Act(began, time.monotonic() - began)), flush=True)
        ready = not ready
        await asyncio.sleep(BETWEEN_ACTS_SECONDS)


@contextlib.asynccontextmanager
async def bystanders(address: str) -> AsyncIterator[list[Act]]:
    """They play inside; the list holds the acts that have ended."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.security.bystanders", address), stdin=pipe, stdout=pipe
    )
    told = process.stdout
    assert told is not None
    acts: list[Act] = []

    async def listen() -> None:
        async for line in told:
            acts.append(Act(*json.loads(line)))

    try:
        assert await told.readline() == b"playing\n"
        listening = asyncio.create_task(listen())
        yield acts
        assert process.stdin is not None
        process.stdin.close()
        await listening
        await process.wait()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def beside(stack: Stack, attack: Callable[[int], Awaitable[None]]) -> Beside:
    """People play while rounds of calm and of attack alternate. `attack` gets the number of its round."""
    calm: list[tuple[float, float]] = []
    loud: list[tuple[float, float]] = []
    cpu: list[dict[str, float]] = []
    async with bystanders(stack.address) as acts:
        for number in range(ROUNDS):
            for spans, doing in ((calm, asyncio.sleep(QUIET_SECONDS)), (loud, attack(number))):
                await asyncio.sleep(SETTLING_SECONDS)
                began, before = time.monotonic(), cpu_seconds(stack)
                await doing
                spans.append((began, time.monotonic()))
                cpu += [{name: used - before[name] for name, used in cpu_seconds(stack).items()}]
                await eventually(lambda: any(act.began >= began for act in acts), "the others play on")  # noqa: B023 - awaited
    during, quiet = _p99(acts, loud), _p99(acts, calm)
    halves = [_p99(acts, calm[first::2] or calm) for first in (0, 1)]
    met = Beside(during / quiet, max(halves) / min(halves))
    print(
        f"others: p99 {during * 1e3:.1f} ms beside it, {quiet * 1e3:.1f} ms in between, {met.ratio:.2f} times", end=""
    )
    print(f"; calm against calm {met.noise:.2f} times; {len(acts)} acts, {ROUNDS} rounds")
    print(f"cores used: beside it {_cores(cpu[1::2], loud)}; in between {_cores(cpu[::2], calm)}")
    return met


def cpu_seconds(stack: Stack) -> dict[str, float]:
    """Of this process, which attacks where no flooder does, and of each process of the server."""
    own = resource.getrusage(resource.RUSAGE_SELF)
    return {"this process": own.ru_utime + own.ru_stime} | {name: _used(stack[name].pid) for name in stack.children}


def _used(pid: int | None) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


def _p99(acts: list[Act], spans: list[tuple[float, float]]) -> float:
    """Not a number where the machine was so busy that none began; a long run has hundreds."""
    took = sorted(act.took for act in acts if any(began <= act.began < end for began, end in spans))
    return took[int(len(took) * 0.99)] if took else math.nan


def _cores(used: list[dict[str, float]], spans: list[tuple[float, float]]) -> str:
    seconds = sum(end - began for began, end in spans)
    totals = {name: sum(each[name] for each in used) / seconds for name in used[0]}
    return ", ".join(f"{name} {cores:.2f}" for name, cores in totals.items() if cores >= 0.005)


if __name__ == "__main__":
    asyncio.run(_play(sys.argv[1]))
