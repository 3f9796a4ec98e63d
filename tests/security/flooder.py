"""Somebody far above the limits, in a process of its own: `python -m tests.security.flooder ADDRESS`.

Makes a room, and for each line of its standard input, a number of seconds, calls `Act` there so long, far too often;
answers with a line that says how the calls ended. Where it runs on the machine of the server it stands behind whatever
that has to do (nice 19): what making calls costs a stranger is not the server's.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from typing import Any, Final

import grpc
import maumau

from tests.e2e.calls import Guest, channel_to, reason_of, sign_in

A_SECOND: Final = 200


async def evenly(call: Callable[[int], Coroutine[Any, Any, None]], a_second: int, seconds: int) -> None:
    """So many calls, numbered, none of which waits for another; on a busy machine the late ones follow at once."""
    began = time.monotonic()
    sent: list[asyncio.Task[None]] = []
    for number in range(a_second * seconds):
        await asyncio.sleep(max(0.0, began + number / a_second - time.monotonic()))
        sent.append(asyncio.create_task(call(number)))
    await asyncio.gather(*sent)


async def _flood(eve: Guest, room: str, seconds: int) -> Counter[str]:
    outcomes: Counter[str] = Counter()

    async def one(number: int) -> None:
        try:
            await eve.act(room, maumau.actions.set_ready(number % 2 == 0), 0, request_id=os.urandom(16))
            outcomes["OK"] += 1
        except grpc.aio.AioRpcError as error:
            outcomes[reason_of(error)[0] or repr(error)] += 1

    await evenly(one, A_SECOND, seconds)
    return outcomes


async def _serve(address: str) -> None:
    async with channel_to(address) as channel:
        eve = await sign_in(channel, "Eve")
        room = await eve.create_room(2)
        print("ready", flush=True)
        while line := await asyncio.to_thread(sys.stdin.readline):
            print(json.dumps(await _flood(eve, room, int(line))), flush=True)


@contextlib.asynccontextmanager
async def flooder(address: str) -> AsyncIterator[Callable[[int], Awaitable[Counter[str]]]]:
    """Gives what floods for so many seconds and says how its calls ended."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.security.flooder", address), stdin=pipe, stdout=pipe
    )
    assert process.stdin is not None
    assert process.stdout is not None
    asked, answers = process.stdin, process.stdout

    async def flood(seconds: int) -> Counter[str]:
        asked.write(b"%d\n" % seconds)
        return Counter(json.loads(await answers.readline()))

    try:
        assert await answers.readline() == b"ready\n"
        yield flood
    finally:
        asked.close()
        await process.wait()


if __name__ == "__main__":
    os.nice(19)
    asyncio.run(_serve(sys.argv[1]))
