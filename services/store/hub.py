"""Subscriptions to rooms: many listeners, few connections, and no silent loss.

A subscription that breaks loses what is published meanwhile, and Redis says nothing of it. So a broken connection is
made anew, and every room on it hears `Gap` once the new subscription stands: the listener then reads the log. Whoever
subscribes first and reads afterwards misses nothing.
"""

from __future__ import annotations

import asyncio

from services.store.connect import Connections
from services.store.errors import StoreUnavailable
from services.store.hearing import Gap, Heard, HeardRoom, Line, Listener
from services.store.keys import Keys, RoomId, partition_of
from services.store.primaries import Primaries

__all__ = ["Gap", "Heard", "Hub", "Listener", "Subscription"]


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
        self._lines: dict[Connections, list[Line]] = {}
        self._rooms: dict[RoomId, HeardRoom] = {}
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
            entry = self._rooms[room] = HeardRoom(room, channel.encode(), line)
            line.add(entry)
        entry.listeners.append(listener)
        return entry.confirmed

    def _line(self, room: RoomId, channel: str) -> Line | None:
        primary = self._primaries.of(channel)
        if primary is None:
            return None
        lines = self._lines.get(primary)
        if lines is None:
            number = primary.settings.pubsub_connections
            lines = self._lines[primary] = [Line(primary, self._primaries.doubt) for _ in range(number)]
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
            for line in list(self._lines[primary]):
                if not line.rooms:
                    self._end(self._lines[primary], line)
            if not self._lines[primary]:
                del self._lines[primary]

    def _end(self, lines: list[Line], line: Line) -> None:
        lines.remove(line)
        self._breaks += line.breaks
        task = asyncio.create_task(line.aclose())
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)
