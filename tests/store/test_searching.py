"""What is searched for or waited for without a server: where it would never end."""

from __future__ import annotations

import asyncio

import pytest

from services.store import sweep
from services.store.errors import OutOfMemory, StoreUnavailable
from services.store.keys import RoomId
from services.store.records import Clock, LogEntry
from services.store.rooms import RoomStore
from services.store.sweep import all_reached

ROOM = RoomId("r")


class CutMeanwhile(RoomStore):
    """A log of eight versions, a second apart, of which the first six go as soon as its ends have been read."""

    def __init__(self) -> None:
        self._entries = [LogEntry(n, bytes(8), bytes(8), 1_000 * n, b"", Clock(1_000 * n)) for n in range(1, 9)]

    async def log(self, room: RoomId, after: int = 0, limit: int = 1_000) -> list[LogEntry]:
        await asyncio.sleep(0)
        return [entry for entry in self._entries if entry.version > after][:limit]

    async def _newest_entry(self, room: RoomId) -> LogEntry:
        newest = self._entries[-1]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        del self._entries[:6]
        return newest


async def test_the_last_version_by_a_time_is_found_though_the_log_is_cut_meanwhile() -> None:
    found = await asyncio.wait_for(CutMeanwhile().last_by(ROOM, 4_500), 10)
    assert found is not None
    assert found.time <= 4_500


async def test_that_no_primary_can_be_reached_is_told_also_where_one_of_them_only_keeps_silent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sweep, "LATE_SECONDS", 0.01)

    async def refused() -> int:
        raise StoreUnavailable("connection refused", maybe_applied=False)

    async def silent() -> int:
        await asyncio.sleep(60)
        return 0

    async def answers() -> int:
        return 7

    with pytest.raises(StoreUnavailable):
        await all_reached([refused(), silent()])
    assert await all_reached([refused(), silent(), answers()]) == [(2, 7)]


async def test_a_primary_that_is_full_does_not_keep_the_others_from_being_swept() -> None:
    async def full() -> int:
        raise OutOfMemory("command not allowed when used memory > 'maxmemory'")

    async def answers() -> int:
        return 7

    assert await all_reached([full(), answers()]) == [(1, 7)]
    with pytest.raises(OutOfMemory):
        await all_reached([full()])
