"""Replays of matches that ended: who gets them, what is in them, and that they outlive their rooms."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import maumau
import pytest
import redis
from maumau import replays
from maumau.v1 import authority_pb2, events_pb2, settings_pb2
from maumau.verify import verify

from services.game_authority.relay import encode_result
from services.local.stack import Stack
from services.rules.room.codec import decode
from services.rules.room.ending import match_result
from services.store.assembly import Store
from services.store.connect import StoreSettings
from services.store.keys import RoomId
from tests.e2e.eventually import eventually
from tests.e2e.lounge import Lounge, lounge, play, refused, sees, start
from tests.e2e.stacks import complaints, options
from tests.maumauctl.running import Command

Replay = authority_pb2.GetReplayResponse


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with Stack(options(tmp_path_factory.mktemp("stack"), environ={"MAUMAU_EMPTY_ROOM_SECONDS": "2"})) as running:
        yield running
        assert complaints(running) == []


async def archived(store: Store) -> bool:
    return (await store.outbox.counts()).waiting == 0


def kinds(replay: Replay) -> list[str]:
    return [str(event.WhichOneof("event")) for step in replay.steps for event in step.events]


async def test_who_played_gets_every_version_with_all_cards_and_it_verifies(stack: Stack, tmp_path: Path) -> None:
    async with lounge(stack.address) as hall:
        people = await hall.clients("Ana", "Bo")
        host = await hall.create(people[0], seats=3)
        sides = [host, await hall.join(people[1], host)]
        await host.add_bot()
        await start(sides)
        view = await play(sides)
        ana, bo = [await person.replay(host.id) for person in people]
    assert ana == bo
    assert [step.version for step in ana.steps] == list(range(ana.first_version, ana.last_version + 1))
    assert (kinds(ana)[0], ana.match_id, ana.seed) == ("match_started", view.match_id, view.seed)
    dealt = next(event.round_started for step in ana.steps for event in step.events if event.HasField("round_started"))
    assert [len(hand.cards) for hand in dealt.hands] == list(dealt.hand_sizes)
    assert verify(ana, commitment=view.proof.commitment).wrong == ""
    replays.save(ana, tmp_path / "match.json")
    assert replays.load(tmp_path / "match.json") == ana


async def test_pages_meet_without_gap_or_repeat(stack: Stack) -> None:
    async with lounge(stack.address) as hall, Store(StoreSettings(url=stack.redis_url)) as store:
        client = await hall.client("Ana")
        whole, room = await _one_match(hall, client)
        in_room = await _paged(client, room.id, 7)
        assert in_room == whole
        await eventually(lambda: archived(store), "the log is archived")
        await _drop(store, room.id)
        assert await _paged(client, room.id, 7) == whole
        assert await client.replay(room.id, whole.match_id) == whole
        request = authority_pb2.GetReplayRequest(room_id=room.id, page_token="AAAA")
        assert (await refused(_ask(client, request))).reason == "BAD_PAGE_TOKEN"


async def _one_match(hall: Lounge, client: maumau.Client, **settings: Any) -> tuple[Replay, maumau.Room]:
    """A match of this person against a bot, and its replay while the room is there."""
    room = await hall.create(client, seats=2, **settings)
    await room.add_bot()
    await start([room])
    await play([room])
    return await client.replay(room.id), room


async def _paged(client: maumau.Client, room: str, size: int) -> Replay:
    whole, request = Replay(), authority_pb2.GetReplayRequest(room_id=room, page_size=size)
    while True:
        page = await _ask(client, request)
        assert 0 < len(page.steps) <= size
        whole.MergeFrom(page)
        if not page.next_page_token:
            whole.ClearField("next_page_token")
            return whole
        request.page_token = page.next_page_token


async def _ask(client: maumau.Client, request: authority_pb2.GetReplayRequest) -> Replay:
    return await client._calls.call(client._authority.GetReplay, request, room_id=request.room_id)


async def _drop(store: Store, room: str) -> None:
    """As its lifetime's end does."""
    room_id = RoomId(room)
    while (head := await store.rooms.head(room_id)) is not None:
        await store.rooms.retire(room_id, head, 0)


