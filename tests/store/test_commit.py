"""One version, one winner, one log entry; or nothing at all."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
import redis

from services.store import scripts
from services.store.assembly import Store
from services.store.errors import BadArgument, DamagedRoom, StoreError
from services.store.keys import RoomId
from services.store.records import NO_MARK, ClockChange, Committed, Conflict, Head, Missing, Origin, Pending
from tests.store.conftest import MakeStore
from tests.store.making import accepted, commit, cut_log, extended, made, new_room, turn, until, weakened

COMPARES = "if version ~= wanted or (wanted > 0 and mark ~= ARGV[3]) then return newest() end"
COMPARES_VERSION = "if version ~= wanted then return newest() end"


def dump(raw: redis.Redis, prefix: str) -> dict[bytes, Any]:
    """Everything of this test but the outages, which are facts of their own: a slow machine makes some."""
    keys: Any = raw.keys(f"{prefix}:*")
    return {key: raw.dump(key) for key in keys if not key.endswith(b":outages")}


async def test_a_new_room_has_version_1_and_reads_back_as_it_was_written(store: Store) -> None:
    room = new_room()
    first = await made(store.rooms, room, state=b"\x00state", payload=b"\xffevents")
    assert first.head.version == 1
    snapshot = await store.rooms.read(room)
    assert snapshot is not None
    assert (snapshot.head, snapshot.state) == (first.head, b"\x00state")
    [entry] = await store.rooms.log(room)
    assert (entry.mark, entry.mark_before, entry.payload, entry.clock) == (
        first.head.mark, NO_MARK, b"\xffevents", first.clock,
    )  # fmt: skip


async def test_a_room_is_made_once(store: Store) -> None:
    room = new_room()
    first = await made(store.rooms, room, state=b"first")
    second = await store.rooms.commit(commit(room, None, state=b"second"))
    assert isinstance(second, Conflict)
    assert (second.newest.head, second.newest.state) == (first.head, b"first")


async def test_a_room_that_does_not_exist_is_missing(store: Store) -> None:
    room = new_room()
    assert await store.rooms.commit(commit(room, Head(3, bytes(8)))) == Missing(room)
    assert await store.rooms.read(room) is None
    assert await store.rooms.head(room) is None
    assert await store.rooms.log(room) == []
    assert await store.rooms.first_version(room) is None


@pytest.mark.parametrize("compares", [True, False])
async def test_of_many_racers_on_one_version_exactly_one_wins(
    make_store: MakeStore, monkeypatch: pytest.MonkeyPatch, compares: bool
) -> None:
    if not compares:
        monkeypatch.setattr(scripts, "COMMIT", weakened(scripts.COMMIT, COMPARES))
    processes = [make_store() for _ in range(4)]
    room = new_room()
    head = (await made(processes[0].rooms, room)).head
    for _ in range(5):
        racers = [commit(room, head) for _ in range(20)]
        results = await asyncio.gather(*(processes[i % 4].rooms.commit(racer) for i, racer in enumerate(racers)))
        winners = [result for result in results if isinstance(result, Committed)]
        if not compares:
            assert len(winners) == 20
            return
        [winner] = winners
        assert {result.newest.head for result in results if isinstance(result, Conflict)} == {winner.head}
        head = winner.head
    entries = await processes[0].rooms.log(room)
    assert [entry.version for entry in entries] == [1, 2, 3, 4, 5, 6]


async def test_log_ids_have_no_holes_and_each_entry_names_the_mark_before(store: Store) -> None:
    room = new_room()
    marks = [(await made(store.rooms, room)).head.mark]
    for version in range(1, 30):
        marks.append((await extended(store.rooms, room, Head(version, marks[-1]))).head.mark)
    entries = await store.rooms.log(room)
    assert [entry.version for entry in entries] == list(range(1, 31))
    assert [entry.mark for entry in entries] == marks
    assert [entry.mark_before for entry in entries] == [NO_MARK, *marks[:-1]]
    assert [entry.version for entry in await store.rooms.log(room, after=10, limit=5)] == [11, 12, 13, 14, 15]
    assert await store.rooms.mark_at(room, 17) == marks[16]
    assert await store.rooms.mark_at(room, 31) is None


@pytest.mark.parametrize("compares_mark", [True, False])
async def test_a_cache_from_before_a_rollback_of_redis_loses(
    store: Store, raw: redis.Redis, monkeypatch: pytest.MonkeyPatch, compares_mark: bool
) -> None:
    if not compares_mark:
        monkeypatch.setattr(scripts, "COMMIT", weakened(scripts.COMMIT, COMPARES, COMPARES_VERSION))
    room = new_room()
    first = await made(store.rooms, room)
    keys = store.pipelines.keys.room(room)
    backup: dict[str, Any] = {key: raw.dump(key) for key in (keys.room, keys.log)}
    forgotten = await extended(store.rooms, room, first.head, state=b"forgotten")
    for key, value in backup.items():
        raw.restore(key, 0, value, replace=True)
    present = await extended(store.rooms, room, first.head, state=b"present")
    stale = await store.rooms.commit(commit(room, forgotten.head, state=b"built on what is forgotten"))
    assert isinstance(stale, Conflict) == compares_mark
    if isinstance(stale, Conflict):
        assert (stale.newest.head, stale.newest.state) == (present.head, b"present")


async def test_commits_to_a_room_whose_log_was_trimmed_go_on(store: Store) -> None:
    room = new_room()
    head = (await made(store.rooms, room)).head
    for _ in range(5):
        head = (await extended(store.rooms, room, head)).head
    assert await cut_log(store, room, 4) == 3
    assert await store.rooms.first_version(room) == 4
    assert await store.rooms.mark_at(room, 3) is None
    await cut_log(store, room, 100)
    assert await store.rooms.first_version(room) is None
    head = (await extended(store.rooms, room, head)).head
    assert [entry.version for entry in await store.rooms.log(room)] == [7]


@pytest.mark.parametrize(
    ("clock", "complaint"),
    [
        (ClockChange(charge=7), "seat 7 has no bank"),
        (ClockChange(pending=(Pending(1, Origin.TURN, 10, 9),)), "seat 9 has no bank"),
        (ClockChange(pending=(Pending(1, Origin.WINDOW, 10),)), "never began"),
    ],
)
async def test_a_change_of_the_clock_that_makes_no_sense_changes_nothing(
    store: Store, raw: redis.Redis, prefix: str, clock: ClockChange, complaint: str
) -> None:
    room = new_room()
    first = await made(store.rooms, room, turn(1_000, banks=(500, 500)))
    before = dump(raw, prefix)
    with pytest.raises(StoreError, match=complaint):
        await store.rooms.commit(commit(room, first.head, clock, outbox=b"x", listing=b"y"))
    assert dump(raw, prefix) == before


@pytest.mark.parametrize("harm", ["log ahead", "room gone"])
async def test_a_log_ahead_of_its_room_is_reported_and_nothing_is_written(
    store: Store, raw: redis.Redis, prefix: str, harm: str
) -> None:
    room = new_room()
    after: Head | None = (await made(store.rooms, room)).head
    keys = store.pipelines.keys.room(room)
    if harm == "log ahead":
        raw.xadd(keys.log, {"p": "x"}, id="9-0")
    else:
        raw.delete(keys.room)
        after = None
    before = dump(raw, prefix)
    with pytest.raises(DamagedRoom):
        await store.rooms.commit(commit(room, after, turn(1_000), outbox=b"x"))
    assert dump(raw, prefix) == before


@pytest.mark.parametrize(
    "wrong",
    [
        {"mark": b"short"},
        {"after": Head(1, b"short")},
        {"after": Head(0, bytes(8))},
        {"lifetime_ms": 0},
        {"outbox": b""},
        {"clock": ClockChange(pending=(Pending(0, Origin.NOW, 1),))},
        {"clock": ClockChange(pending=(Pending(1, Origin.NOW, -1),))},
        {"room": "a}b"},
        {"room": ""},
    ],
)
async def test_what_cannot_be_stored_is_refused_by_name(store: Store, wrong: dict[str, Any]) -> None:
    fields = {"room": new_room(), "after": None, **wrong}
    with pytest.raises(BadArgument) as refusal:
        await store.rooms.commit(commit(**fields))
    assert refusal.value.field.split(".")[0] in {*wrong, "pending"}


async def test_the_room_list_shows_what_the_last_commit_said(store: Store) -> None:
    room, other = new_room(), new_room()
    first = await made(store.rooms, room, listing=b"two seats free")
    await made(store.rooms, other, listing=b"one seat free")
    assert await store.rooms.open_rooms() == {room: b"two seats free", other: b"one seat free"}
    second = await extended(store.rooms, room, first.head)
    assert (await store.rooms.open_rooms())[room] == b"two seats free"
    await extended(store.rooms, room, second.head, listing=b"")
    assert await store.rooms.open_rooms() == {other: b"one seat free"}


async def test_the_index_of_a_player_names_the_rooms_put_on_it(store: Store) -> None:
    player, room, other = "auth0|{Jörg}", new_room(), new_room()
    await store.rooms.add_player_room(player, room)  # type: ignore[arg-type]
    await store.rooms.add_player_room(player, other)  # type: ignore[arg-type]
    await store.rooms.remove_player_room(player, room)  # type: ignore[arg-type]
    assert await store.rooms.player_rooms(player) == [other]  # type: ignore[arg-type]


async def test_a_commit_without_a_lifetime_keeps_a_room_that_had_one(store: Store, raw: redis.Redis) -> None:
    room = new_room()
    keys = store.pipelines.keys.room(room)
    ended = await made(store.rooms, room, lifetime_ms=60_000)
    assert 0 < raw.pttl(keys.room) <= 60_000
    assert 0 < raw.pttl(keys.log) <= 60_000
    await extended(store.rooms, room, ended.head)
    assert raw.pttl(keys.room) == raw.pttl(keys.log) == -1


async def gone(store: Store, room: RoomId) -> bool:
    return await store.rooms.head(room) is None


async def test_a_room_whose_lifetime_is_over_is_gone_and_leaves_no_deadline(store: Store, raw: redis.Redis) -> None:
    room = new_room()
    first = await made(store.rooms, room, turn(60_000), listing=b"open", lifetime_ms=1)
    await until(lambda: gone(store, room))
    assert await store.rooms.log(room) == []
    assert await store.rooms.commit(commit(room, first.head)) == Missing(room)
    partition = store.pipelines.keys.room(room).partition
    assert raw.zcard(partition.deadlines) == raw.hlen(partition.open) == 0
    await made(store.rooms, room)


async def test_retiring_spares_a_room_that_moved_on(store: Store, raw: redis.Redis, prefix: str) -> None:
    room = new_room()
    first = await made(store.rooms, room, turn(60_000), listing=b"open")
    second = await extended(store.rooms, room, first.head)
    assert not await store.rooms.retire(room, first.head, 0)
    assert await store.rooms.head(room) == second.head
    assert await store.rooms.retire(room, second.head, 60_000)
    assert 0 < raw.pttl(store.pipelines.keys.room(room).log) <= 60_000
    third = await extended(store.rooms, room, second.head)
    assert raw.pttl(store.pipelines.keys.room(room).log) == -1
    assert await store.rooms.retire(room, third.head, 0)
    outages = store.pipelines.keys.room(room).partition.outages
    assert raw.keys(f"{prefix}:*") == [outages.encode()]


async def test_a_room_stays_with_its_log_until_what_it_owes_scoring_is_confirmed(
    store: Store, raw: redis.Redis
) -> None:
    room = new_room()
    keys = store.pipelines.keys.room(room)
    first = await made(store.rooms, room, outbox=b"first")
    second = await extended(store.rooms, room, first.head, outbox=b"second", lifetime_ms=60_000)
    assert first.outbox_id is not None
    assert second.outbox_id is not None
    assert await store.rooms.retire(room, second.head, 1_000)
    await store.outbox.done(room, first.outbox_id)
    assert not await store.outbox.done(room, first.outbox_id)
    assert raw.pttl(keys.room) == raw.pttl(keys.log) == -1
    await store.outbox.done(room, second.outbox_id)
    assert 0 < raw.pttl(keys.room) <= 1_000
    assert 0 < raw.pttl(keys.log) <= 1_000


async def test_a_room_that_owes_nothing_more_lives_as_long_as_any(store: Store, raw: redis.Redis) -> None:
    room = new_room()
    keys = store.pipelines.keys.room(room)
    first = await made(store.rooms, room, outbox=b"result")
    assert first.outbox_id is not None
    await store.outbox.done(room, first.outbox_id)
    assert raw.pttl(keys.log) == -1
    await extended(store.rooms, room, first.head, lifetime_ms=60_000)
    assert 0 < raw.pttl(keys.log) <= 60_000


async def test_the_last_version_by_a_time_is_found_with_the_state_that_it_kept(store: Store) -> None:
    room = new_room()
    assert await store.rooms.last_by(room, 1 << 50) is None
    done = await made(store.rooms, room, keep_state=True)
    for number in range(40):
        done = await extended(store.rooms, room, done.head, keep_state=number % 2 == 0)
        if number % 8 == 0:
            await asyncio.sleep(0.003)  # several times of Redis
    entries = await store.rooms.log(room)
    assert len({entry.time for entry in entries}) > 3
    assert [entry.state is not None for entry in entries[:4]] == [True, True, False, True]
    for time in range(entries[0].time - 1, entries[-1].time + 2):
        wanted = [entry for entry in entries if entry.time <= time]
        assert await store.rooms.last_by(room, time) == (wanted[-1] if wanted else None)


async def test_rooms_of_all_partitions_commit_side_by_side(store: Store) -> None:
    rooms = [new_room() for _ in range(200)]

    async def play(room: RoomId) -> None:
        head = (await made(store.rooms, room)).head
        for _ in range(10):
            head = accepted(await store.rooms.commit(commit(room, head))).head

    await asyncio.gather(*(play(room) for room in rooms))
    for room in rooms:
        assert [entry.version for entry in await store.rooms.log(room)] == list(range(1, 12))
