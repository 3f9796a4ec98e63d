"""Results on their way to scoring: kept until confirmed, and never stuck on one that is refused."""

from __future__ import annotations

import functools
import os
from typing import Any

import pytest
import redis

from services.store import scripts
from services.store.assembly import Store
from services.store.dead import DeadResult, Place
from services.store.keys import DEAD_MS, RoomId
from services.store.outbox import MOST_REFUSALS, OutboxEntry
from services.store.records import Head
from tests.store.making import commit, extended, made, new_room, until, weakened

SOON_MS = 1_000


async def put(store: Store, room: RoomId, head: Head | None, result: bytes) -> tuple[OutboxEntry, Head, int]:
    """One result in the outbox, the room's head, and a time by which it is in (ids have a clock of their own)."""
    done = await (extended(store.rooms, room, head, outbox=result) if head else made(store.rooms, room, outbox=result))
    assert done.outbox_id is not None
    return OutboxEntry(done.outbox_id, room, done.head.version, result), done.head, done.clock.now + SOON_MS


async def test_a_result_waits_until_it_is_confirmed(store: Store) -> None:
    room, other = new_room(), new_room()
    first, head, _ = await put(store, room, None, b"round 1")
    second, _, _ = await put(store, room, head, b"round 2")
    third, _, now = await put(store, other, None, b"other")
    entries = await store.outbox.older_than(0, now=now)
    assert set(entries) == {first, second, third}
    assert [entry for entry in entries if entry.room == room] == [first, second]
    assert (await store.outbox.counts()) == (3, 0)
    assert await store.outbox.done(room, first.id)
    assert not await store.outbox.done(room, first.id)
    assert set(await store.outbox.older_than(0, now=now)) == {second, third}


WAITS, WAITS_NOT = "redis.call('HINCRBY', room, 'o', -1) > 0", "redis.call('HINCRBY', room, 'o', -1) < 0"
MATCH = 50
"""Versions of a match here, and as many bytes more of each than a real one has."""


async def play_match(store: Store, room: RoomId, head: Head | None) -> tuple[OutboxEntry, Head, int]:
    """A match of a room, or its first; its last version's head, and its first version."""
    first = head.version + 1 if head else 1
    for _ in range(MATCH - 1):
        payload = os.urandom(300)
        done = await (
            extended(store.rooms, room, head, payload=payload) if head else made(store.rooms, room, payload=payload)
        )
        head = done.head
    entry, head, _ = await put(store, room, head, b"result")
    return entry, head, first


async def test_the_log_of_a_room_with_twenty_rematches_holds_two_matches_at_most(
    store: Store, raw: redis.Redis
) -> None:
    room, sizes, head = new_room(), list[int](), None
    usage: Any = functools.partial(raw.memory_usage, store.pipelines.keys.room(room).log, samples=0)
    for number in range(21):
        entry, head, first = await play_match(store, room, head)
        sizes.append(usage())
        began = await store.rooms.created_ms(room)
        assert await store.outbox.done(room, entry.id, first - 1 if number else 0)
        assert await store.rooms.first_version(room) == max(1, first - 1)
        assert await store.rooms.created_ms(room) == began
    versions = [entry.version for entry in await store.rooms.log(room)]
    assert versions == list(range(20 * MATCH, 21 * MATCH + 1)), "the last match is whole"
    assert max(sizes) < 2.5 * sizes[0]


@pytest.mark.parametrize("waits", [True, False])
async def test_a_log_is_not_cut_while_a_match_of_it_is_not_confirmed(
    store: Store, monkeypatch: pytest.MonkeyPatch, waits: bool
) -> None:
    """The control cuts it, and the replay of the first match would be lost."""
    if not waits:
        monkeypatch.setattr(scripts, "CONFIRM", weakened(scripts.CONFIRM, WAITS, WAITS_NOT))
    room = new_room()
    first, head, _ = await play_match(store, room, None)
    second, _, began = await play_match(store, room, head)
    assert await store.outbox.done(room, second.id, began - 1)
    assert (await store.rooms.first_version(room) == 1) == waits
    if waits:
        third, _, began = await play_match(store, room, await store.rooms.head(room))
        assert await store.outbox.done(room, first.id)
        assert await store.rooms.first_version(room) == 1
        assert await store.outbox.done(room, third.id, began - 1)
        assert await store.rooms.first_version(room) == began - 1, "the next one that is confirmed cuts all of it"


async def test_the_sweep_leaves_a_fresh_result_to_its_committer(store: Store) -> None:
    entry, _, now = await put(store, new_room(), None, b"fresh")
    assert await store.outbox.older_than(2_000, now=now) == []
    assert await store.outbox.older_than(2_000, now=now + 2_000) == [entry]


async def test_a_lost_race_puts_nothing_in(store: Store) -> None:
    room = new_room()
    first = await made(store.rooms, room)
    await extended(store.rooms, room, first.head)
    await store.rooms.commit(commit(room, first.head, outbox=b"never happened"))
    assert (await store.outbox.counts()) == (0, 0)


async def kill(store: Store, entry: OutboxEntry) -> DeadResult:
    """Scoring refuses it for good."""
    for _ in range(MOST_REFUSALS - 1):
        assert not await store.outbox.refused(entry, "TRIED")
    assert await store.outbox.refused(entry, "INVALID_FIELD")
    return next(result for result in await store.dead.listed(None, 100) if result.room == entry.room)


