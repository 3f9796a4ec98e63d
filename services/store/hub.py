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

from services.store.connect import Connections
from services.store.errors import StoreError, StoreUnavailable
from services.store.keys import Keys, RoomId, partition_of
from services.store.packing import Published, unpack_message
from services.store.primaries import Primaries
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


class Subscription:
    """One listener of one room."""

    def __init__(self, hub: Hub, room: RoomId, listener: Listener) -> None:
        self._hub: Hub | None = hub
        self._room = room
        self._listener = listener

    def close(self) -> None:
        """The listener hears nothing more. Closing twice does nothing."""
        if self._hub is not None:
            self._hub.remove(self._room, self._listener)
            self._hub = None


class Hub:
    """Subscribes listeners to rooms, each at the primary that has it."""

    def __init__(self, primaries: Primaries) -> None:
        settings = primaries.settings
        self._primaries = primaries
        self._keys = Keys(settings.prefix)
        self._confirm_s = (settings.connect_timeout_ms + settings.command_timeout_ms) / 1000
        self._lines: dict[Connections, list[_Line]] = {}
        self._rooms: dict[RoomId, _Room] = {}
        self._breaks = 0
        self._ending: set[asyncio.Task[None]] = set()
        primaries.on_change(self._move)

    async def subscribe(self, room: RoomId, listener: Listener) -> Subscription:
        """Returns when Redis has confirmed: what is committed from then on is heard, or told as a `Gap`. Raises
        `StoreUnavailable`, and then the listener hears nothing."""
        channel = self._keys.room(room).channel
        if self._primaries.of(channel) is None:
            await self._primaries.find()
        subscription = Subscription(self, room, listener)
        confirmed = self._add(room, channel, listener)
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
        return len(self._rooms)

    @property
    def breaks(self) -> int:
        """How often a connection broke, for the metrics."""
        return self._breaks + sum(line.breaks for lines in self._lines.values() for line in lines)

    def remove(self, room: RoomId, listener: Listener) -> None:
        """As `Subscription.close` does."""
        entry = self._rooms[room]
        entry.listeners.remove(listener)
        if not entry.listeners:
            del self._rooms[room]
            entry.line.remove(entry)

    async def aclose(self) -> None:
        """End all subscriptions without a word to the listeners."""
        for lines in self._lines.values():
            for line in lines:
                await line.aclose()
        if self._ending:
            await asyncio.wait(self._ending)

    def _add(self, room: RoomId, channel: str, listener: Listener) -> asyncio.Future[None]:
        entry = self._rooms.get(room)
        if entry is None:
            line = self._line(room, channel)
            if line is None:
                raise StoreUnavailable("no primary has this room", maybe_applied=False)
            entry = self._rooms[room] = _Room(room, channel.encode(), line)
            line.add(entry)
        entry.listeners.append(listener)
        return entry.confirmed

    def _line(self, room: RoomId, channel: str) -> _Line | None:
        primary = self._primaries.of(channel)
        if primary is None:
            return None
        lines = self._lines.get(primary)
        if lines is None:
            number = primary.settings.pubsub_connections
            lines = self._lines[primary] = [_Line(primary, self._primaries.doubt) for _ in range(number)]
        return lines[partition_of(room) % len(lines)]

    def _move(self) -> None:
        """A room whose primary is another one now is subscribed there, and told of the gap; lines that lead nowhere any
        more end."""
        for room, entry in self._rooms.items():
            line = self._line(room, entry.channel.decode())
            if line is not None and line is not entry.line:
                entry.line.remove(entry)
                entry.line = line
                line.add(entry)
        used = set(self._primaries.all())
        for primary in [primary for primary in self._lines if primary not in used]:
            for line in self._lines[primary]:
                if not line.rooms:
                    self._end(self._lines[primary], line)
            if not self._lines[primary]:
                del self._lines[primary]

    def _end(self, lines: list[_Line], line: _Line) -> None:
        lines.remove(line)
        self._breaks += line.breaks
        task = asyncio.create_task(line.aclose())
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)


class _Room:
    """The listeners of one room, and the line on which it is heard."""

    __slots__ = ("channel", "confirmed", "line", "listeners", "room")

    def __init__(self, room: RoomId, channel: bytes, line: _Line) -> None:
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


class _Line:
    """One connection and the rooms subscribed on it. Its task starts with the first room."""

    def __init__(self, primary: Connections, doubt: Callable[[], None]) -> None:
        self._pool = primary.pubsub
        self._silence_s = primary.settings.health_check_ms / 1000
        self._doubt = doubt
        self._rooms: dict[bytes, _Room] = {}
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

    def add(self, room: _Room) -> None:
        self._rooms[room.channel] = room
        self._ask(room.channel)
        if self._task is None:
            self._task = asyncio.create_task(self._run())

    def remove(self, room: _Room) -> None:
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

    def _confirm(self, room: _Room) -> None:
        self._failures = 0
        if room.confirmed.done():
            room.tell(Gap(room.room))
        else:
            room.confirmed.set_result(None)

    def _deliver(self, room: _Room, message: bytes) -> None:
        try:
            heard: Heard = unpack_message(room.room, message)
        except (StoreError, ValueError) as error:
            _log.warning("%s", error)
            heard = Gap(room.room)
        room.tell(heard)
