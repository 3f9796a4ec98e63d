"""Results on their way to scoring: kept until confirmed, and never stuck on one that is refused."""

from __future__ import annotations

import functools
import os
import re
from pathlib import Path
from typing import Any, Final

import pytest
import redis

from services.store import scripts
from services.store.assembly import Store
from services.store.keys import RoomId
from services.store.outbox import MOST_REFUSALS, OutboxEntry
from services.store.records import Head
from tests.store.making import commit, extended, made, new_room, weakened

SOON_MS = 1_000
RUNBOOK: Final = Path(__file__).parents[2] / "deploy" / "runbooks" / "OutboxDead.md"


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
        protection = "if redis.call('HINCRBY', KEYS[3], 'o', -1) > 0 then return 1 end"
        monkeypatch.setattr(scripts, "CONFIRM", weakened(scripts.CONFIRM, protection))
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


async def test_a_result_refused_ten_times_is_dead_and_still_readable(store: Store) -> None:
    room = new_room(partition=3)
    entry, _, _ = await put(store, room, None, b"refused")
    other, _, later = await put(store, new_room(partition=3), None, b"fine")
    for _ in range(MOST_REFUSALS - 1):
        assert not await store.outbox.refused(room, entry.id)
    assert await store.outbox.older_than(0, [3], now=later) == [entry, other]
    assert await store.outbox.refused(room, entry.id)
    assert not await store.outbox.refused(room, entry.id)
    assert await store.outbox.dead(3) == [entry]
    assert await store.outbox.counts([3]) == (1, 1)
    assert await store.outbox.older_than(0, [3], now=later) == [other]


async def test_a_confirmed_result_leaves_no_count_of_its_refusals(store: Store) -> None:
    room = new_room()
    entry, _, _ = await put(store, room, None, b"at last")
    await store.outbox.refused(room, entry.id)
    await store.outbox.done(room, entry.id)
    refusals = store.pipelines.keys.room(room).partition.refusals
    assert await store.pipelines.reads.command("EXISTS", refusals) == 0


async def test_the_runbook_puts_dead_results_back(store: Store, raw: redis.Redis) -> None:
    """With the command that it tells the operator."""
    stated = re.search(r'EVAL "(.*)" 2 ', RUNBOOK.read_text())
    assert stated is not None
    room = new_room(7)
    entry, _, now = await put(store, room, None, b"refused")
    for _ in range(MOST_REFUSALS):
        await store.outbox.refused(room, entry.id)
    keys = store.pipelines.keys.partition(7)
    answered: Any = raw.eval(stated[1], 2, keys.dead, keys.outbox)
    assert answered is None
    (back,) = await store.outbox.older_than(0, [7], now=now + SOON_MS)
    assert back._replace(id=entry.id) == entry
    assert await store.outbox.counts() == (1, 0)
    assert await store.outbox.done(room, back.id)
