"""Gives the time of our outages back to the rooms that waited for time.

Exactly one sweep finds an outage, and its process credits the rooms of that partition at once. But the finder may die,
its reply may be lost with the connection, or a commit may come before any sweep, which credits its own room alone. So
every process sees with each sweep which outage was a partition's last, and looks a little later whether its rooms have
had the credit: a room gets it once, whoever comes. Nothing here keeps the sweep waiting, since a sweep that comes late
is itself an outage.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, Final

from services.game_authority.commits import Attempt
from services.game_authority.rooms import Rooms
from services.rules.room.actions import Clock, CreditTime
from services.rules.room.reasons import NotDue
from services.runtime import metrics
from services.runtime.logs import log
from services.store.assembly import Store
from services.store.errors import StoreError
from services.store.keys import RoomId, partition_of
from services.store.sweep import Swept
from services.wire.errors import Refusal

AT_ONCE: Final = 16
"""Rooms that one process credits at a time, so that those who play meanwhile hardly notice."""
OTHERS_SECONDS: Final = 2.0
"""How long whoever found an outage has for its rooms before others look."""


class Credits:
    """See the module."""

    def __init__(self, store: Store, rooms: Rooms) -> None:
        self._store = store
        self._rooms = rooms
        self._seen: dict[int, int] = {}
        """The last outage of each partition, as of the last sweep."""
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._tasks = set[asyncio.Task[None]]()

    def swept(self, swept: Swept) -> None:
        """Sees to the outages that this sweep found, and to those that are new to this process."""
        found = {outage.partition for outage in swept.outages}
        metrics.outages.inc(len(found))
        if swept.outages:
            longest = max(outage.ended - outage.began for outage in swept.outages)
            log.warning("outage", partitions=len(found), ms=longest)
        for partition, last in swept.last_outages.items():
            if last != self._seen.get(partition, 0):  # less where Redis was rolled back
                self._seen[partition] = last
                self._start(self._credit_partition(partition, last, 0 if partition in found else OTHERS_SECONDS))

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work, name="credit")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _credit_partition(self, partition: int, last: int, after_seconds: float) -> None:
        await asyncio.sleep(after_seconds)
        try:
            rooms = await self._store.sweep.rooms_waiting(partition)
            await asyncio.gather(*(self._credit_in_turn(room, last) for room in rooms))
        except StoreError as error:
            log.info("rooms not credited", partition=partition, error=str(error))
            self._seen.pop(partition, None)  # the next sweep comes back to it

    async def _credit_in_turn(self, room_id: RoomId, last: int) -> None:
        async with self._slots:
            seen = await self._store.rooms.glance(room_id)
            if seen is not None and seen[1].credited < last:
                await self.credit_quietly(room_id)

    async def credit_quietly(self, room_id: RoomId) -> None:
        """`credit`, where somebody else may have been faster or the room be gone."""
        try:
            await self.credit(room_id)
        except (Refusal, NotDue):
            log.info("room not credited", room=room_id)

    async def credit(self, room_id: RoomId) -> None:
        """Commits the credit for all outages that the room has not had yet."""
        live = await self._rooms.newest(room_id)
        outages = await self._store.sweep.outages(partition_of(room_id))
        owed = [outage for outage in outages if outage.id > live.newest.clock.credited]
        if not owed:
            return
        request_id = b"outage".ljust(8, b"\0") + owed[-1].id.to_bytes(8, "big")
        ms = sum(max(0, outage.ended - outage.began) for outage in owed)
        await self._rooms.attempt(room_id, Attempt(Clock(), CreditTime(ms), request_id))
        metrics.outages_credited.inc()
