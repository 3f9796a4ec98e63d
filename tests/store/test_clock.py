"""The clock of a room: only the script does arithmetic on time."""

from __future__ import annotations

import pytest
import redis

from services.store.assembly import Store
from services.store.errors import StoreError
from services.store.keys import RoomId
from services.store.records import Clock, ClockChange, Committed, Conflict, Early, Head, Origin, Pending
from tests.store.making import TURN, commit, extended, made, new_room, pass_time, turn

SLACK_MS = 2_000
"""More than a test takes between two commands."""
BOT = 2
PAUSE = 3


def near(value: int, wanted: int) -> bool:
    """At most a test's own time away, in the direction in which time runs."""
    return wanted <= value <= wanted + SLACK_MS


async def aged(store: Store, raw: redis.Redis, change: ClockChange, ms: int) -> tuple[RoomId, Head]:
    """A room that committed that change `ms` ago."""
    room = new_room()
    head = (await made(store.rooms, room, change)).head
    pass_time(raw, store.pipelines.keys, room, ms)
    return room, head


async def test_a_turn_within_its_base_time_costs_no_bank(store: Store, raw: redis.Redis) -> None:
    room, head = await aged(store, raw, turn(30_000, 0, banks=(60_000, 50_000)), 20_000)
    done = await extended(store.rooms, room, head, turn(30_000, 1, charge=0, base_ms=30_000))
    assert done.clock.banks == (60_000, 50_000)
    assert done.clock.turn_at == done.clock.now
    assert done.clock.deadline == done.clock.now + 30_000 + 50_000


async def test_what_a_turn_takes_beyond_its_base_time_comes_out_of_the_bank(store: Store, raw: redis.Redis) -> None:
    room, head = await aged(store, raw, turn(30_000, 0, banks=(60_000, 50_000)), 42_000)
    done = await extended(store.rooms, room, head, turn(30_000, 1, charge=0, base_ms=30_000))
    own, other = done.clock.banks
    assert near(60_000 - own, 12_000)
    assert other == 50_000


async def test_a_bank_never_falls_below_zero(store: Store, raw: redis.Redis) -> None:
    room, head = await aged(store, raw, turn(30_000, 0, banks=(5_000, 50_000)), 999_000)
    done = await extended(store.rooms, room, head, turn(30_000, 1, charge=0, base_ms=30_000))
    assert done.clock.banks == (0, 50_000)


async def test_a_seat_is_charged_only_for_a_turn_that_began(store: Store) -> None:
    room = new_room()
    first = await made(store.rooms, room, ClockChange(banks=(1_000,)))
    with pytest.raises(StoreError, match="never began"):
        await store.rooms.commit(commit(room, first.head, ClockChange(charge=0)))


async def test_banks_are_set_and_taken_away(store: Store) -> None:
    room = new_room()
    first = await made(store.rooms, room, ClockChange(banks=(1, 2, 3, 4)))
    second = await extended(store.rooms, room, first.head, ClockChange(banks=(10, 20)))
    assert second.clock.banks == (10, 20)
    third = await extended(store.rooms, room, second.head, ClockChange(banks=()))
    assert third.clock.banks == ()


async def test_the_earliest_pending_time_is_the_deadline_whatever_its_origin(store: Store, raw: redis.Redis) -> None:
    room, head = await aged(store, raw, turn(30_000, 0, banks=(60_000,), restart_window=True), 10_000)
    pending = (
        Pending(TURN, Origin.TURN, 30_000, 0),
        Pending(BOT, Origin.WINDOW, 25_000),
        Pending(PAUSE, Origin.NOW, 16_000),
    )
    done = await extended(store.rooms, room, head, ClockChange(pending=pending))
    assert done.clock.kind == BOT
    assert done.clock.deadline == done.clock.window_at + 25_000
    assert near(15_000 - done.clock.left_ms, 0)


async def test_a_deadline_stays_unless_the_commit_speaks_of_it(store: Store) -> None:
    room = new_room()
    first = await made(store.rooms, room, turn(30_000))
    second = await extended(store.rooms, room, first.head)
    assert (second.clock.deadline, second.clock.kind) == (first.clock.deadline, TURN)
    third = await extended(store.rooms, room, second.head, ClockChange(pending=()))
    assert (third.clock.deadline, third.clock.kind, third.clock.left_ms) == (0, 0, 0)
    assert room not in await store.sweep.rooms_waiting(_partition(store, room))