async def test_a_match_of_a_private_room_is_nobody_elses(stack: Stack) -> None:
    async with lounge(stack.address) as hall, Store(StoreSettings(url=stack.redis_url)) as store:
        ana, eve = await hall.clients("Ana", "Eve")
        whole, room = await _one_match(hall, ana)
        unknown = await refused(eve.replay("r_nowhere"))
        for match in ("", whole.match_id, "m_other"):
            hidden = await refused(eve.replay(room.id, match))
            assert (hidden.reason, hidden.metadata) == (unknown.reason, unknown.metadata) == ("ROOM_NOT_FOUND", {})
        assert (await refused(ana.replay(room.id, "m_other"))).reason == "MATCH_NOT_FOUND"
        await eventually(lambda: archived(store), "the log is archived")
        await _drop(store, room.id)
        assert (await refused(eve.replay(room.id, whole.match_id))).reason == "ROOM_NOT_FOUND"
        assert (await ana.replay(room.id)).match_id == whole.match_id


async def test_a_match_that_spectators_could_watch_is_anybodys(stack: Stack) -> None:
    async with lounge(stack.address) as hall, Store(StoreSettings(url=stack.redis_url)) as store:
        ana, eve = await hall.clients("Ana", "Eve")
        whole, room = await _one_match(hall, ana, visibility=settings_pb2.VISIBILITY_PUBLIC)
        assert await eve.replay(room.id) == whole
        await eventually(lambda: archived(store), "the log is archived")
        await _drop(store, room.id)
        assert await eve.replay(room.id) == whole


async def test_a_running_match_has_no_replay_and_the_one_before_has(stack: Stack) -> None:
    async with lounge(stack.address) as hall, Store(StoreSettings(url=stack.redis_url)) as store:
        ana, eve = await hall.clients("Ana", "Eve")
        room = await hall.create(ana, seats=2)
        await room.add_bot()
        await start([room])
        assert (await refused(ana.replay(room.id))).reason == "MATCH_RUNNING"
        assert (await refused(eve.replay(room.id))).reason == "ROOM_NOT_FOUND"
        first = (await play([room])).match_id
        await eventually(lambda: archived(store), "the log is archived")
        await room.act(maumau.actions.rematch())
        await start([room])
        second = (await sees(room, lambda view: view.match_id != first)).match_id
        assert (await refused(ana.replay(room.id, second))).reason == "MATCH_RUNNING"
        for match in ("", first):
            earlier = await ana.replay(room.id, match)
            assert (earlier.match_id, verify(earlier).wrong) == (first, "")
        await play([room])
        latest = await ana.replay(room.id)
        assert latest.match_id == second
        await eventually(lambda: archived(store), "the log is archived")
        assert await store.rooms.first_version(RoomId(room.id)) == latest.first_version - 1, "the first match is gone"
        assert (await ana.replay(room.id, first), await ana.replay(room.id, second)) == (earlier, latest)


async def test_a_match_that_was_aborted_is_archived_and_revealed_alike(stack: Stack) -> None:
    async with lounge(stack.address) as hall, Store(StoreSettings(url=stack.redis_url)) as store:
        ana, bo = await hall.clients("Ana", "Bo")
        host = await hall.create(ana, seats=2)
        sides = [host, await hall.join(bo, host)]
        await start(sides)
        for side in sides:
            await side.close()
        room = RoomId(host.id)
        await eventually(lambda: _has_ended(store, room), "nobody is left, so the match is aborted")
        await eventually(lambda: archived(store), "the log is archived")
        await _drop(store, room)
        replay = await ana.replay(room)
    ended = [event.match_finished for step in replay.steps for event in step.events if event.HasField("match_finished")]
    assert [event.cause for event in ended] == [events_pb2.MATCH_END_CAUSE_ABORTED]
    assert verify(replay).wrong == ""


async def _has_ended(store: Store, room: RoomId) -> bool:
    found = await store.rooms.read(room)
    assert found is not None
    match = decode(found.state).match
    return match is not None and match.outcome is not None


