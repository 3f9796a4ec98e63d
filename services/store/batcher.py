"""Sends the commands of many callers in one pipeline.

A command sent alone costs this process twice what it costs in a batch, and Redis four times. A batch is formed from
what is waiting whenever there is room on the wire, so a lone command is never held back and a crowd is sent together.

Commands on one lane (a room) keep their order: the next is sent when the one before has its answer. A caller that
stops waiting takes nothing from the others: if its command has not been sent, it never is.
"""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import Sequence
from typing import Any, Final

import hiredis
from redis import exceptions as redis_errors

from services.store.cluster import Cluster
from services.store.connect import Connections, KeptConnections
from services.store.errors import StoreError, StoreUnavailable, from_failure, from_reply
from services.store.keys import Keys
from services.store.primaries import OnePrimary, Primaries
from services.store.routed import Arg, Command, RoutedBatcher, Sender
from services.store.scripts import Script

_REPLIED: Final = (redis_errors.ResponseError, redis_errors.BusyLoadingError)
"""Errors that are replies: the connection is in order and the replies after them can be read."""


class _Request:
    """One command of one caller."""

    __slots__ = ("answer", "command", "lane", "script")

    def __init__(self, command: Command, script: Script | None, lane: str | None) -> None:
        self.command = command
        self.script = script
        self.lane: object = self if lane is None else lane
        self.answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

    def in_full(self) -> Command:
        """The command with the source of its script in place of the SHA-1."""
        assert self.script is not None
        return ("EVAL", self.script.source, *self.command[2:])


class Batcher:
    """Commands in, replies out, over shared connections. Errors come typed (`StoreError` and its kinds)."""

    def __init__(
        self,
        connections: KeptConnections,
        name: str = "primary",
        *,
        batch_size: int,
        batches: int,
        timeout_ms: int,
        replicas: int = 0,
        replica_timeout_ms: int = 0,
    ) -> None:
        self._connections = connections
        self._name = name
        self._batch_size = batch_size
        self._batches = batches
        self._timeout_s = timeout_ms / 1000
        self._replicas = replicas
        self._wait: Command | None = ("WAIT", replicas, replica_timeout_ms) if replicas else None
        self._lanes: dict[object, deque[_Request]] = {}
        self._ready: deque[object] = deque()
        self._on_the_way: set[asyncio.Task[None]] = set()
        self._woken = False
        self._closed = False

    def command(self, *command: Arg, lane: str | None = None, near: str | None = None) -> asyncio.Future[Any]:
        """Run one command; its reply as Redis gives it, with nil as None. There is one primary, so `near` is it."""
        return self._submit(_Request(command, None, lane))

    def script(
        self, script: Script, keys: Sequence[str], args: Sequence[Arg], *, lane: str | None = None
    ) -> asyncio.Future[Any]:
        """Run one script by its SHA-1; if Redis does not know it, it alone is sent again in full."""
        return self._submit(_Request(("EVALSHA", script.sha, len(keys), *keys, *args), script, lane))

    @property
    def waiting(self) -> int:
        """How many commands have not been sent yet."""
        return sum(map(len, self._lanes.values()))

    async def of_each(self, *command: Arg) -> dict[str, Any]:
        """The reply of the primary, by its name."""
        return {self._name: await self.command(*command)}

    async def asked(self, command: Command) -> Any:
        """Run one command that this node takes only if it is asked, since its slot is elsewhere still."""
        try:
            replies = await self._exchange([("ASKING",), command])
        except Exception as error:
            raise _typed(error) from error
        confirmed = self._confirmed(replies)
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        _settle(answer, replies[1], confirmed=confirmed)
        return answer.result()

    async def aclose(self) -> None:
        """Fail what has not been sent, wait for the answers to what has."""
        self._closed = True
        for lane in self._lanes.values():
            for request in lane:
                _fail(request.answer, StoreUnavailable("the store is closed", maybe_applied=False))
        self._ready.clear()
        if self._on_the_way:
            await asyncio.wait(self._on_the_way)

    def _submit(self, request: _Request) -> asyncio.Future[Any]:
        if self._closed:
            raise StoreUnavailable("the store is closed", maybe_applied=False)
        lane = self._lanes.get(request.lane)
        if lane is not None:
            lane.append(request)
        else:
            self._lanes[request.lane] = deque((request,))
            self._ready.append(request.lane)
            self._wake()
        return request.answer

    def _wake(self) -> None:
        # In the next turn of the loop, so that everything submitted in this one is sent together.
        if not self._woken:
            self._woken = True
            asyncio.get_running_loop().call_soon(self._start_batches)

    def _start_batches(self) -> None:
        self._woken = False
        while self._ready and len(self._on_the_way) < self._batches:
            batch = self._next_batch()
            if batch:
                task = asyncio.create_task(self._run(batch))
                self._on_the_way.add(task)
                task.add_done_callback(self._finish)

    def _next_batch(self) -> list[_Request]:
        batch: list[_Request] = []
        while self._ready and len(batch) < self._batch_size:
            lane = self._lanes[key := self._ready.popleft()]
            while lane and lane[0].answer.done():
                lane.popleft()
            if lane:
                batch.append(lane.popleft())
            else:
                del self._lanes[key]
        return batch

    def _finish(self, task: asyncio.Task[None]) -> None:
        self._on_the_way.discard(task)
        if self._ready and not self._closed:
            self._wake()

    async def _run(self, batch: list[_Request]) -> None:
        try:
            unknown = await self._send(batch, [request.command for request in batch])
            if unknown:
                await self._send(unknown, [request.in_full() for request in unknown])
        except Exception as error:
            for request in batch:
                _fail(request.answer, error)
            raise
        finally:
            for request in batch:
                self._leave_lane(request.lane)

    def _leave_lane(self, key: object) -> None:
        if self._lanes[key] and not self._closed:
            self._ready.append(key)
        else:
            del self._lanes[key]

    async def _send(self, requests: list[_Request], commands: list[Command]) -> list[_Request]:
        """Send, settle the answers, and return the requests whose script Redis did not know."""
        try:
            replies = await self._exchange(commands)
        except Exception as error:
            # Each caller gets an exception of its own: one shared object would grow a traceback per caller.
            for request in requests:
                _fail(request.answer, _typed(error))
            return []
        confirmed = self._confirmed(replies)
        unknown: list[_Request] = []
        for request, reply in zip(requests, replies, strict=True):
            if isinstance(reply, redis_errors.NoScriptError) and request.script is not None:
                unknown.append(request)
            else:
                _settle(request.answer, reply, confirmed=confirmed)
        return unknown

    def _confirmed(self, replies: list[Any]) -> bool:
        """Whether enough replicas have what the batch wrote; takes the answer to WAIT off the replies."""
        return self._wait is None or _count(replies.pop()) >= self._replicas

    async def _exchange(self, commands: list[Command]) -> list[Any]:
        if self._wait is not None:
            commands = [*commands, self._wait]
        connection = await self._connection()
        try:
            async with asyncio.timeout(self._timeout_s):  # one timer for all: one for each reply costs as much as it
                await connection.send_packed_command([_pack(command) for command in commands])
                replies = [await _reply(connection) for _ in commands]
            if any(isinstance(reply, redis_errors.ReadOnlyError) for reply in replies):
                # This primary was demoted. Every open connection leads to it, so none may be used again.
                await connection.disconnect()
                await self._connections.disconnect()
            return replies
        except BaseException:
            await connection.disconnect(nowait=True)
            raise
        finally:
            await self._connections.give_back(connection)

    async def _connection(self) -> Any:
        try:
            connection = await self._connections.at_hand()
            if connection is None:
                async with asyncio.timeout(self._timeout_s):
                    connection = await self._connections.take()
        except Exception as error:
            raise _unsent(error) from error
        return connection


