"""The client's side of a `Play` stream: what it sends is taken in order, one message at a time.

An action that was begun is carried out even if its stream ends meanwhile: a client that hangs up takes nothing back,
and what it did still gets its timer, its result and its place in the lists. So whoever ends a stream cancels its
reading only while that waits for the client. (A shielded task for each action would do too, and cost 10 µs an action.)
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final

from maumau.v1 import authority_pb2 as pb

from services.game_authority.live_room import Asked
from services.game_authority.streams import Stream
from services.runtime import metrics
from services.runtime.logs import log
from services.runtime.tokens import Session
from services.runtime.traces import traces
from services.wire.errors import invalid_field, refusal, refusal_of
from services.wire.updates import encoded_refusal

LIMITED_A_SECOND: Final = 200
LIMITED_AT_ONCE: Final = 50
"""So many actions above the limit are refused as they come. What a client sends beyond that is not read before: then it
waits for itself, and nobody else for it."""

Act = Callable[[Stream, pb.PlayRequest.Act, Asked], Awaitable[int]]
"""Carries out an action of a stream's player; the version that it made. Refuses by raising. Where the version goes out
on the stream meanwhile it takes the answer with it."""


class Readers:
    """Reads all `Play` streams of this process. `authenticate` says whom a token names; `charge` is awaited before each
    message. Both refuse by raising."""

    def __init__(
        self, act: Act, authenticate: Callable[[str], Awaitable[Session]], charge: Callable[[], Awaitable[None]]
    ) -> None:
        self._act = act
        self._authenticate = authenticate
        self._charge = charge
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, stream: Stream, requests: AsyncIterator[pb.PlayRequest]) -> Reading:
        """Reads until the client is done, which ends the stream, or until it is stopped."""
        reading = Reading()
        reading.task = asyncio.create_task(self._read(reading, stream, requests))
        self._tasks.add(reading.task)
        reading.task.add_done_callback(self._tasks.discard)
        return reading

    async def _read(self, reading: Reading, stream: Stream, requests: AsyncIterator[pb.PlayRequest]) -> None:
        outlet = stream.viewer.outlet
        try:
            async for request in requests:
                match request.WhichOneof("message"):
                    case "act":
                        if await self._carry_out(reading, stream, request.act):
                            await reading.limited()
                    case "renewal":
                        await self._charge()
                        stream.renew(await self._authenticate(request.renewal.token))
                    case _:
                        raise invalid_field("message", request.WhichOneof("message") or "", "act or renewal")
                if reading.stopped:
                    return
            stream.closed_by_client = True
            outlet.end()
        except asyncio.CancelledError:
            raise
        except Exception as error:
            outlet.end(error)

    async def _carry_out(self, reading: Reading, stream: Stream, act: pb.PlayRequest.Act) -> bool:
        """Whether the action was above its player's limit."""
        outlet = stream.viewer.outlet
        reading.acts = True
        outlet.hold()
        began = time.perf_counter()
        try:
            with traces().work("act"):
                return await self._answer(stream, act)
        finally:
            metrics.action_seconds.observe(time.perf_counter() - began)
            outlet.let_go()
            reading.acts = False

    async def _answer(self, stream: Stream, act: pb.PlayRequest.Act) -> bool:
        asked = Asked(stream.viewer, act.request_id)
        try:
            await self._charge()
            version = await self._act(stream, act, asked)
            if not asked.answered:
                stream.viewer.outlet.put(asked.answer(version))
        except Exception as error:
            known = refusal_of(error)
            if known is None:
                log.exception("acting failed", room=stream.live.id)
                known = refusal("INTERNAL")
            if not asked.answered:
                stream.viewer.outlet.put(encoded_refusal(act.request_id, known))
            return known.reason == "RATE_LIMITED"
        return False


class Reading:
    """The reading of one stream. `acts` while an action is carried out."""

    task: asyncio.Task[None]

    def __init__(self) -> None:
        self.acts = False
        self.stopped = False
        self._due = 0.0

    async def limited(self) -> None:
        """One more action was above the limit. Returns when the next may be looked at."""
        now = time.monotonic()
        self._due = max(self._due, now - LIMITED_AT_ONCE / LIMITED_A_SECOND) + 1 / LIMITED_A_SECOND
        if self._due > now:
            await asyncio.sleep(self._due - now)

    async def stop(self) -> None:
        """Takes nothing more from the client. Returns at once where an action is under way, which goes on."""
        self.stopped = True
        if not self.acts:
            self.task.cancel()
            await asyncio.wait((self.task,))
