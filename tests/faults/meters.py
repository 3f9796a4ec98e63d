"""What running processes say about themselves, for tests that wait for it: a few numbers of their metrics."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Final

from services.local.stack import Stack
from services.runtime.routes import GAME_AUTHORITY

LOOK_SECONDS: Final = 0.25


async def now_and_then(condition: Callable[[], bool]) -> bool:
    """For `eventually`, where latencies are measured: who is asked all the time does little else."""
    await asyncio.sleep(LOOK_SECONDS)
    return await asyncio.to_thread(condition)


@contextlib.asynccontextmanager
async def counting_cuts(stack: Stack) -> AsyncIterator[Callable[[], int]]:
    """Gives how many clients were cut, asked for now and then as long as it lasts: where spans of time are compared,
    each of them pays for the asking, which costs an authority some milliseconds."""
    count = 0

    async def ask() -> None:
        nonlocal count
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            count = await asyncio.to_thread(cut, stack)

    asking = asyncio.create_task(ask())
    try:
        yield lambda: count
    finally:
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)


def authorities(stack: Stack) -> list[str]:
    """The names of all authority processes."""
    return [process.name for process in stack.processes if process.service == GAME_AUTHORITY]


def watching(stack: Stack, *names: str) -> int:
    """How many `Watch` streams these processes have open; without names, all authorities."""
    return _sum(stack, names, 'maumau_open_streams{grpc_method="Watch"} ')


def cut(stack: Stack) -> int:
    """How many clients were cut because they did not read."""
    return _sum(stack, (), "maumau_slow_readers_cut_total ")


def _sum(stack: Stack, names: tuple[str, ...], series: str) -> int:
    texts = [stack.metrics(name) for name in names or authorities(stack)]
    lines = [line for text in texts for line in text.splitlines() if line.startswith(series)]
    return sum(round(float(line.removeprefix(series))) for line in lines)
