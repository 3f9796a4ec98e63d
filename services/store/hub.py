"""Subscriptions to rooms: many listeners, few connections, and no silent loss.

A subscription that breaks loses what is published meanwhile, and Redis says nothing of it. So a broken connection is
made anew, and every room on it hears `Gap` once the new subscription stands: the listener then reads the log. Whoever
subscribes first and reads afterwards misses nothing.
"""

from __future__ import annotations

import asyncio
import logging
import math
import random
from collections import Counter, deque
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from redis import exceptions as redis_errors
from redis.asyncio.connection import BlockingConnectionPool

from services.store.connect import Connections
from services.store.errors import StoreError, StoreUnavailable
from services.store.keys import Keys, RoomId, partition_of
from services.store.packing import unpack_message
from services.store.records import Aside, Published

_log = logging.getLogger(__name__)

_LONGEST_PAUSE_S: Final = 1.0
_BROKEN: Final = (redis_errors.RedisError, OSError, asyncio.TimeoutError, StoreError)


class Gap(NamedTuple):
    """Messages of this room may have been lost: read the log after the last version you have."""

    room: RoomId


Heard = Published | Aside | Gap
Listener = Callable[[Heard], None]
"""Called in the order of the messages, from the task that reads the connection: it must be quick and never wait."""


class Subscription:
    """One listener of one room."""

    def __init__(self, line: _Line, room: RoomId, listener: Listener) -> None:
        self._line: _Line | None = line
        self._room = room
        self._listener = listener

    def close(self) -> None:
        """The listener hears nothing more. Closing twice does nothing."""
        if self._line is not None:
            self._line.remove(self._room, self._listener)
            self._line = None


class Hub:
    """Subscribes listeners to rooms."""

    def __init__(self, connections: Connections) -> None:
        settings = connections.settings
        keys = Keys(settings.prefix)
        self._confirm_s = (settings.connect_timeout_ms + settings.command_timeout_ms) / 1000
        self._lines = [
            _Line(connections.pubsub, keys, settings.health_check_ms / 1000) for _ in range(settings.pubsub_connections)
        ]

    async def subscribe(self, room: RoomId, listener: Listener) -> Subscription:
        """Returns when Redis has confirmed: what is committed from then on is heard, or told as a `Gap`. Raises
        `StoreUnavailable`, and then the listener hears nothing."""
        line = self._lines[partition_of(room) % len(self._lines)]
        confirmed = line.add(room, listener)
        subscription = Subscription(line, room, listener)
        try:
            await asyncio.wait_for(asyncio.shield(confirmed), self._confirm_s)
        except TimeoutError:
            subscription.close()
            raise StoreUnavailable("the subscription was not confirmed in time", maybe_applied=False) from None
        except BaseException:
            subscription.close()
            raise
        return subscription

    @property
    def rooms(self) -> int:
        """How many rooms have a listener."""
        return sum(line.rooms for line in self._lines)

    @property
    def breaks(self) -> int:
        """How often a connection broke, for the metrics."""
        return sum(line.breaks for line in self._lines)

    async def aclose(self) -> None:
        """End all subscriptions without a word to the listeners."""
        for line in self._lines:
            await line.aclose()


class _Room:
    """The listeners of one room."""

    __slots__ = ("confirmed", "listeners")

    def __init__(self) -> None:
        self.listeners: list[Listener] = []
        self.confirmed: asyncio.Future[None] = asyncio.get_running_loop().create_future()


