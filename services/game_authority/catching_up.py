"""Brings what this process knows of a room to what the store has: what the channel lost, and what was rolled back."""

from __future__ import annotations

import asyncio
from typing import Final

from maumau.v1 import room_pb2

from services.game_authority.fan_out import FanOut, note_legal
from services.game_authority.history import History
from services.game_authority.live_room import LiveRoom, Newest
from services.game_authority.versions import from_log
from services.rules.room.codec import decode
from services.runtime import metrics
from services.runtime.logs import log
from services.store.errors import StoreUnavailable
from services.store.keys import RoomId
from services.store.records import Head, Snapshot
from services.store.rooms import RoomStore

RETRY_SECONDS: Final = 0.25
"""Pause before a read is tried again while Redis is away."""


class CatchingUp:
    """See the module. One task a room, also when many ask for it."""

    def __init__(self, store: RoomStore, history: History, fan_out: FanOut) -> None:
        self._store = store
        self._history = history
        self._fan_out = fan_out
        self._catching: dict[RoomId, asyncio.Task[None]] = {}
        self._again: set[RoomId] = set()

    def catch_up(self, live: LiveRoom) -> None:
        """Brings the viewers to the newest version from the log, in a task of its own."""
        if not live.watched:
            live.deliver_from(live.newest.head)
            return
        if live.id in self._catching:
            self._again.add(live.id)
            return
        task = asyncio.create_task(self._catch_up(live), name=f"catch up {live.id}")
        self._catching[live.id] = task
        task.add_done_callback(lambda _: self._caught_up(live))

    def _caught_up(self, live: LiveRoom) -> None:
        self._catching.pop(live.id, None)
        if live.id in self._again:
            self._again.discard(live.id)
            self.catch_up(live)

    async def _catch_up(self, live: LiveRoom) -> None:
        while live.watched:
            try:
                snapshot = await self._store.read(live.id)
                if snapshot is None:
                    return
                if await self._fill(live, snapshot):
                    return
            except StoreUnavailable:
                await asyncio.sleep(RETRY_SECONDS)
            except Exception:
                log.exception("catching up failed", room=live.id)
                await asyncio.sleep(RETRY_SECONDS)

    async def _fill(self, live: LiveRoom, snapshot: Snapshot) -> bool:
        """Delivers from the log up to the snapshot; false to try again."""
        if not await self.take(live, snapshot):
            return False
        delivered = live.delivered
        if delivered == snapshot.head:
            return True
        if delivered.version >= snapshot.head.version:
            # Either a version came by another way while we read, or Redis was rolled back: look at the mark.
            mark = await self._store.mark_at(live.id, delivered.version)
            if mark != live.delivered.mark and delivered == live.delivered:
                await self._settle(live, snapshot.head)
            return True
        entries = await self._history.log(live.id, delivered.version, snapshot.head.version)
        for entry in entries:
            if entry.version != live.delivered.version + 1:
                continue
            if entry.mark_before != live.delivered.mark:
                await self._settle(live, snapshot.head)
                return True
            version = from_log(entry)
            if version.head == live.newest.head:
                version = version._replace(room=live.newest.room)
            metrics.gaps_filled.inc()
            self._fan_out.deliver(live, version)
        if live.delivered.version < snapshot.head.version:
            if await self._store.head(live.id) != snapshot.head:
                return False  # that state was lost, or is old by now
            self.history_changed(live)  # the log no longer has what is missing
        return True

    async def take(self, live: LiveRoom, snapshot: Snapshot) -> bool:
        """Takes over the state that the store has, also an older one: then Redis was rolled back, and who saw what is
        gone is told. False, and nothing is taken, where the store or this process moved on while that was made sure:
        read again."""
        before = live.newest.head
        if snapshot.head == before:
            return True
        older = snapshot.head.version <= before.version
        if older and (await self._store.head(live.id) != snapshot.head or live.newest.head != before):
            return False
        live.newest = Newest(decode(snapshot.state), snapshot.head, snapshot.clock)
        if older:
            try:
                await self._settle(live, snapshot.head)
            except StoreUnavailable:
                self.catch_up(live)
        return True

    async def _settle(self, live: LiveRoom, newest: Head) -> None:
        """What was delivered is not what the store has: who saw what is gone is told. Where nobody did, everybody goes
        on from what they saw. Until then no version reaches them, since none follows on what was delivered."""
        seen = _seen(live)
        stands = bool(seen) and all([await self._stands(live.id, head, newest) for head in seen])
        if stands and _seen(live) == seen:
            live.deliver_from(min(seen, key=lambda head: head.version))
        if stands or _seen(live) != seen:
            self.catch_up(live)
        else:
            self.history_changed(live)

    async def _stands(self, room_id: RoomId, head: Head, newest: Head) -> bool:
        return head.version <= newest.version and await self._store.mark_at(room_id, head.version) == head.mark

    def history_changed(self, live: LiveRoom) -> None:
        """Tells every viewer that what it saw last is no longer the room's history."""
        log.warning("history changed", room=live.id, version=live.newest.head.version)
        newest, delivered = live.newest, live.delivered
        live.deliver_from(newest.head)
        note_legal(live, newest.room)
        for viewer in live.following:
            if viewer.has(delivered) != newest.head:
                self._history.send_snapshot(live, viewer, newest, room_pb2.SNAPSHOT_REASON_HISTORY_CHANGED)
                viewer.seat = newest.room.seat_of(viewer.player)
                viewer.since = newest.head
        live.wake()


def _seen(live: LiveRoom) -> set[Head]:
    """How far in the room's history its viewers here are."""
    return {viewer.has(live.delivered) for viewer in live.following}
