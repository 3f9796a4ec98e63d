"""Calls between a client and a process: messages in order, with delay and a window, until something ends them."""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Final

from services.runtime import auth
from services.runtime.errors import reason_of, to_status
from services.runtime.tokens import Session
from tests.simulation.loop import Node, here
from tests.simulation.sources import Log

WINDOW_BYTES: Final = 65_536
"""What may be under way to a client that does not read."""


class CallLost(Exception):  # noqa: N818 - what a client sees, not a fault of the simulation
    """The connection broke; what was asked may have happened."""


class CallRefused(Exception):  # noqa: N818 - as above
    """The server ended the call with this reason of the catalogue, without prefix."""

    def __init__(self, reason: str, metadata: dict[str, str]) -> None:
        super().__init__(reason)
        self.reason = reason
        self.metadata = metadata


@dataclass
class Network:
    """The way between clients and processes. Times in seconds."""

    chance: random.Random
    latency: float = 0.02

    def delay(self) -> float:
        return self.latency * (0.1 + self.chance.random())


class CallContext:
    """What handlers ask of a gRPC context."""

    def __init__(self, seconds: float) -> None:
        self._ends = asyncio.get_running_loop().time() + seconds

    def time_remaining(self) -> float:
        return self._ends - asyncio.get_running_loop().time()


class Call:
    """One streaming call. The client's side: `send`, `finish`, `receive`, `cut`. `serve` runs on the process."""

    def __init__(self, client: Node, server: Node, network: Network, log: Log) -> None:
        self.client = client
        self.server = server
        self.over = False
        self.task: asyncio.Task[None] | None = None
        self._network = network
        self._log = log
        self._requests: asyncio.Queue[Any] = asyncio.Queue()
        self._inbox: deque[bytes] = deque()
        self._wake = asyncio.Event()
        self._end: Exception | None = None
        self._ended = False
        self._under_way = 0
        self._room = asyncio.Event()
        self._up_until = self._down_until = 0.0

    # The client's side.

    def send(self, request: Any) -> None:
        self._up(self._requests.put_nowait, request)

    def finish(self) -> None:
        """No more requests: the client ends its side."""
        self._up(self._requests.put_nowait, None)

    async def receive(self) -> bytes | None:
        """The next message; None when the stream has ended well. Raises CallLost and CallRefused."""
        while not self._inbox:
            if self._ended:
                if self._end is not None:
                    raise self._end
                return None
            self._wake.clear()
            await self._wake.wait()
        message = self._inbox.popleft()
        self._up(self._read, len(message))
        return message

    def cut(self, seen_by_server_after: float = 0.05) -> None:
        """The connection is gone; the process notices later."""
        self.server.after(seen_by_server_after, self._cancel)
        self.over = True
        self.client.after(0.0, self._ends, CallLost("the connection broke"))

    def _up(self, deliver: Callable[..., object], *args: object) -> None:
        if self.over:
            return
        now = asyncio.get_running_loop().time()
        self._up_until = max(self._up_until, now + self._network.delay())
        self.server.after(self._up_until - now, deliver, *args)

    # The server's side.

    async def serve(self, handler: Callable[[AsyncIterator[Any], CallContext], Any], session: Session) -> None:
        """Runs the handler and passes on what it yields."""
        auth._caller.set(session)
        self.task = asyncio.current_task()
        end: Exception | None = CallLost("cancelled")
        try:
            async with aclosing(handler(self._incoming(), CallContext(3_600))) as messages:
                async for message in messages:
                    await self._write(message)
            end = None
        except Exception as error:
            end = refused(error, self._log)
        finally:
            self._down(self._ends, end)

    async def _incoming(self) -> AsyncIterator[Any]:
        while (request := await self._requests.get()) is not None:
            yield request

    async def _write(self, message: bytes) -> None:
        while self._under_way > WINDOW_BYTES:
            self._room.clear()
            await self._room.wait()
        self._under_way += len(message)
        self._down(self._arrive, message)

    def _down(self, deliver: Callable[..., object], *args: object) -> None:
        if self.over:
            return
        now = asyncio.get_running_loop().time()
        self._down_until = max(self._down_until, now + self._network.delay())
        self.client.after(self._down_until - now, deliver, *args)

    def _read(self, size: int) -> None:
        self._under_way -= size
        self._room.set()

    def _arrive(self, message: bytes) -> None:
        if not self._ended:
            self._inbox.append(message)
            self._wake.set()

    def _ends(self, error: Exception | None) -> None:
        if not self._ended:
            self._ended, self._end = True, error
            if isinstance(error, CallLost):
                self._inbox.clear()
            self.over = True
            self._wake.set()

    def _cancel(self) -> None:
        if self.task is not None and not self.task.done():
            self.task.cancel()

    def server_died(self, notice_after: float) -> None:
        """The process was killed; the client hears of it after that time."""
        self.over = True
        self.client.after(notice_after, self._ends, CallLost("the server died"))


def refused(error: Exception, log: Log) -> CallRefused:
    """What the client gets for an exception of a handler; one that nobody foresaw is logged."""
    answer = to_status(error)
    if answer is None:
        log.exception("handler failed", error=repr(error))
        return CallRefused("INTERNAL", {})
    return CallRefused(reason_of(answer), dict(getattr(error, "metadata", {})))


class UnaryCall:
    """One question and one answer."""

    def __init__(self, client: Node, server: Node, network: Network, log: Log) -> None:
        self.client, self.server = client, server
        self._network, self._log = network, log
        self._answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

    async def ask(
        self, handler: Callable[[Any, CallContext], Any], request: Any, session: Session, seconds: float
    ) -> Any:
        """The answer. Raises CallRefused, and CallLost also where none came in time."""
        self.server.after(self._network.delay(), self._begin, handler, request, session, seconds)
        try:
            answer = await asyncio.wait_for(self._answer, seconds)
        except TimeoutError:
            raise CallLost("no answer in time") from None
        if isinstance(answer, Exception):
            raise answer
        return answer

    def _begin(self, handler: Any, request: Any, session: Session, seconds: float) -> None:
        here().spawn(self._run(handler, request, session, seconds), "unary")

    async def _run(self, handler: Any, request: Any, session: Session, seconds: float) -> None:
        auth._caller.set(session)
        try:
            answer = await handler(request, CallContext(seconds))
        except Exception as error:
            answer = refused(error, self._log)
        self.client.after(self._network.delay(), self.settle, answer)

    def settle(self, answer: Any) -> None:
        if not self._answer.done():
            self._answer.set_result(answer)
