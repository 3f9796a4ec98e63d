"""What time does in rooms: a local timer a room, and a sweep that catches what a dead process left.

The process that commits keeps the room's deadline in a timer of its own. Nearly every version puts the deadline off:
a timer that is early waits on, instead of being set anew each time. Once a second the sweep pulses the partitions and
asks for overdue rooms. Neither decides anything: the commit script refuses what comes early, what another process was
faster with, and what an outage of ours has to be credited to first.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Coroutine
from typing import Any, Final

from services.game_authority.commits import Attempt
from services.game_authority.crediting import Credits
from services.game_authority.live_room import LiveRoom
from services.game_authority.presence import Presence
from services.game_authority.rooms import NotYet, OutageFirst, Rooms
from services.rules.room.actions import Timeout
from services.rules.room.clock import TimerKind
from services.rules.room.due import due
from services.rules.room.reasons import NotDue
from services.rules.room.settings import ServerTimes
from services.runtime import metrics
from services.runtime.logs import log
from services.store.assembly import Store
from services.store.errors import StoreError, StoreUnavailable
from services.store.keys import PARTITIONS, RoomId, partition_of
from services.store.records import Clock as RoomClock
from services.wire.errors import refusal_of

SWEEP_SECONDS: Final = 1.0
OVERDUE_MS: Final = 400
"""The sweep leaves younger deadlines to the process that has the timer."""
RETRY_SECONDS: Final = 0.5
TRIES: Final = 3
"""How often one firing looks at a room that moves on meanwhile; then the sweep comes back to it."""
_EXACT_SECONDS: Final = 0.001
"""A loop may call a timer a little early, since it looks at its clock once a turn."""
AT_ONCE: Final = 64
"""Rooms that the sweep found overdue and that one process works on at a time."""


class Timers:
    """See the module."""

    def __init__(self, store: Store, rooms: Rooms, presence: Presence, times: ServerTimes) -> None:
        self._store = store
        self._presence = presence
        self._times = times
        self._rooms = rooms
        self._credits = Credits(store, rooms)
        self._due: dict[RoomId, float] = {}
        """When each deadline is, in seconds of the event loop."""
        self._timers: dict[RoomId, asyncio.TimerHandle] = {}
        """One for each of them, no later than that."""
        self._working: dict[RoomId, asyncio.Task[None]] = {}
        self._again = set[RoomId]()
        """Rooms whose next deadline came while the one before was still worked on."""
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._idle = set[int]()
        """Partitions in which no room waited for time at the last look."""
        self._round = 0

    def set(self, room_id: RoomId, clock: RoomClock) -> None:
        """The room has this clock now."""
        if clock.deadline:
            self._idle.discard(partition_of(room_id))
            self._after(room_id, clock.left_ms)
        else:
            self.drop(room_id)

    def drop(self, room_id: RoomId) -> None:
        """Nothing is pending in the room, or somebody else keeps its timer."""
        self._due.pop(room_id, None)
        timer = self._timers.pop(room_id, None)
        if timer is not None:
            timer.cancel()

    def _after(self, room_id: RoomId, left_ms: int) -> None:
        loop = asyncio.get_running_loop()
        # Redis counts whole milliseconds: one more, or every other timer would come a little early.
        due = self._due[room_id] = loop.time() + (left_ms + 1) / 1000
        timer = self._timers.get(room_id)
        if timer is not None:
            if timer.when() <= due:
                return
            timer.cancel()
        self._timers[room_id] = loop.call_at(due, self._fire, room_id)

    def _fire(self, room_id: RoomId) -> None:
        del self._timers[room_id]
        loop, due = asyncio.get_running_loop(), self._due[room_id]
        if due > loop.time() + _EXACT_SECONDS:
            self._timers[room_id] = loop.call_at(due, self._fire, room_id)
            return
        del self._due[room_id]
        if room_id in self._working:
            self._again.add(room_id)
        else:
            self._begin(room_id, self._work(room_id))

    def _begin(self, room_id: RoomId, work: Coroutine[Any, Any, None]) -> None:
        if room_id in self._working:
            return work.close()
        task = asyncio.create_task(work, name=f"deadline {room_id}")
        self._working[room_id] = task
        return task.add_done_callback(lambda _: self._worked(room_id))

    def _worked(self, room_id: RoomId) -> None:
        self._working.pop(room_id, None)
        if room_id in self._again:
            self._again.discard(room_id)
            self._begin(room_id, self._work(room_id))

    async def _work_in_turn(self, room_id: RoomId) -> None:
        async with self._slots:
            await self._work(room_id)

    async def _work(self, room_id: RoomId) -> None:
        try:
            await self.carry_out(room_id)
        except NotYet as early:
            if room_id not in self._due:
                self._after(room_id, early.left_ms)
        except Exception as error:
            known = refusal_of(error)
            if known is None:
                log.exception("deadline failed", room=room_id)
            else:  # somebody was faster, or Redis is away and the sweep comes back to it
                log.info("deadline not carried out", room=room_id, reason=known.reason)

    async def carry_out(self, room_id: RoomId) -> None:
        """Does what the room's deadline is for, once it is due; nothing if somebody else did. Raises NotYet."""
        for _ in range(TRIES):
            live = await self._look(room_id)
            if live is None:
                return
            try:
                if await self._commit_due(live):
                    return
            except OutageFirst:
                await self._credits.credit(room_id)
            except NotDue:
                continue

    async def _look(self, room_id: RoomId) -> LiveRoom | None:
        """The room as it is now, if its deadline has passed. A deadline may have moved without a version."""
        live = await self._rooms.live(room_id)
        seen = await self._store.rooms.glance(room_id)
        if seen is None or not seen[1].kind:
            return None
        if left_ms := seen[1].left_ms:
            raise NotYet(left_ms)
        if not live.take_clock(seen):
            await self._rooms.refresh(live)
        return live

    async def _commit_due(self, live: LiveRoom) -> bool:
        """False where the room moved on meanwhile, so that somebody has to look again."""
        clock = live.newest.clock
        if not clock.kind:
            return True
        absent = await self._presence.absent(live, fresh=True)
        what = due(live.newest.room, TimerKind(clock.kind), absent, self._times)
        if what is None:
            return await self.rearm(live)
        if isinstance(what.action, Timeout) and await self._put_off(live, what.action):
            return True
        attempt = Attempt(what.actor, what.action, version=live.version, due=clock.kind, absent=absent)
        await self._rooms.attempt(live.id, attempt)
        late = max(0, live.newest.clock.now - clock.deadline)
        metrics.timer_lateness_seconds.observe(late / 1000)
        return True

    async def _put_off(self, live: LiveRoom, timeout: Timeout) -> bool:
        if timeout.kind not in (TimerKind.TURN, TimerKind.AWAY) or timeout.seat is None:
            return False
        return self._moved(live, await self._presence.put_off(live, timeout.seat, self._times))

    async def give_back(self, live: LiveRoom, seat: int) -> bool:
        """A seat whose stream broke off is back; true if its turn has more time now."""
        if not live.take_clock(await self._store.rooms.glance(live.id)):
            return False
        return self._moved(live, await self._presence.give_back(live, seat, self._times))

    async def rearm(self, live: LiveRoom) -> bool:
        """Sets the deadline for those who are there now; false if the room moved on meanwhile, or had a credit to get
        first, which it then has got."""
        if self._moved(live, await self._presence.rearm(live, self._times)):
            return True
        # Whoever found the outage may have died: its credit would be missing for good, and no deadline would ever come.
        await self._credits.credit_quietly(live.id)
        return False

    def _moved(self, live: LiveRoom, clock: RoomClock | None) -> bool:
        if clock is None:
            return False
        live.newest = live.newest._replace(clock=clock)
        self.set(live.id, clock)
        return True

    # The sweep.

    async def sweep_all(self) -> None:
        """Runs as long as the process."""
        while True:
            await asyncio.sleep(SWEEP_SECONDS * random.uniform(0.8, 1.2))
            try:
                await self._sweep()
            except StoreUnavailable:
                await asyncio.sleep(RETRY_SECONDS)
            except StoreError as error:  # Redis is full, for one: that passes, and no stream has to fall for it
                log.warning("partitions not swept", error=str(error))
                await asyncio.sleep(RETRY_SECONDS)
            self._rooms.forget_idle()

    async def _sweep(self) -> None:
        self._round += 1
        partitions = [number for number in range(PARTITIONS) if self._is_due(number)]
        swept = await self._store.sweep.sweep(partitions, overdue_ms=OVERDUE_MS)
        self._idle = (self._idle - {*partitions}) | swept.idle
        self._credits.swept(swept)
        late = [due.room for due in swept.due]
        random.shuffle(late)  # all processes sweep: each begins with other rooms
        for room_id in late:
            self._begin(room_id, self._work_in_turn(room_id))

    def _is_due(self, partition: int) -> bool:
        """Where nobody waits for time, every second sweep will do: what this process commits it knows, and of another
        that died meanwhile nothing is left lying for longer than a pulse may be missed."""
        return partition not in self._idle or (partition + self._round) % 2 == 0