async def test_a_log_is_not_cut_before_spectators_who_see_it_late_have_seen_it(stack: Stack) -> None:
    """The control is the room without them, above."""
    async with lounge(stack.address) as hall, Store(StoreSettings(url=stack.redis_url)) as store:
        late: dict[str, Any] = {"spectators": settings_pb2.SPECTATORS_DELAYED, "spectator_delay_seconds": 600}
        ana = await hall.client("Ana")
        room = await hall.create(ana, seats=2, visibility=settings_pb2.VISIBILITY_PUBLIC, **late)
        await room.add_bot()
        for _ in range(2):
            await start([room])
            await play([room])
            await eventually(lambda: archived(store), "the log is archived")
            await room.act(maumau.actions.rematch())
        assert await store.rooms.first_version(RoomId(room.id)) == 1


@pytest.mark.parametrize("room_is_there", [True, False])
async def test_a_replay_names_no_player_who_was_deleted(stack: Stack, room_is_there: bool) -> None:
    ctl = Command({"MAUMAU_VAR_DIR": str(stack.var_dir)})
    async with lounge(stack.address) as hall, Store(StoreSettings(url=stack.redis_url)) as store:
        zoe, bo = await hall.clients("Zoe", "Bo")
        gone = (await zoe.player()).player_id
        host = await hall.create(zoe, seats=2)
        sides = [host, await hall.join(bo, host)]
        await start(sides)
        match = sides[1].view.match_id
        await host.leave()
        await sees(sides[1], lambda view: view.HasField("outcome"))
        await eventually(lambda: archived(store), "the log is archived")
        if not room_is_there:
            await _drop(store, host.id)
        before = await bo.replay(host.id, match)
        assert gone in str(before), "so there is something to hide"
        await asyncio.to_thread(ctl.done, "delete-player", gone, "--yes")
        after = await bo.replay(host.id, match)
        assert gone not in str(after)
        left = [event.seat_left for step in after.steps for event in step.events if event.HasField("seat_left")]
        assert [one.player_id.startswith("deleted-") for one in left] == [True]
        assert len(after.steps) == len(before.steps)
        assert verify(after).wrong == verify(before).wrong


async def test_a_result_that_scoring_had_refused_is_sent_again_with_its_log_although_its_room_has_gone(
    stack: Stack,
) -> None:
    ctl = Command({"MAUMAU_VAR_DIR": str(stack.var_dir)})
    async with lounge(stack.address) as hall, Store(StoreSettings(url=stack.redis_url)) as store:
        ana = await hall.client("Ana")
        whole, room = await _one_match(hall, ana)
        await eventually(lambda: archived(store), "the log is archived")
        await _as_if_refused(stack, store, room.id, whole.match_id)
        assert (await refused(ana.replay(room.id, whole.match_id))).reason == "ROOM_NOT_FOUND"
        [line] = await asyncio.to_thread(ctl.done, "dead-results")
        assert (line["match"], line["room"], line["reason"]) == (whole.match_id, room.id, "INVALID_FIELD")
        sent = await asyncio.to_thread(ctl.done, "retry-results")
        assert sent["matches"] == [whole.match_id]
        await eventually(lambda: archived(store), "scoring has it")
        assert await ana.replay(room.id, whole.match_id) == whole
        assert await asyncio.to_thread(ctl.done, "dead-results") == []


async def _as_if_refused(stack: Stack, store: Store, room: str, match: str) -> None:
    """As if scoring had refused the result of this match, the room's last, and the room had ended since."""
    snapshot = await store.rooms.read(RoomId(room))
    assert snapshot is not None
    entry_id, keys = f"{snapshot.clock.now}-0", store.pipelines.keys
    result = encode_result(match_result(decode(snapshot.state)))
    fields = {"id": entry_id, "w": "INVALID_FIELD", "r": room, "v": str(snapshot.head.version), "b": result}
    with redis.Redis.from_url(stack.redis_url) as raw:
        raw.copy(keys.room(RoomId(room)).log, keys.dead_log(RoomId(room), entry_id))
        raw.xadd(keys.room(RoomId(room)).partition.dead, fields)
        raw.delete(keys.archived(RoomId(room), match))
    await _drop(store, room)