class _Line:
    """One connection and the rooms subscribed on it. Its task starts with the first room."""

    def __init__(self, pool: BlockingConnectionPool, keys: Keys, silence_s: float) -> None:
        self._pool = pool
        self._keys = keys
        self._silence_s = silence_s
        self._rooms: dict[RoomId, _Room] = {}
        self._by_channel: dict[bytes, RoomId] = {}
        self._unheard: Counter[bytes] = Counter()
        self._outgoing: deque[tuple[str | bytes, ...]] = deque()
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._connection: Any = None
        self._failures = 0
        self._heard = 0
        self.breaks = 0

    @property
    def rooms(self) -> int:
        return len(self._rooms)

    def add(self, room: RoomId, listener: Listener) -> asyncio.Future[None]:
        entry = self._rooms.get(room)
        if entry is None:
            channel = self._channel(room)
            entry = self._rooms[room] = _Room()
            self._by_channel[channel] = room
            self._ask(channel)
        entry.listeners.append(listener)
        if self._task is None:
            self._task = asyncio.create_task(self._run())
        return entry.confirmed

    def remove(self, room: RoomId, listener: Listener) -> None:
        entry = self._rooms[room]
        entry.listeners.remove(listener)
        if not entry.listeners:
            channel = self._channel(room)
            del self._rooms[room], self._by_channel[channel]
            self._send("SUNSUBSCRIBE", channel)

    async def aclose(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait((self._task,))

    def _channel(self, room: RoomId) -> bytes:
        return self._keys.room(room).channel.encode()

    def _ask(self, channel: bytes) -> None:
        self._unheard[channel] += 1
        self._send("SSUBSCRIBE", channel)

    def _send(self, *command: str | bytes) -> None:
        self._outgoing.append(command)
        self._wake.set()

    async def _run(self) -> None:
        while True:
            try:
                await self._session()
            except _BROKEN as error:
                _log.warning("subscriptions of %d rooms broke: %s", len(self._rooms), error)
            except Exception:
                _log.exception("subscriptions of %d rooms broke", len(self._rooms))
            self.breaks += 1
            self._failures += 1
            # Full jitter: a Redis that comes back is not met by everybody at once.
            await asyncio.sleep(random.uniform(0, min(_LONGEST_PAUSE_S, 0.02 * 2**self._failures)))

    async def _session(self) -> None:
        """One connection, from its making to its loss."""
        connection: Any = await self._pool.get_connection()  # type: ignore[no-untyped-call]
        self._outgoing.clear()
        self._unheard.clear()
        for channel in self._by_channel:
            self._ask(channel)
        self._connection = connection
        sender = asyncio.create_task(self._write(connection))
        watcher = asyncio.create_task(self._watch(connection))
        try:
            await self._read(connection)
        finally:
            watcher.cancel()
            # Woken, not cancelled: the send of redis-py may swallow a cancellation (its `wait_for` did until 3.12).
            self._connection = None
            self._wake.set()
            await connection.disconnect(nowait=True)
            await asyncio.wait((sender, watcher))
            await self._pool.release(connection)

    async def _write(self, connection: Any) -> None:
        # A task of its own: a caller that is cancelled while it sends would close the connection under everybody.
        try:
            while self._connection is connection:
                await self._wake.wait()
                self._wake.clear()
                commands = list(self._outgoing)
                self._outgoing.clear()
                if commands:
                    await connection.send_packed_command(connection.pack_commands(commands), check_health=False)
        except _BROKEN:
            await connection.disconnect(nowait=True)  # the reader notices

    async def _read(self, connection: Any) -> None:
        while True:
            self._take(await connection.read_response(timeout=math.inf))
            self._heard += 1

    async def _watch(self, connection: Any) -> None:
        """Ends a connection that stays silent when it is asked. A time limit on each message would cost more than the
        message."""
        asked = False
        while True:
            heard = self._heard
            await asyncio.sleep(self._silence_s)
            if self._heard != heard:
                asked = False
            elif asked:
                _log.warning("the subscription of %d rooms is silent", len(self._rooms))
                await connection.disconnect(nowait=True)
                return
            else:
                asked = True
                self._send("PING")

    def _take(self, reply: Any) -> None:
        if not isinstance(reply, list):
            return
        kind, channel, *rest = reply
        room = self._by_channel.get(channel)
        if kind == b"ssubscribe":
            self._unheard[channel] -= 1
            if self._unheard[channel] <= 0:
                del self._unheard[channel]
                if room is not None:
                    self._confirm(room)
        elif kind == b"smessage" and room is not None:
            self._deliver(room, rest[0])

    def _confirm(self, room: RoomId) -> None:
        self._failures = 0
        entry = self._rooms[room]
        if entry.confirmed.done():
            self._tell(room, Gap(room))
        else:
            entry.confirmed.set_result(None)

    def _deliver(self, room: RoomId, message: bytes) -> None:
        try:
            heard: Heard = unpack_message(room, message)
        except (StoreError, ValueError) as error:
            _log.warning("%s", error)
            heard = Gap(room)
        self._tell(room, heard)

    def _tell(self, room: RoomId, heard: Heard) -> None:
        for listener in tuple(self._rooms[room].listeners):
            try:
                listener(heard)
            except Exception:
                _log.exception("a listener of %s failed", room)
