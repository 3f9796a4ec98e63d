"""Rooms as they were: what spectators see of a room that keeps them behind.

Whoever has no seat in such a room follows a past of it, a `LiveRoom` of its own whose newest version is the newest one
that is old enough by the clock of Redis. Everything comes from the log, in which the versions of these rooms carry
their state; nothing younger is held for anybody. Chat waits as long as versions do.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Final

from services.game_authority.asides import Announced, Chat, decode_aside
from services.game_authority.delivery import Delivery
from services.game_authority.fan_out import end, send_elsewhere
from services.game_authority.history import bookmark
from services.game_authority.live_room import LiveRoom, Newest, Viewer
from services.game_authority.rooms import Rooms
from services.game_authority.versions import from_log, is_behind, may_watch
from services.rules.room.codec import decode
from services.runtime.logs import log
from services.store.errors import StoreUnavailable
from services.store.hub import Heard, Hub, Subscription
from services.store.keys import RoomId
from services.store.records import Aside, Head, LogEntry
from services.store.rooms import RoomStore
from services.wire.errors import Refusal, refusal
from services.wire.updates import encoded_announcement, encoded_chat

LOOK_SECONDS: Final = 2.0
"""Less than the shortest delay, so that every version is known before it is due."""
RETRY_SECONDS: Final = 0.5
PAGE: Final = 100


class Pasts:
    """The pasts that this process shows."""

    def __init__(
        self,
        store: RoomStore,
        hub: Hub,
        rooms: Rooms,
        renew: Callable[[RoomId, Viewer], Awaitable[None]],
        bookmark_seconds: float,
    ) -> None:
        """`renew` says that a viewer is still there, with every bookmark."""
        self._store = store
        self._hub = hub
        self._rooms = rooms
        self._delivery: Delivery = rooms.delivery
        self._renew = renew
        self._bookmark_seconds = bookmark_seconds
        self._pasts: dict[RoomId, LiveRoom] = {}
        self._work: dict[RoomId, asyncio.Task[None]] = {}
        self._chats: dict[RoomId, Subscription] = {}

    async def seen(self, room_id: RoomId, player: str) -> LiveRoom:
        """The room as this spectator may know it. Raises Refusal (ROOM_NOT_FOUND) while nothing of it is old enough."""
        live = await self._rooms.newest(room_id)
        clock, delay = live.newest.clock, live.newest.room.settings.delay_seconds
        entry = await self._store.last_by(room_id, clock.now - delay * 1000)
        if entry is None or entry.state is None or not may_watch(live.newest.room, player):
            raise refusal("ROOM_NOT_FOUND")
        past = LiveRoom(room_id, _as_newest(entry), time.monotonic(), behind=True)
        if not may_watch(past.newest.room, player):
            raise refusal("ROOM_NOT_FOUND")
        past.created_ms = live.created_ms
        past.connected = _people(past)
        return past

    async def wait_above(self, room_id: RoomId, player: str, version: int, seconds: float) -> LiveRoom:
        """What is seen once its version is above this one, after that time, or when all are sent away."""
        end, dismissals = time.monotonic() + seconds, self._delivery.dismissals
        while True:
            past = await self.seen(room_id, player)
            left = end - time.monotonic()
            if past.version > version or left <= 0 or self._delivery.dismissals != dismissals:
                return past
            await asyncio.sleep(min(LOOK_SECONDS, left, await self._until_next(past)))

    async def _until_next(self, past: LiveRoom) -> float:
        following = await self._store.log(past.id, past.version, 1)
        if not following:
            return LOOK_SECONDS
        now = (await self._rooms.newest(past.id)).newest.clock.now
        return max(0.0, (following[0].time + past.newest.room.settings.delay_seconds * 1000 - now + 1) / 1000)

    # Streams.

    async def open(self, viewer: Viewer, room_id: RoomId, token: bytes) -> LiveRoom:
        """Lets a spectator follow the room, late. Raises as `Delivery.open` does."""
        seen = await self.seen(room_id, viewer.player)
        past = self._pasts.setdefault(room_id, seen)
        if past.version < seen.version:
            past = self._pasts[room_id] = seen if not past.viewers else past
        if room_id not in self._work:  # before the viewer has joined: where it cannot, this forgets the past again
            self._work[room_id] = asyncio.create_task(self._follow(room_id), name=f"past of {room_id}")
        await self._delivery.join(past, viewer, token)
        return past

    def close(self, past: LiveRoom, viewer: Viewer) -> None:
        """Ends a stream's following."""
        if viewer in past.viewers:
            past.viewers.remove(viewer)

    async def _follow(self, room_id: RoomId) -> None:
        """Runs as long as somebody watches the past of the room."""
        next_bookmark = time.monotonic() + self._bookmark_seconds
        try:
            while (past := self._pasts[room_id]).viewers:
                pause = await self._step(past)
                if time.monotonic() >= next_bookmark:
                    next_bookmark = time.monotonic() + self._bookmark_seconds
                    await self._bookmark(past)
                await asyncio.sleep(min(pause, max(0.0, next_bookmark - time.monotonic())))
        finally:
            self._pasts.pop(room_id, None)
            self._work.pop(room_id, None)  # not later: who opens from now on needs a task of its own
            if (chat := self._chats.pop(room_id, None)) is not None:
                chat.close()

    async def _step(self, past: LiveRoom) -> float:
        """Shows what is due; the seconds until more may be."""
        try:
            if past.id not in self._chats:
                self._chats[past.id] = await self._hub.subscribe(past.id, self._heard)
            return await self._show_due(past)
        except StoreUnavailable:
            return RETRY_SECONDS
        except Refusal:  # the room is gone
            end(past)
            return LOOK_SECONDS
        except Exception:
            log.exception("a past cannot be shown", room=past.id)
            return LOOK_SECONDS

    async def _show_due(self, past: LiveRoom) -> float:
        live = await self._rooms.newest(past.id)
        newest = live.newest
        self._send_elsewhere(past, live)
        due_at = newest.clock.now - newest.room.settings.delay_seconds * 1000
        entries = await self._store.log(past.id, past.delivered.version, PAGE)
        if not entries and newest.head != past.delivered:
            return await self._begin_anew(past)
        for entry in entries:
            if entry.version != past.delivered.version + 1 or entry.mark_before != past.delivered.mark:
                return await self._begin_anew(past)
            if entry.time > due_at:
                return min(LOOK_SECONDS, (entry.time - due_at + 1) / 1000)
            version = from_log(entry)
            if entry.state is not None:
                past.newest = _as_newest(entry)
                version = version._replace(room=past.newest.room)
            self._delivery.fan_out.deliver(past, version)
        return 0.0 if len(entries) == PAGE else LOOK_SECONDS

    def _send_elsewhere(self, past: LiveRoom, live: LiveRoom) -> None:
        """Who has a seat by now, or whom the room no longer keeps behind, follows the room itself; who may not watch
        any more, nothing."""
        for viewer in list(past.viewers):
            if not may_watch(live.newest.room, viewer.player):
                viewer.outlet.end(refusal("ROOM_NOT_FOUND"))
            elif not is_behind(live.newest.room, viewer.player):
                send_elsewhere(past, viewer, viewer.has(past.delivered))

    async def _begin_anew(self, past: LiveRoom) -> float:
        """The history is another one, or no longer kept: everybody gets what is old enough of it."""
        # Not one who has just been sent away, and the last one may have gone meanwhile.
        watching = next((viewer for viewer in past.viewers if not viewer.outlet.ended), None)
        if watching is None:
            return LOOK_SECONDS
        try:
            seen = await self.seen(past.id, watching.player)
        except Refusal:  # nothing yet
            for viewer in past.viewers:
                viewer.outlet.end(refusal("ROOM_NOT_FOUND"))
            return LOOK_SECONDS
        past.newest = seen.newest
        self._delivery.catching_up.history_changed(past)
        return 0.0

    async def _bookmark(self, past: LiveRoom) -> None:
        """A sign of life that names nothing younger than what was shown."""
        sign_of_life = bookmark(past, past.delivered.version, past.newest.clock, past.delivered)
        for viewer in past.following:
            if viewer.since.version <= past.delivered.version:
                viewer.outlet.put(sign_of_life)
        try:
            await asyncio.gather(*(self._renew(past.id, viewer) for viewer in past.following))
        except StoreUnavailable:
            log.info("presence not renewed: the store is away", room=past.id)

    # Chat.

    def _heard(self, message: Heard) -> None:
        past = self._pasts.get(message.room)
        if past is None or not isinstance(message, Aside):
            return
        match decode_aside(message.content):
            case Chat() as chat if past.hears_first(chat.player, chat.request_id):
                text = encoded_chat(chat.player, chat.name, chat.seat, chat.text, chat.time_ms)
                delay = past.newest.room.settings.delay_seconds
                asyncio.get_running_loop().call_later(delay, self._tell, past, text)
            case Announced() as word if past.hears_first("", word.request_id):
                self._tell(past, encoded_announcement(word.text, word.time_ms))
            case _:
                pass

    def _tell(self, past: LiveRoom, text: bytes) -> None:
        for viewer in past.following:
            viewer.outlet.put(text)


def _as_newest(entry: LogEntry) -> Newest:
    assert entry.state is not None
    return Newest(decode(entry.state), Head(entry.version, entry.mark), entry.clock)


def _people(past: LiveRoom) -> frozenset[int]:
    """Who was connected is not kept; nobody is shown as gone."""
    return frozenset(seat for seat, _ in past.newest.room.people())
