"""What one process asks of Redis when it sweeps, and what it says of an outage."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest
from structlog.testing import capture_logs

from services.game_authority import timers as timers_module
from services.game_authority.timers import Timers
from services.rules.room.settings import ServerTimes
from services.store.errors import OutOfMemory
from services.store.keys import PARTITIONS, RoomId, partition_of
from services.store.records import Clock, Outage
from services.store.sweep import Swept


class Redis:
    """Stands for the sweep of the store: rooms wait for time in the `busy` partitions."""

    def __init__(self, busy: set[int], outages: Sequence[Outage] = ()) -> None:
        self.busy, self.outages = busy, tuple(outages)
        self.asked: list[set[int]] = []
        self.last_outages: dict[int, int] = {}
        self.looked: list[int] = []
        self.slow = asyncio.Event()

    async def sweep(self, partitions: Sequence[int], *, overdue_ms: int) -> Swept:
        self.asked.append(set(partitions))
        found, self.outages = self.outages, ()
        self.last_outages |= {outage.partition: outage.id for outage in found}
        return Swept(found, (), None, frozenset(partitions) - self.busy, self.last_outages)

    async def rooms_waiting(self, partition: int) -> list[RoomId]:
        self.looked.append(partition)
        await self.slow.wait()
        return []


def timers(redis: Redis, rooms: Any = None) -> Timers:
    store: Any = SimpleNamespace(sweep=redis)
    return Timers(store, rooms, cast(Any, None), ServerTimes())


async def test_a_partition_in_which_nobody_waits_is_asked_every_second_time_and_any_other_each_time() -> None:
    redis = Redis({7, 8})
    sweeping = timers(redis)
    for _ in range(3):
        await sweeping._sweep()
    first, second, third = redis.asked
    assert first == set(range(PARTITIONS)), "nothing is known at the start"
    assert second | third == set(range(PARTITIONS))
    assert second & third == {7, 8}


async def test_what_a_process_commits_itself_is_swept_from_then_on() -> None:
    redis, room = Redis(set()), RoomId("r")
    sweeping = timers(redis)
    await sweeping._sweep()
    sweeping.set(room, Clock(now=1_000, deadline=31_000, kind=1))
    redis.busy = {partition_of(room)}
    for _ in range(2):
        await sweeping._sweep()
        assert partition_of(room) in redis.asked[-1]
    sweeping.drop(room)


async def test_an_outage_is_told_in_one_line_however_many_partitions_it_hit() -> None:
    outages = [Outage(number, 1, 10_000, 14_000 + number) for number in range(PARTITIONS)]
    with capture_logs() as told:
        await timers(Redis(set(range(PARTITIONS)), outages))._sweep()
    assert [(line["event"], line["partitions"], line["ms"]) for line in told] == [("outage", PARTITIONS, 4_255)]


async def test_the_pulse_goes_on_while_an_outage_is_given_back() -> None:
    """With many rooms that takes longer than a pulse may be late: it would be the next outage, and so for ever."""
    redis = Redis({7}, [Outage(7, 1, 10_000, 14_000)])
    sweeping = timers(redis)
    for _ in range(3):
        await asyncio.wait_for(sweeping._sweep(), 5)
    assert redis.looked == [7], "its rooms are still being credited"
    assert [7 in asked for asked in redis.asked] == [True] * 3


class Full(Redis):
    """Is full for a while: the pulse of a partition cannot be written."""

    def __init__(self) -> None:
        super().__init__(set())
        self.swept = asyncio.Event()

    async def sweep(self, partitions: Sequence[int], *, overdue_ms: int) -> Swept:
        if not self.asked:
            self.asked.append(set())
            raise OutOfMemory("command not allowed when used memory > 'maxmemory'")
        self.swept.set()
        return await super().sweep(partitions, overdue_ms=overdue_ms)


async def test_the_sweep_goes_on_where_redis_was_full(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its end is the end of the process, with all its streams, and of the next one as well."""
    monkeypatch.setattr(timers_module, "SWEEP_SECONDS", 0.001)
    monkeypatch.setattr(timers_module, "RETRY_SECONDS", 0.001)
    redis = Full()
    sweeping = asyncio.create_task(timers(redis, SimpleNamespace(forget_idle=lambda: None)).sweep_all())
    swept = asyncio.create_task(redis.swept.wait())
    done, _ = await asyncio.wait((sweeping, swept), timeout=10, return_when=asyncio.FIRST_COMPLETED)
    assert done == {swept}
    sweeping.cancel()


async def test_a_deadline_that_comes_while_the_one_before_is_worked_on_is_carried_out_after_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As where a bot's move waits until its table has it, and the next move is due."""
    working, room = timers(Redis(set())), RoomId("r")
    soon = Clock(now=1_000, deadline=1_001, kind=1)
    begun: list[RoomId] = []
    again = asyncio.Event()

    async def carry_out(room_id: RoomId) -> None:
        begun.append(room_id)
        if len(begun) > 1:
            again.set()
            return
        working.set(room_id, soon)
        while room_id in working._due:  # noqa: ASYNC110 - nobody else is told that a timer has fired
            await asyncio.sleep(0.001)

    monkeypatch.setattr(working, "carry_out", carry_out)
    working.set(room, soon)
    await asyncio.wait_for(again.wait(), 10)
    assert begun == [room, room]