class Pipelines:
    """The two senders that all of the store shares: writes that may have to wait for replicas, and everything else."""

    def __init__(self, primaries: Primaries) -> None:
        settings = primaries.settings
        self.keys = Keys(settings.prefix)
        self.waits = settings.replicas_to_wait > 0
        self.reads = _sender(primaries, replicas=0)
        self.writes = _sender(primaries, replicas=settings.replicas_to_wait)

    async def aclose(self) -> None:
        """Fail what has not been sent and wait for what has; the connections stay open."""
        await self.writes.aclose()
        await self.reads.aclose()


def _sender(primaries: Primaries, replicas: int) -> Sender:
    settings = primaries.settings

    def batcher(connections: Connections) -> Batcher:
        return Batcher(
            connections.kept,
            connections.name,
            batch_size=settings.commands_per_batch,
            batches=settings.batches,
            timeout_ms=settings.command_timeout_ms,
            replicas=replicas,
            replica_timeout_ms=settings.replica_timeout_ms,
        )

    if isinstance(primaries, OnePrimary):
        return batcher(primaries.connections)
    assert isinstance(primaries, Cluster)
    return RoutedBatcher(primaries, batcher)


def _pack(command: Command) -> bytes:
    packed: bytes = hiredis.pack_command(command)  # type: ignore[arg-type]  # it is annotated for one word only
    return packed


async def _reply(connection: Any) -> Any:
    try:
        return await connection.read_response(timeout=math.inf)
    except _REPLIED as error:
        return error


def _unsent(error: Exception) -> StoreError:
    typed = from_failure(error)
    return StoreUnavailable(str(typed), maybe_applied=False) if isinstance(typed, StoreUnavailable) else typed


def _typed(error: Exception) -> Exception:
    if isinstance(error, StoreUnavailable):
        return StoreUnavailable(str(error), maybe_applied=error.maybe_applied)
    if isinstance(error, StoreError):
        return type(error)(*error.args)
    return from_failure(error)


def _count(reply: Any) -> int:
    return reply if isinstance(reply, int) else 0


def _settle(answer: asyncio.Future[Any], reply: Any, *, confirmed: bool) -> None:
    if isinstance(reply, redis_errors.RedisError):
        _fail(answer, from_reply(reply))
    elif not confirmed:
        _fail(answer, StoreUnavailable("too few replicas confirmed in time", maybe_applied=True))
    elif not answer.done():
        answer.set_result(reply)


def _fail(answer: asyncio.Future[Any], error: Exception) -> None:
    if not answer.done():
        answer.set_exception(error)
