"""A proxy between services and Redis that delays what subscribers hear, or loses replies.

It speaks no Redis: it passes bytes on, and only looks for the command that makes a connection one of a subscriber. It
runs in a thread with a loop of its own, so that what it does to others does not depend on the test's loop. Its faults
are plain attributes, to be changed at any time from any thread.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import threading
from pathlib import Path
from types import TracebackType
from typing import Final

SUBSCRIBING: Final = b"SSUBSCRIBE"
CHUNK: Final = 65_536


class Proxy:
    """From one Unix socket to another. `channel_delay_seconds` holds back everything that goes to a connection which
    has subscribed; `lost_replies` is the share of answers (0 to 1) at which an ordinary connection breaks instead: the
    command has arrived by then."""

    def __init__(self, redis_socket: Path, listens_on: Path, seed: int = 1) -> None:
        self.channel_delay_seconds = 0.0
        self.lost_replies = 0.0
        self.lost = self.delayed = 0
        self._behind, self._socket = redis_socket, listens_on
        self._chance = random.Random(seed)
        self._loop = asyncio.new_event_loop()
        self._listening = threading.Event()
        self._stop = asyncio.Event()
        self._thread = threading.Thread(target=self._run, name="proxy", daemon=True)

    @property
    def url(self) -> str:
        """What services are given in place of Redis."""
        return f"unix://{self._socket}"

    def __enter__(self) -> Proxy:
        self._thread.start()
        assert self._listening.wait(10), "the proxy does not listen"
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()

    def _run(self) -> None:
        with contextlib.closing(self._loop):
            self._loop.run_until_complete(self._serve())

    async def _serve(self) -> None:
        lines = set[asyncio.Task[None]]()

        def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            lines.add(asyncio.create_task(_Line(self, reader, writer).run(self._behind)))

        server = await asyncio.start_unix_server(accept, self._socket)
        self._listening.set()
        await self._stop.wait()
        server.close()
        for line in lines:
            line.cancel()
        await asyncio.gather(*lines, return_exceptions=True)

    def heal(self) -> None:
        """No faults from now on; the counts begin anew."""
        self.channel_delay_seconds = self.lost_replies = 0.0
        self.lost = self.delayed = 0

    def loses_this(self) -> bool:
        """Whether the next answer is lost."""
        lost = self._chance.random() < self.lost_replies
        self.lost += lost
        return lost


class _Line:
    """One connection of a service and the one to Redis that belongs to it."""

    def __init__(self, proxy: Proxy, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._proxy, self._reader, self._writer = proxy, reader, writer
        self._subscribed = False
        self._held = asyncio.Queue[tuple[float, bytes]]()

    async def run(self, behind: Path) -> None:
        """Until either side ends."""
        writers, tasks = [self._writer], list[asyncio.Task[None]]()
        try:
            answers, commands = await asyncio.open_unix_connection(behind)
            writers.append(commands)
            ways = (self._pass_commands(commands), self._hold_answers(answers), self._pass_answers())
            tasks += [asyncio.create_task(way) for way in ways]
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        except OSError:
            pass  # Redis is not there: the service sees its connection end
        finally:
            for writer in writers:
                writer.close()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _pass_commands(self, commands: asyncio.StreamWriter) -> None:
        before = b""
        while chunk := await self._reader.read(CHUNK):
            self._subscribed = self._subscribed or SUBSCRIBING in before + chunk
            before = chunk[-len(SUBSCRIBING) :]
            commands.write(chunk)
            await commands.drain()

    async def _hold_answers(self, answers: asyncio.StreamReader) -> None:
        now = asyncio.get_running_loop().time
        while chunk := await answers.read(CHUNK):
            delay = self._proxy.channel_delay_seconds if self._subscribed else 0.0
            if not self._subscribed and self._proxy.loses_this():
                return
            self._proxy.delayed += delay > 0
            self._held.put_nowait((now() + delay, chunk))

    async def _pass_answers(self) -> None:
        now = asyncio.get_running_loop().time
        while True:
            due, chunk = await self._held.get()
            await asyncio.sleep(due - now())
            self._writer.write(chunk)
            await self._writer.drain()
