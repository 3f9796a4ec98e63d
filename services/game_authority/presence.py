"""Who is there, and what the clock of a room makes of it.

Presence has no version: streams enter their room's presence set and renew it with each bookmark. Nobody decides "away":
whoever begins a turn, or carries out a deadline, reads the set. A stream that broke off leaves word, so that its seat's
next timeout can be put off; a clean end leaves none.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import defaultdict
from typing import Final

from services.game_authority.commits import store_pending
from services.game_authority.live_room import LiveRoom
from services.rules import engine
from services.rules.room.clock import TimerKind
from services.rules.room.settings import ServerTimes
from services.rules.room.state import IN_MATCH
from services.rules.room.timers import pending
from services.store.assembly import Store
from services.store.errors import StoreUnavailable
from services.store.keys import PlayerId, ProcessId, RoomId, StreamId, partition_of
from services.store.presence import Entry
from services.store.records import Clock, Grace

FRESH_SECONDS: Final = 5.0
"""How old the knowledge of other processes' streams may be where a turn begins."""

POLL_SECONDS: Final = 8.0
"""A player without a stream who asks for the room counts as there; entered again after this time."""

LOST: Final = StreamId("lost")
POLLS: Final = StreamId("polls")
NOBODY: Final = ProcessId("")

SILENT_MS: Final = 1_500
"""A process that says nothing for so long, of one word a second, may be dead."""

TURN_KINDS: Final = frozenset({TimerKind.TURN.value, TimerKind.AWAY.value})

WAITING_KINDS: Final = frozenset({TimerKind.EMPTY.value, TimerKind.AWAY.value})
"""Deadlines that end when somebody comes back."""


