"""Two people who play on beside an attack, in a process of their own: `python -m tests.security.bystanders ADDRESS`.

They act evenly until their standard input ends, and print how many acts there were and how long they took in seconds.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
import time
from collections.abc import AsyncIterator
from typing import Final, NamedTuple

import maumau

from tests.e2e.lounge import lounge

BETWEEN_ACTS_SECONDS: Final = 0.1


class Latency(NamedTuple):
    """Of the acts of both."""

    acts: int
    median: float
    p99: float


async def _play(address: str) -> Latency:
    seconds: list[float] = []
    async with lounge(address) as place:
        sides = await place.table("Ana", "Bo")
        print("playing", flush=True)
        acting = [asyncio.create_task(_act(side, seconds)) for side in sides]
        await asyncio.to_thread(sys.stdin.read)
        for task in acting:
            task.cancel()
        await asyncio.gather(*acting, return_exceptions=True)
    ordered = sorted(seconds)
    return Latency(len(ordered), ordered[len(ordered) // 2], ordered[int(len(ordered) * 0.99)])


async def _act(side: maumau.Room, seconds: list[float]) -> None:
    ready = True
    while True:
        began = time.perf_counter()
        await side.act(maumau.actions.set_ready(ready))
        seconds.append(time.perf_counter() - began)
        ready = not ready
        await asyncio.sleep(BETWEEN_ACTS_SECONDS)


@contextlib.asynccontextmanager
async def bystanders(address: str) -> AsyncIterator[list[Latency]]:
    """They play inside; afterwards the list holds what they met."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.security.bystanders", address), stdin=pipe, stdout=pipe
    )
    assert process.stdout is not None
    met: list[Latency] = []
    try:
        assert await process.stdout.readline() == b"playing\n"
        yield met
    finally:
        answer, _ = await process.communicate(b"")
    met.append(Latency(*json.loads(answer)))


if __name__ == "__main__":
    print(json.dumps(asyncio.run(_play(sys.argv[1]))))
