"""Our outage never costs a player time."""

from __future__ import annotations

import asyncio

import pytest
import redis

from services.store import scripts
from services.store.assembly import Store
from services.store.keys import RoomId, partition_of
from services.store.records import ClockChange, Committed, Head, Uncredited
from tests.store.conftest import MakeStore
from tests.store.making import TURN, commit, extended, made, new_room, pass_time, silence, turn, weakened
from tests.store.test_clock import near

NEEDS_CREDIT = "if due > 0 and clock[CREDITED] < last then return {3, clock[CREDITED], last} end"
PULSES_AFTER_OUTAGE = "redis.call('HSET', key, 'p', now, 'n', id, 'o', repacked)"
RECORDS_ONLY = "redis.call('HSET', key, 'n', id, 'o', repacked)"


async def interrupted(store: Store, raw: redis.Redis, *, before_ms: int, outage_ms: int) -> tuple[RoomId, Head, int]:
    """A room whose turn of 30 s (bank 0) had run for `before_ms` when everything stopped for `outage_ms`.
    Also the deadline that it would have without the outage being credited."""
    room = new_room()
    first = await made(store.rooms, room, turn(30_000, banks=(60_000, 60_000)))
    keys = store.pipelines.keys
    pass_time(raw, keys, room, before_ms + outage_ms)
    silence(raw, keys, room, outage_ms)
    return room, first.head, first.clock.deadline - before_ms - outage_ms


@pytest.mark.parametrize("protected", [True, False])
async def test_an_outage_is_found_by_exactly_one_of_many_processes(
    make_store: MakeStore, raw: redis.Redis, monkeypatch: pytest.MonkeyPatch, protected: bool
) -> None:
    if not protected:
        monkeypatch.setattr(scripts, "SWEEP", weakened(scripts.SWEEP, PULSES_AFTER_OUTAGE, RECORDS_ONLY))
    processes = [make_store() for _ in range(4)]
    room, _, _ = await interrupted(processes[0], raw, before_ms=1_000, outage_ms=20_000)
    sweeps = await asyncio.gather(*(process.sweep.sweep() for process in processes for _ in range(3)))
    outages = [outage for swept in sweeps for outage in swept.outages]
    if not protected:
        assert len(outages) == 12
        return
    [outage] = outages
    assert (outage.partition, outage.id) == (partition_of(room), 1)
    assert near(outage.ended - outage.began, 20_000)
    assert await processes[1].sweep.outages(partition_of(room)) == [outage]
    assert await processes[1].sweep.rooms_waiting(outage.partition) == [room]


async def test_a_short_silence_and_a_first_pulse_are_no_outage(store: Store, raw: redis.Redis) -> None:
    assert (await store.sweep.sweep()).outages == ()
    room = new_room()
    await made(store.rooms, room, turn(30_000))
    silence(raw, store.pipelines.keys, room, 500)
    assert (await store.sweep.sweep()).outages == ()


async def test_a_partition_in_which_nobody_waits_has_no_outage(store: Store, raw: redis.Redis) -> None:
    room = new_room()
    first = await made(store.rooms, room, turn(30_000))
    second = await extended(store.rooms, room, first.head, ClockChange(pending=()))
    silence(raw, store.pipelines.keys, room, 60_000)
    assert (await store.sweep.sweep()).outages == ()
    third = await extended(store.rooms, room, second.head, turn(30_000))
    assert (await store.sweep.sweep()).outages == ()
    assert await store.sweep.outages(partition_of(room)) == [], "nor has the commit found one"
    assert await store.rooms.commit(commit(room, third.head, due=TURN)) != third


@pytest.mark.parametrize("swept_first", [True, False])
@pytest.mark.parametrize("protected", [True, False])
async def test_a_timeout_is_refused_until_the_outage_is_credited(
    store: Store, raw: redis.Redis, monkeypatch: pytest.MonkeyPatch, swept_first: bool, protected: bool
) -> None:
    if not protected:
        monkeypatch.setattr(scripts, "COMMIT", weakened(scripts.COMMIT, NEEDS_CREDIT))
    room, head, deadline = await interrupted(store, raw, before_ms=12_000, outage_ms=20_000)
    if swept_first:
        await store.sweep.sweep()
    timeout = await store.rooms.commit(commit(room, head, due=TURN))
    if not protected:
        assert isinstance(timeout, Committed)
        return
    assert isinstance(timeout, Uncredited)
    assert (timeout.credited, timeout.last) == (0, 1)
    assert [outage.id for outage in await store.sweep.outages(partition_of(room))] == [1]
    credited = await extended(store.rooms, room, head)
    assert credited.clock.credited == 1
    assert near(credited.clock.deadline, deadline + 20_000)
    early = await store.rooms.commit(commit(room, credited.head, due=TURN))
    assert near(18_000 - early.left_ms, 0)  # type: ignore[union-attr]


