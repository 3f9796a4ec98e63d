"""The deadline of a room can be set anew without a version, since who is there has no version."""

from __future__ import annotations

import redis

from services.store.assembly import Store
from services.store.keys import RoomId
from services.store.records import ClockChange, Committed, Grace, Head, Origin, Pending
from tests.store.making import commit, new_room

TURN, EMPTY = 1, 9


async def _room_with_turn(store: Store) -> tuple[RoomId, Committed]:
    room = new_room()
    turn = ClockChange(banks=(1_000, 2_000), restart_turn=True, pending=(Pending(TURN, Origin.TURN, 500, 0),))
    made = await store.rooms.commit(commit(room, None, turn))
    assert isinstance(made, Committed)
    return room, made


async def test_a_deadline_is_set_anew_and_the_version_stays(store: Store) -> None:
    room, made = await _room_with_turn(store)
    clock = await store.rooms.rearm(room, made.head, [Pending(EMPTY, Origin.NOW, 60_000)])
    assert clock is not None
    assert (clock.kind, clock.deadline) == (EMPTY, clock.now + 60_000)
    snapshot = await store.rooms.read(room)
    assert snapshot is not None
    assert (snapshot.head, snapshot.clock.deadline, snapshot.clock.banks) == (made.head, clock.deadline, (1_000, 2_000))


async def test_a_turn_that_waited_begins_anew(store: Store) -> None:
    room, made = await _room_with_turn(store)
    clock = await store.rooms.rearm(room, made.head, [Pending(TURN, Origin.TURN, 500, 1)], restart_turn=True)
    assert clock is not None
    assert (clock.turn_at, clock.deadline) == (clock.now, clock.now + 2_500)


async def test_a_room_that_moved_on_keeps_its_deadline(store: Store) -> None:
    room, made = await _room_with_turn(store)
    assert await store.rooms.rearm(room, Head(made.head.version, b"otherone"), [Pending(EMPTY, Origin.NOW, 1)]) is None
    moved = await store.rooms.commit(commit(room, made.head))
    assert isinstance(moved, Committed)
    assert await store.rooms.rearm(room, made.head, [Pending(EMPTY, Origin.NOW, 1)]) is None
    snapshot = await store.rooms.read(room)
    assert snapshot is not None
    assert snapshot.clock.deadline == made.clock.deadline


async def test_a_grace_is_given_once_a_turn_and_no_more_than_a_match_has(store: Store, raw: redis.Redis) -> None:
    room, made = await _room_with_turn(store)
    short = [Pending(TURN, Origin.NOW, 1)]

    async def left_with(turn: str) -> int | None:
        grace = Grace("match:0", turn, 10_000, 15_000)
        clock = await store.rooms.rearm(room, made.head, short, grace=grace)
        return None if clock is None else clock.left_ms

    assert await left_with("turn 1") == 10_000
    assert await left_with("turn 1") is None
    assert await left_with("turn 2") == 5_000
    assert await left_with("turn 3") is None