class Presence:
    """See the module. Methods raise `StoreUnavailable`."""

    def __init__(self, store: Store, process: ProcessId, grace_ms: int, grace_match_ms: int) -> None:
        self._store = store
        self._process = process
        self._grace_ms = grace_ms
        self._grace_match_ms = grace_match_ms
        self._reading: dict[RoomId, asyncio.Task[None]] = {}
        self._polled: dict[tuple[RoomId, PlayerId], float] = {}

    async def enter(self, room: RoomId, player: PlayerId, stream: StreamId) -> None:
        """A stream is open, or still is."""
        await self._store.presence.enter(room, Entry(player, stream, self._process))

    async def leave(self, room: RoomId, player: PlayerId, stream: StreamId, *, lost: bool) -> None:
        """A stream has ended; `lost`: not because its client wanted it."""
        if lost:
            await self._store.presence.enter(room, Entry(player, LOST, NOBODY))
        await self._store.presence.leave(room, Entry(player, stream, self._process))

    async def polled(self, room: RoomId, player: PlayerId) -> None:
        """A player asked for the room without a stream."""
        now, key = time.monotonic(), (room, player)
        if self._polled.get(key, 0.0) > now - POLL_SECONDS:
            return
        self._polled[key] = now
        if len(self._polled) > 10_000:
            self._polled = {known: at for known, at in self._polled.items() if at > now - POLL_SECONDS}
        with contextlib.suppress(StoreUnavailable):  # what was asked for says so itself, and a read stays a read
            await self.enter(room, player, POLLS)

    async def read(self, live: LiveRoom) -> None:
        """Who watches the room, in any process: fills `connected`, `lost` and `spectators`."""
        running = await self._store.fleet.running()
        there: dict[int | None, set[str]] = defaultdict(set)
        lost: set[int] = set()
        for entry in await self._store.presence.entries(live.id):
            seat = live.newest.room.seat_of(entry.player)
            if entry.process in running:
                there[seat].add(entry.player)
            elif seat is not None:  # left word, or its process died
                lost.add(seat)
        live.connected = frozenset(seat for seat in there if seat is not None)
        live.lost = frozenset(lost) - live.connected
        live.spectators = len(there[None])
        live.presence_read = time.monotonic()

    async def look(self, live: LiveRoom, oldest: float = FRESH_SECONDS) -> None:
        """Sees to it that what is known of others' streams is fresh enough (seconds) to be shown. When many ask at once
        one read serves them all: with thousands of watchers each is long."""
        if live.presence_read >= time.monotonic() - oldest:
            return
        reading = self._reading.get(live.id)
        if reading is None:
            reading = self._reading[live.id] = asyncio.create_task(self.read(live))
            reading.add_done_callback(lambda read: self._done(live.id, read))
        await asyncio.wait((reading,))
        error = reading.exception()
        if isinstance(error, StoreUnavailable):
            raise StoreUnavailable(str(error), maybe_applied=False) from None
        if error is not None:
            raise error

    def _done(self, room: RoomId, reading: asyncio.Task[None]) -> None:
        self._reading.pop(room, None)
        if not reading.cancelled():
            reading.exception()  # who asked may have gone meanwhile: that nobody takes it is no fault

    async def absent(self, live: LiveRoom, *, fresh: bool = False) -> frozenset[int]:
        """Seats of people without a live stream, for judging an action in a match."""
        room = live.newest.room
        if room.phase not in IN_MATCH:
            return frozenset()
        here = {viewer.seat for viewer in live.viewers if not viewer.outlet.ended}
        people = {number for number, _ in room.people()}
        if not fresh and people <= here:
            return frozenset()
        if fresh or live.presence_read < time.monotonic() - FRESH_SECONDS:
            await self.read(live)
        elif people and not people & (here | live.connected):
            await self.read(live)  # that everybody is gone stops the match, so it must be true now
        return frozenset(people - here - live.connected)

    def is_waited_for(self, live: LiveRoom, seat: int) -> bool:
        """Whether it is this seat's turn, as of the state known here, and nobody of it is here any more."""
        room, kind = live.newest.room, live.newest.clock.kind
        if room.phase not in IN_MATCH or room.match is None or kind != TimerKind.TURN.value:
            return False
        here = {viewer.seat for viewer in live.viewers if not viewer.outlet.ended}
        return seat not in here and seat in engine.must_act(room.match.state)

    def somebody_is_back(self, live: LiveRoom, asking: str = "") -> bool:
        """Whether the deadline waits for somebody who has a stream here, or for the player who is `asking`."""
        room, kind = live.newest.room, live.newest.clock.kind
        if room.phase not in IN_MATCH or room.match is None or kind not in WAITING_KINDS:
            return False
        here = {room.seat_of(asking), *(viewer.seat for viewer in live.viewers if not viewer.outlet.ended)}
        wanted = {number for number, _ in room.people()}
        if kind == TimerKind.AWAY.value:
            wanted &= set(engine.must_act(room.match.state))
        return bool(wanted & here)

    async def rearm(self, live: LiveRoom, times: ServerTimes) -> Clock | None:
        """Sets the deadline for those who are there now; None if the room moved on meanwhile. A match that waited for
        people goes on with a full turn; a timeout of a lost stream is put off once."""
        room, head, clock = live.newest
        absent = await self.absent(live, fresh=True)
        timers = pending(room, absent, times)
        waited = clock.kind == TimerKind.EMPTY.value
        return await self._store.rooms.rearm(live.id, head, store_pending(timers), restart_turn=waited)

    async def put_off(self, live: LiveRoom, seat: int, times: ServerTimes) -> Clock | None:
        """Gives a seat whose stream was lost, or could not say in an outage of ours that it is there, more time for
        this turn; None where it has had it, or is there, or ended its stream itself."""
        if not (seat in live.lost or await self._serves_no_more(live, seat) or await self._was_unheard(live)):
            return None
        return await self._grant(live, seat, frozenset({seat}), times)

    async def give_back(self, live: LiveRoom, seat: int, times: ServerTimes) -> Clock | None:
        """The same for a seat whose stream was lost and that is back, where little is left of its turn: the outage was
        not the player's. None where there is enough, or it is another's turn."""
        room, _, clock = live.newest
        on_turn = room.match is not None and room.phase in IN_MATCH and seat in engine.must_act(room.match.state)
        if not on_turn or clock.kind not in TURN_KINDS or clock.left_ms >= self._grace_ms:
            return None
        return await self._grant(live, seat, await self.absent(live), times)

    async def _grant(self, live: LiveRoom, seat: int, absent: frozenset[int], times: ServerTimes) -> Clock | None:
        room, head, _ = live.newest
        if room.match is None:
            return None
        turn = room.match.began.get("turn")
        name = f"{room.matches}:{turn.serial if turn else 0}"
        grace = Grace(f"{room.matches}:{seat}", name, self._grace_ms, self._grace_match_ms)
        return await self._store.rooms.rearm(live.id, head, store_pending(pending(room, absent, times)), grace=grace)

    async def broke_off(self, room: RoomId, player: PlayerId, stream: StreamId, *, resumes: bool) -> bool:
        """Whether another stream of this player to the room has ended without anybody wanting it. A process that was
        killed counts as running for a while; of its streams only `resumes` tells, which a second device does not."""
        running = await self._store.fleet.running()
        others = [e for e in await self._store.presence.entries(room) if e.player == player and e.stream != stream]
        return any(
            entry.process not in running or (resumes and entry.process != self._process)
            for entry in others
            if entry.stream != POLLS
        )

    async def _was_unheard(self, live: LiveRoom) -> bool:
        """Whether an outage has ended so lately that streams which are open need not have said so again: what they had
        entered may have run out in it."""
        outages = await self._store.sweep.outages(partition_of(live.id))
        return bool(outages) and live.newest.clock.now - outages[-1].ended < self._store.presence.lifetime_ms

    async def _serves_no_more(self, live: LiveRoom, seat: int) -> bool:
        """Whether all streams of a seat are with processes that have just fallen silent: too early to call them dead,
        but too late to trust that the player sees the table."""
        taken = live.newest.room.seats[seat]
        here = {viewer.seat for viewer in live.viewers if not viewer.outlet.ended}
        if taken is None or seat in here:
            return False
        running = await self._store.fleet.running(SILENT_MS)
        entries = [entry for entry in await self._store.presence.entries(live.id) if entry.player == taken.player]
        return bool(entries) and all(entry.process not in running for entry in entries if entry.stream != POLLS)