@pytest.mark.parametrize("credited", [True, False])
async def test_an_outage_is_not_charged_to_the_seat_that_acts_after_it(
    store: Store, raw: redis.Redis, credited: bool
) -> None:
    """Even when the action is the first thing that happens after the outage, before anybody's sweep."""
    room, head, _ = await interrupted(store, raw, before_ms=25_000, outage_ms=40_000)
    acted = await extended(store.rooms, room, head, turn(30_000, charge=0, base_ms=30_000, credit=credited))
    [outage] = await store.sweep.outages(partition_of(room))
    if credited:
        assert acted.clock.banks == (60_000, 60_000)
        assert acted.clock.credited == outage.id
    else:
        assert near(60_000 - acted.clock.banks[0], 35_000)


async def test_an_outage_is_credited_once(store: Store, raw: redis.Redis) -> None:
    room, head, _ = await interrupted(store, raw, before_ms=1_000, outage_ms=20_000)
    first = await extended(store.rooms, room, head)
    second = await extended(store.rooms, room, first.head)
    assert (second.clock.deadline, second.clock.turn_at) == (first.clock.deadline, first.clock.turn_at)


async def test_only_the_part_of_an_outage_in_which_the_clock_ran_is_credited(store: Store, raw: redis.Redis) -> None:
    """The turn began 5 s before the outage was over: a commit from a process that was alive, but did not sweep."""
    room = new_room()
    first = await made(store.rooms, room, turn(30_000))
    pass_time(raw, store.pipelines.keys, room, 5_000)
    silence(raw, store.pipelines.keys, room, 20_000)
    credited = await extended(store.rooms, room, first.head)
    assert near(credited.clock.turn_at, first.clock.turn_at)
    assert near(credited.clock.deadline, first.clock.deadline)


async def test_several_outages_add_up(store: Store, raw: redis.Redis) -> None:
    room, head, deadline = await interrupted(store, raw, before_ms=1_000, outage_ms=10_000)
    await store.sweep.sweep()
    pass_time(raw, store.pipelines.keys, room, 20_000)
    silence(raw, store.pipelines.keys, room, 20_000)
    credited = await extended(store.rooms, room, head)
    assert credited.clock.credited == 2
    assert near(credited.clock.deadline, deadline - 20_000 + 30_000)


async def test_a_step_back_of_the_clock_gives_nobody_time_and_takes_none(store: Store, raw: redis.Redis) -> None:
    room = new_room()
    first = await made(store.rooms, room, turn(30_000, restart_window=True))
    keys = store.pipelines.keys
    pass_time(raw, keys, room, -50_000)  # stored while the clock was 50 s ahead
    silence(raw, keys, room, -60_000)  # and served until 10 s later
    [outage] = (await store.sweep.sweep()).outages
    assert outage.ended < outage.began
    credited = await extended(store.rooms, room, first.head)
    assert near(20_000 - credited.clock.left_ms, 0)
    assert (
        credited.clock.turn_at == credited.clock.window_at == first.clock.turn_at + 50_000 + outage.ended - outage.began
    )


async def test_a_new_room_owes_nothing_for_older_outages(store: Store, raw: redis.Redis) -> None:
    room, _, _ = await interrupted(store, raw, before_ms=1_000, outage_ms=20_000)
    await store.sweep.sweep()
    later = new_room(partition_of(room))
    first = await made(store.rooms, later, turn(30_000))
    assert first.clock.credited == 1
    pass_time(raw, store.pipelines.keys, later, 31_000)
    await extended(store.rooms, later, first.head, due=TURN)


async def test_the_list_of_outages_is_bounded_and_keeps_the_newest(store: Store, raw: redis.Redis) -> None:
    room = new_room()
    await made(store.rooms, room, turn(30_000))
    for _ in range(40):
        silence(raw, store.pipelines.keys, room, 5_000)
        await store.sweep.sweep([partition_of(room)])
    outages = await store.sweep.outages(partition_of(room))
    assert [outage.id for outage in outages] == list(range(9, 41))