def _partition(store: Store, room: RoomId) -> int:
    tag = store.pipelines.keys.room(room).partition.tag
    return int(tag.rsplit("{", 1)[1].rstrip("}"))


async def test_a_timeout_before_its_deadline_is_refused_with_the_time_left(store: Store, raw: redis.Redis) -> None:
    room, head = await aged(store, raw, turn(30_000), 20_000)
    early = await store.rooms.commit(commit(room, head, due=TURN))
    assert isinstance(early, Early)
    assert near(10_000 - early.left_ms, 0)
    assert await store.rooms.head(room) == head
    pass_time(raw, store.pipelines.keys, room, 10_000)
    assert isinstance(await store.rooms.commit(commit(room, head, due=TURN)), Committed)


async def test_an_action_after_the_deadline_but_before_the_timeout_counts(store: Store, raw: redis.Redis) -> None:
    room, head = await aged(store, raw, turn(30_000), 99_000)
    acted = await store.rooms.commit(commit(room, head))
    late = await store.rooms.commit(commit(room, head, due=TURN))
    assert isinstance(acted, Committed)
    assert isinstance(late, Conflict)


async def test_a_timeout_of_another_kind_than_the_pending_one_is_a_conflict(store: Store, raw: redis.Redis) -> None:
    room, head = await aged(store, raw, turn(30_000), 99_000)
    wrong = await store.rooms.commit(commit(room, head, due=BOT))
    assert isinstance(wrong, Conflict)
    assert wrong.newest.head == head
    assert wrong.newest.clock.kind == TURN


async def test_only_one_of_many_timeouts_of_one_deadline_counts(store: Store, raw: redis.Redis) -> None:
    room, head = await aged(store, raw, turn(30_000), 99_000)
    results = [await store.rooms.commit(commit(room, head, due=TURN)) for _ in range(5)]
    assert [type(result) for result in results] == [Committed, *[Conflict] * 4]


async def test_the_clock_reads_the_same_in_answer_snapshot_and_log(store: Store) -> None:
    room = new_room()
    done = await made(store.rooms, room, turn(30_000, 1, banks=(1_000, 2_000), restart_window=True))
    snapshot = await store.rooms.read(room)
    [entry] = await store.rooms.log(room)
    assert snapshot is not None
    assert entry.clock == done.clock
    assert entry.time == done.clock.now
    assert snapshot.clock.now >= done.clock.now
    assert _without_now(snapshot.clock) == _without_now(done.clock)


def _without_now(clock: Clock) -> tuple[object, ...]:
    return tuple(getattr(clock, field) for field in clock.__struct_fields__ if field != "now")


@pytest.mark.parametrize("ms", [0, 1, 5_000])
async def test_a_sweep_names_the_rooms_whose_deadline_has_passed(store: Store, raw: redis.Redis, ms: int) -> None:
    late, early = new_room(), new_room()
    await made(store.rooms, late, turn(30_000))
    await made(store.rooms, early, turn(30_000))
    pass_time(raw, store.pipelines.keys, late, 30_000 + ms)
    swept = await store.sweep.sweep()
    [due] = swept.due
    assert due.room == late
    assert near(due.late_ms, ms)
    assert swept.next_ms == 0
    assert (await store.sweep.sweep(overdue_ms=60_000)).due == ()


async def test_a_sweep_says_how_long_until_the_next_deadline(store: Store) -> None:
    assert (await store.sweep.sweep()).next_ms is None
    await made(store.rooms, new_room(), turn(90_000))
    await made(store.rooms, new_room(), turn(30_000))
    next_ms = (await store.sweep.sweep()).next_ms
    assert next_ms is not None
    assert near(30_000 - next_ms, 0)


async def test_a_sweep_is_bounded_and_names_the_oldest_first(store: Store, raw: redis.Redis) -> None:
    rooms = [new_room(partition=9) for _ in range(5)]
    for age, room in enumerate(rooms):
        await made(store.rooms, room, turn(30_000))
        pass_time(raw, store.pipelines.keys, room, 40_000 + age * 1_000)
    swept = await store.sweep.sweep([9], limit=2)
    assert [due.room for due in swept.due] == [rooms[4], rooms[3]]
