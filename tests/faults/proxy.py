"""A proxy between services and Redis that delays what subscribers hear, or loses replies; and what all proxies do.

They run in a thread with a loop of its own, so that what they do to others does not depend on the test's loop. Their
faults are plain attributes, to be changed at any time from any thread.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Final, TypeVar

Accept = Callable[[asyncio.StreamReader, asyncio.StreamWriter], None]
Side = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Way = Coroutine[Any, Any, None]
B = TypeVar("B", bound="Between")

SUBSCRIBING: Final = b"SSUBSCRIBE"
CHUNK: Final = 65_536


class Between(ABC):
    """Passes connections on to another side. `lost_replies` is the share of answers (0 to 1) at which a connection
    breaks instead, when what was asked has arrived; `lost` counts them."""

    def __init__(self, seed: int = 1) -> None:
        self.lost_replies = 0.0
        self.lost = 0
        self._chance = random.Random(seed)
        self._loop = asyncio.new_event_loop()
        self._listening = threading.Event()
        self._stop = asyncio.Event()
        self._thread = threading.Thread(target=self._run, name="proxy", daemon=True)

    @abstractmethod
    async def listen(self, accept: Accept) -> asyncio.Server:
        """Begins to accept connections."""

    @abstractmethod
    async def connect(self) -> Side:
        """A connection to the other side. Raises OSError."""

    @abstractmethod
    def ways(self, here: Side, there: Side) -> Sequence[Way]:
        """What goes on between two connections that belong together; both end when one of these does."""

    def __enter__(self: B) -> B:
        self._thread.start()
        assert self._listening.wait(10), "the proxy does not listen"
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()

    def heal(self) -> None:
        """No faults from now on; the counts begin anew."""
        self.lost_replies = 0.0
        self.lost = 0

    def loses_this(self) -> bool:
        """Whether the next answer is lost."""
        lost = self._chance.random() < self.lost_replies
        self.lost += lost
        return lost

    def _run(self) -> None:
        with contextlib.closing(self._loop):
            self._loop.run_until_complete(self._serve())

    async def _serve(self) -> None:
        lines = set[asyncio.Task[None]]()

        def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            line = asyncio.create_task(self._pass_on((reader, writer)))
            lines.add(line)
            line.add_done_callback(lines.discard)

        server = await self.listen(accept)
        self._listening.set()
        await self._stop.wait()
        server.close()
        for line in lines:
            line.cancel()
        await asyncio.gather(*lines, return_exceptions=True)

    async def _pass_on(self, here: Side) -> None:
        """Until either side ends."""
        writers, tasks = [here[1]], list[asyncio.Task[None]]()
        try:
            there = await self.connect()
            writers.append(there[1])
            tasks += [asyncio.create_task(way) for way in self.ways(here, there)]
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        except OSError:
            pass  # nobody is there: this side sees its connection end
        finally:
            for writer in writers:
                writer.close()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


class Proxy(Between):
    """From one Unix socket to that of Redis. It speaks no Redis: it passes bytes on, and only looks for the command
    that makes a connection one of a subscriber. `channel_delay_seconds` holds back everything that goes to such a one;
    replies are lost on the others."""

    def __init__(self, redis_socket: Path, listens_on: Path, seed: int = 1) -> None:
        super().__init__(seed)
        self.channel_delay_seconds = 0.0
        self.delayed = 0
        self._behind, self._socket = redis_socket, listens_on

    @property
    def url(self) -> str:
        """What services are given in place of Redis."""
        return f"unix://{self._socket}"

    def heal(self) -> None:
        super().heal()
        self.channel_delay_seconds = 0.0
        self.delayed = 0

    async def listen(self, accept: Accept) -> asyncio.Server:
        return await asyncio.start_unix_server(accept, self._socket)

    async def connect(self) -> Side:
        return await asyncio.open_unix_connection(self._behind)

    def ways(self, here: Side, there: Side) -> Sequence[Way]:
        line = _Line(self, here, there)
        return line.pass_commands(), line.hold_answers(), line.pass_answers()


class _Line:
    """One connection of a service and the one to Redis that belongs to it."""

    def __init__(self, proxy: Proxy, here: Side, there: Side) -> None:
        self._proxy = proxy
        self._reader, self._writer = here
        self._answers, self._commands = there
        self._subscribed = False
        self._held = asyncio.Queue[tuple[float, bytes]]()

    async def pass_commands(self) -> None:
        before = b""
        while chunk := await self._reader.read(CHUNK):
            self._subscribed = self._subscribed or SUBSCRIBING in before + chunk
            before = chunk[-len(SUBSCRIBING) :]
            self._commands.write(chunk)
            await self._commands.drain()

    async def hold_answers(self) -> None:
        now = asyncio.get_running_loop().time
        while chunk := await self._answers.read(CHUNK):
            delay = self._proxy.channel_delay_seconds if self._subscribed else 0.0
            if not self._subscribed and self._proxy.loses_this():
                return
            self._proxy.delayed += delay > 0
            self._held.put_nowait((now() + delay, chunk))

    async def pass_answers(self) -> None:
        now = asyncio.get_running_loop().time
        while True:
            due, chunk = await self._held.get()
            await asyncio.sleep(due - now())
            self._writer.write(chunk)
            await self._writer.drain()