async def test_a_result_refused_ten_times_is_dead_and_still_readable(store: Store) -> None:
    room = new_room(partition=3)
    entry, _, _ = await put(store, room, None, b"refused")
    other, _, later = await put(store, new_room(partition=3), None, b"fine")
    for _ in range(MOST_REFUSALS - 1):
        assert not await store.outbox.refused(entry, "TRIED")
    assert await store.outbox.older_than(0, [3], now=later) == [entry, other]
    assert await store.outbox.refused(entry, "INVALID_FIELD")
    assert not await store.outbox.refused(entry, "INVALID_FIELD")
    (dead,) = await store.dead.listed(None, 10)
    assert dead[2:] == (room, 1, b"refused", entry.id, "INVALID_FIELD")
    assert await store.outbox.counts([3]) == (1, 1)
    assert await store.outbox.older_than(0, [3], now=later) == [other]


async def test_dead_results_are_listed_page_by_page(store: Store) -> None:
    killed = [
        await kill(store, (await put(store, new_room(partition=number), None, b"%d" % number))[0])
        for number in (5, 5, 5, 200)
    ]
    found, after = list[DeadResult](), None
    while page := await store.dead.listed(after, 2):
        found += page
        after = Place(page[-1].partition, page[-1].id)
    assert [result.room for result in found] == [result.room for result in killed]


@pytest.mark.parametrize("closes_first", [True, False])
async def test_a_room_whose_result_is_dead_goes_when_its_time_comes_and_its_log_stays_with_the_result(
    store: Store, raw: redis.Redis, closes_first: bool
) -> None:
    room = new_room()
    entry, head, _ = await play_match(store, room, None)
    played = await store.rooms.log(room)
    if closes_first:
        await store.rooms.retire(room, head, 0)
        assert await store.rooms.head(room), "it waits for scoring"
    dead = await kill(store, entry)
    if not closes_first:
        await store.rooms.retire(room, head, 0)
    await until(lambda: _is_gone(store, room))
    assert await store.rooms.log(room) == []
    assert await store.dead.log(room, dead.first_id) == played
    left: Any = raw.pttl(store.pipelines.keys.dead_log(room, dead.first_id))
    assert 0 < left <= DEAD_MS


async def _is_gone(store: Store, room: RoomId) -> bool:
    return await store.rooms.head(room) is None


async def test_a_dead_result_that_is_sent_again_holds_its_room_until_it_is_confirmed(
    store: Store, raw: redis.Redis
) -> None:
    room = new_room()
    entry, head, _ = await play_match(store, room, None)
    dead = await kill(store, entry)
    assert await store.dead.retry(dead)
    assert not await store.dead.retry(dead)
    later = dead.given_up_ms + 60_000
    (again,) = await store.outbox.older_than(0, now=later)
    assert (again.room, again.version, again.entry) == entry[1:4]
    assert again.committed_ms == entry.committed_ms, "so that scoring hears of the same end"
    await store.rooms.retire(room, head, 0)
    assert await store.rooms.head(room) == head
    assert await store.outbox.done(room, again.id)
    await store.dead.drop_log(room, again.first_id)
    await until(lambda: _is_gone(store, room))
    assert await store.outbox.counts() == (0, 0)
    assert raw.exists(store.pipelines.keys.dead_log(room, dead.first_id)) == 0


async def test_a_dead_result_that_dies_again_keeps_the_log_of_the_first_time(store: Store) -> None:
    room = new_room()
    entry, head, _ = await play_match(store, room, None)
    played = await store.rooms.log(room)
    dead = await kill(store, entry)
    await store.rooms.retire(room, head, 0)
    await until(lambda: _is_gone(store, room))
    assert await store.dead.retry(dead)
    assert await store.rooms.head(room) is None, "what is gone does not come back in parts"
    (again,) = await store.outbox.older_than(0, now=dead.given_up_ms + 60_000)
    second = await kill(store, again)
    assert (second.first_id, second.entry) == (dead.first_id, dead.entry)
    assert await store.dead.log(room, second.first_id) == played
    assert await store.dead.drop(second)
    assert not await store.dead.drop(second)
    assert await store.dead.log(room, second.first_id) == []


async def test_dead_results_are_forgotten_after_thirty_days(store: Store) -> None:
    dead = await kill(store, (await play_match(store, new_room(), None))[0])
    assert await store.dead.forget_old(dead.given_up_ms + DEAD_MS - 1) == 0
    assert await store.dead.listed(None, 10) == [dead]
    assert await store.dead.forget_old(dead.given_up_ms + DEAD_MS) == 1
    assert await store.dead.listed(None, 10) == []
    assert await store.dead.log(dead.room, dead.first_id) == []


async def test_a_room_does_not_wait_for_ever_for_what_an_older_release_gave_up(store: Store, raw: redis.Redis) -> None:
    """There the room waited until an operator had put the result back and it was counted."""
    rooms = new_room(), new_room()
    for room in rooms:
        entry, head, _ = await put(store, room, None, b"old")
        keys = store.pipelines.keys.room(room).partition
        raw.xadd(keys.dead, {"id": entry.id, "r": room, "v": 1, "b": b"old"})
        raw.xdel(keys.outbox, entry.id)
        await store.rooms.retire(room, head, 0)
    dropped, retried = sorted(await store.dead.listed(None, 10), key=lambda dead: rooms.index(dead.room))
    assert await store.dead.drop(dropped)
    assert await store.dead.retry(retried)
    (again,) = await store.outbox.older_than(0, now=1 << 45)
    assert await store.outbox.done(again.room, again.id)
    for room in rooms:
        await until(lambda room=room: _is_gone(store, room))  # type: ignore[misc]


async def test_a_confirmed_result_leaves_no_count_of_its_refusals(store: Store) -> None:
    room = new_room()
    entry, _, _ = await put(store, room, None, b"at last")
    await store.outbox.refused(entry, "TRIED")
    await store.outbox.done(room, entry.id)
    refusals = store.pipelines.keys.room(room).partition.refusals
    assert await store.pipelines.reads.command("EXISTS", refusals) == 0
