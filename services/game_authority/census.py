"""Counts rooms for the metrics: each process the partitions of its share, so that the processes add up.

What a room waits for says what state it is in, and that is small to read; its ruleset is read once, and again while the
room is open, since it may still be changed then.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Final

from services.rules.room.clock import TimerKind
from services.rules.room.codec import decode
from services.runtime import metrics
from services.runtime.logs import log
from services.store.assembly import Store
from services.store.errors import StoreError
from services.store.keys import PARTITIONS, ProcessId, RoomId

COUNT_SECONDS: Final = 15.0

OPEN: Final = "open"
UNKNOWN: Final = "unknown"
STATES: Final = {
    TimerKind.IDLE: OPEN,
    TimerKind.REMATCH: OPEN,
    TimerKind.READY_CHECK: "ready_check",
    TimerKind.TURN: "playing",
    TimerKind.BOT: "playing",
    TimerKind.WINDOW: "playing",
    TimerKind.AWAY: "playing",
    TimerKind.NEXT_ROUND: "pause",
    TimerKind.EMPTY: "empty",
    TimerKind.FINISHED: "finished",
}
"""The state of a room by what it waits for. `empty`: a match whose people are all away."""

Described = tuple[str, str]
"""State and ruleset, as the metric has them."""


class Census:
    """See the module. `process` is this one, as it announces itself."""

    def __init__(self, store: Store, process: ProcessId) -> None:
        self._store = store
        self._process = process
        self._rulesets: dict[RoomId, str] = {}
        self._shown: set[Described] = set()

    async def count_all(self) -> None:
        """Runs as long as the process."""
        while True:
            await asyncio.sleep(COUNT_SECONDS)
            try:
                self._show(await self.count())
            except StoreError as error:
                log.info("rooms not counted", error=str(error))

    async def count(self) -> Counter[Described]:
        """The rooms of this process's share, by state and ruleset. Raises `StoreError`."""
        found: Counter[Described] = Counter()
        known = set[RoomId]()
        for partition in await self._share():
            rooms = await self._store.sweep.rooms_waiting(partition)
            known.update(rooms)
            found.update(each for each in await asyncio.gather(*map(self._describe, rooms)) if each is not None)
        self._rulesets = {room: label for room, label in self._rulesets.items() if room in known}
        return found

    async def _share(self) -> list[int]:
        running = sorted(await self._store.fleet.running())
        return [number for number in range(PARTITIONS) if running and running[number % len(running)] == self._process]

    async def _describe(self, room: RoomId) -> Described | None:
        seen = await self._store.rooms.glance(room)
        if seen is None or not seen[1].kind:
            return None
        state = _state_of(seen[1].kind)
        if state == OPEN or room not in self._rulesets:
            snapshot = await self._store.rooms.read(room)
            if snapshot is None:
                return None
            self._rulesets[room] = _ruleset_of(snapshot.state)
        return state, self._rulesets[room]

    def _show(self, found: Counter[Described]) -> None:
        self._shown |= found.keys()
        for described in self._shown:
            metrics.rooms.labels(*described).set(found[described])


def _state_of(kind: int) -> str:
    try:
        return STATES[TimerKind(kind)]
    except ValueError:  # of a newer release
        return UNKNOWN


def _ruleset_of(state: bytes) -> str:
    try:
        return decode(state).ruleset.label
    except ValueError:  # of a newer release
        return metrics.CUSTOM
