"""The queue between a room and one stream: bounded in bytes and in the age of its oldest message.

A room puts encoded messages in and never waits; the stream's handler takes them out and writes. A client that does not
read fills its queue; then the queue is given up, the handler ends the stream with a resume token, and nobody else has
noticed (facts: a client that never reads lets the server send about 5 MB before a write blocks).
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Final, Self

from services.runtime import metrics
from services.store.records import Head

QUEUE_BYTES: Final = 1 << 20
"""What one stream may have waiting."""

OLDEST_SECONDS: Final = 10.0
"""How long the oldest waiting message may wait."""


class Outlet:
    """One stream's way out. `put` and `end` may be called by anybody; the stream's handler iterates over the messages,
    which ends, or raises what the client is told, when there is none and none will come."""

    def __init__(self, max_bytes: int = QUEUE_BYTES, max_age: float = OLDEST_SECONDS) -> None:
        self._waiting: deque[tuple[float, bytes, Head | None, float | None]] = deque()
        self._bytes = 0
        self._max_bytes = max_bytes
        self._max_age = max_age
        self._ended = self._ending = False
        self._error: Exception | None = None
        self._held = 0
        self._last = b""
        self._loop = asyncio.get_running_loop()
        self._now = self._loop.time
        self._wanted: asyncio.Future[None] | None = None
        self._taken_at = self._now()
        self._writing = False
        self._committed_at: float | None = None
        self.reached: Head | None = None
        """How far in the room's history the client is with what was taken out: what is dropped it has not got."""

    @property
    def ended(self) -> bool:
        return self._ended

    def put(self, message: bytes, reached: Head | None = None, committed_at: float | None = None) -> None:
        """Queues a message, which brings the client to `reached` if it is about a version; does nothing after the end.
        `committed_at`, in seconds of the event loop, of an event whose way is measured."""
        if self._ended:
            return
        self._waiting.append((self._now(), message, reached, committed_at))
        self._bytes += len(message)
        self._wake()

    def end(self, error: Exception | None = None, *, last: bytes = b"", drop: bool = False) -> None:
        """Ends the stream after what waits and the message `last`, or at once with `drop`. The first end counts."""
        if self._ended or (self._ending and not drop):
            return
        self._ending = True
        self._error = error
        self._last = last
        if drop:
            self._waiting.clear()
            self._bytes = 0
        if drop or not self._held:
            self._end_now()

    def _end_now(self) -> None:
        if self._last:
            self.put(self._last)
        self._ended = True
        self._wake()

    def _wake(self) -> None:
        if self._wanted is not None and not self._wanted.done():
            self._wanted.set_result(None)

    def hold(self) -> None:
        """Until `let_go` the stream does not end: an action that closes its room is still answered."""
        self._held += 1

    def let_go(self) -> None:
        """The answer has been put in."""
        self._held -= 1
        if self._ending and not self._ended and not self._held:
            self._end_now()

    def too_slow(self) -> bool:
        """Whether the client reads so slowly that its stream has to be given up."""
        if self._bytes > self._max_bytes or self._stuck_for() > self._max_age:
            return True
        return bool(self._waiting) and self._now() - self._waiting[0][0] > self._max_age

    def out_of_reach(self) -> bool:
        """Whether the client took nothing for so long that it will not hear either why its stream was given up."""
        return self._stuck_for() > 2 * self._max_age

    def _stuck_for(self) -> float:
        """Seconds for which a message has been with the transport."""
        return self._now() - self._taken_at if self._writing else 0.0

    def _written(self) -> None:
        """Whoever asks for the next message has written the one before."""
        if self._writing and self._committed_at is not None:
            metrics.event_delivery_seconds.observe(max(0.0, self._now() - self._committed_at))
        self._writing = False

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        self._written()
        while not self._waiting:
            if self._ended:
                raise self._error or StopAsyncIteration
            self._wanted = self._loop.create_future()
            await self._wanted
        _, message, reached, self._committed_at = self._waiting.popleft()
        self.reached = reached or self.reached
        self._bytes -= len(message)
        self._taken_at = self._now()
        self._writing = True
        return message
