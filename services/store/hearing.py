"""One connection to Redis that rooms are heard on, made anew whenever it breaks.

Redis says nothing of what was lost meanwhile: once a subscription stands again its room hears `Gap`. A caller never
sends on the connection itself: it might be cancelled and close it under everybody.
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

from services.store.connect import Connections
from services.store.errors import StoreError, StoreUnavailable
from services.store.keys import RoomId
from services.store.packing import Published, unpack_message
from services.store.records import Aside

_log = logging.getLogger(__name__)

_LONGEST_PAUSE_S: Final = 1.0
_CANCEL_AGAIN_S: Final = 0.5
_BROKEN: Final = (redis_errors.RedisError, OSError, asyncio.TimeoutError, StoreError)


class Gap(NamedTuple):
    """Messages of this room may have been lost: read the log after the last version you have."""

    room: RoomId


Heard = Published | Aside | Gap
Listener = Callable[[Heard], None]
"""Called in the order of the messages, from the task that reads the connection: it must be quick and never wait."""


class HeardRoom:
    """The listeners of one room, and the line on which it is heard."""

    __slots__ = ("channel", "confirmed", "line", "listeners", "room")

    def __init__(self, room: RoomId, channel: bytes, line: Line) -> None:
        self.room = room
        self.channel = channel
        self.line = line
        self.listeners: list[Listener] = []
        self.confirmed: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def tell(self, heard: Heard) -> None:
        for listener in tuple(self.listeners):
            try:
                listener(heard)
            except Exception:
                _log.exception("a listener of %s failed", self.room)


class Line:
    """One connection and the rooms subscribed on it. Its task starts with the first room."""

    def __init__(self, primary: Connections, doubt: Callable[[], None]) -> None:
        self._pool = primary.pubsub
        self._silence_s = primary.settings.health_check_ms / 1000
        self._doubt = doubt
        self._rooms: dict[bytes, HeardRoom] = {}
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

    def add(self, room: HeardRoom) -> None:
        self._rooms[room.channel] = room
        self._ask(room.channel)
        if self._task is None:
            self._task = asyncio.create_task(self._run())

    def remove(self, room: HeardRoom) -> None:
        del self._rooms[room.channel]
        self._send("SUNSUBSCRIBE", room.channel)

    async def aclose(self) -> None:
        # Again and again: redis-py connects with `wait_for`, which may swallow a cancellation until Python 3.12.
        while self._task is not None and not self._task.done():
            self._task.cancel()
            await asyncio.wait((self._task,), timeout=_CANCEL_AGAIN_S)

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
            except redis_errors.NoPermissionError as error:
                _log.error("%s: give this user +ssubscribe, +sunsubscribe and the channels of all rooms", error)
            except _BROKEN as error:
                _log.warning("subscriptions of %d rooms broke: %s", len(self._rooms), error)
            except Exception:
                _log.exception("subscriptions of %d rooms broke", len(self._rooms))
            self.breaks += 1
            self._failures += 1
            self._doubt()
            # Full jitter: a Redis that comes back is not met by everybody at once.
            await asyncio.sleep(random.uniform(0, min(_LONGEST_PAUSE_S, 0.02 * 2**self._failures)))

    async def _session(self) -> None:
        """One connection, from its making to its loss."""
        connection: Any = await self._pool.get_connection()  # type: ignore[no-untyped-call]
        self._outgoing.clear()
        self._unheard.clear()
        for channel in self._rooms:
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
        except AttributeError:
            # The send of redis-py begins a turn of the loop late. A connection that ended meanwhile has no writer.
            if connection.is_connected:
                raise

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
        room = self._rooms.get(channel)
        if kind == b"ssubscribe":
            self._unheard[channel] -= 1
            if self._unheard[channel] <= 0:
                del self._unheard[channel]
                if room is not None:
                    self._confirm(room)
        elif kind == b"smessage" and room is not None:
            self._deliver(room, rest[0])
        elif kind == b"sunsubscribe" and room is not None and channel not in self._unheard:
            # Nobody here asked for that: the slot of the room has moved to another node.
            raise StoreUnavailable(f"Redis ended the subscription of {room.room}", maybe_applied=False)

    def _confirm(self, room: HeardRoom) -> None:
        self._failures = 0
        if room.confirmed.done():
            room.tell(Gap(room.room))
        else:
            room.confirmed.set_result(None)

    def _deliver(self, room: HeardRoom, message: bytes) -> None:
        try:
            heard: Heard = unpack_message(room.room, message)
        except (StoreError, ValueError) as error:
            _log.warning("%s", error)
            heard = Gap(room.room)
        room.tell(heard)
