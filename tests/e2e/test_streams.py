"""Streams through Envoy: what was missed comes exactly, one `Play` a seat, and calls that wait for the next version."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
from typing import Any

import grpc
import maumau
import pytest
import redis
from maumau.follower import Follower
from maumau.v1 import authority_pb2, authority_pb2_grpc, room_pb2

from services.local.stack import Stack
from services.runtime.routes import GAME_AUTHORITY
from services.store.assembly import Store
from services.store.keys import RoomId
from services.wire.resume import resume_token
from tests.e2e.calls import Duel, Guest, channel_to, duel, next_message, read_to, reason_of
from tests.e2e.eventually import eventually
from tests.store.making import cut_log

TURNS = 40
RETURNS = 25
# A window that the rules open after a turn closes by the clock, so that a version may come that no player made.


def essence(view: room_pb2.RoomView) -> room_pb2.RoomView:
    """A view without what has no version: the time of writing and who is looking."""
    known = room_pb2.RoomView()
    known.CopyFrom(view)
    known.clock.ClearField("now")
    if not known.legal.actions and not known.legal.penal:
        known.ClearField("legal")
    known.spectators = 0
    for seat in known.seats:
        seat.connected = False
    return known


def versions_of(updates: list[Any]) -> list[int]:
    return [message.update.version for message in updates]


@pytest.fixture
async def playing(channel: grpc.aio.Channel) -> Duel:
    pair = await duel(channel)
    await pair.start()
    return pair


async def test_a_client_that_returns_gets_exactly_what_it_missed(playing: Duel) -> None:
    known = [await playing.ana.get_room(playing.room)]
    for _ in range(TURNS):
        await playing.turn()
        known.append(await playing.ana.get_room(playing.room))
    chance = random.Random(7)
    for snapshot in [known[0], *chance.sample(known[:-1], RETURNS)]:
        await check_return(playing.ana, playing.room, snapshot)


async def check_return(guest: Guest, room: str, known: room_pb2.Snapshot) -> None:
    """Whoever knew this is brought to the present view by exactly the versions in between; where these do not say
    enough, `maumau.table` tells so, and a client asks for the view."""
    now = (await guest.get_room(room)).room
    stream = guest.watch(room, known.resume_token)
    messages = await read_to(stream, now.version)
    stream.cancel()
    assert [message.update.version for message in messages] == list(range(known.room.version + 1, now.version + 1))
    follower = Follower()
    follower.take_snapshot(known)
    for message in messages:
        follower.take_update(message.update)
        assert follower.view is not None
        assert message is messages[-1] or not follower.view.legal.actions, "nothing can be done on what is past"
    assert follower.view is not None
    assert follower.uncertain or essence(follower.view) == essence(now)


async def test_a_token_of_now_brings_nothing_but_what_comes(playing: Duel) -> None:
    snapshot = await playing.ana.get_room(playing.room)
    stream = playing.ana.watch(playing.room, snapshot.resume_token)
    made = await playing.turn()
    messages = await read_to(stream, made)
    stream.cancel()
    assert versions_of(messages) == list(range(snapshot.room.version + 1, made + 1))


async def test_a_token_of_a_history_that_is_not_the_rooms_brings_a_snapshot_that_says_so(playing: Duel) -> None:
    now = (await playing.ana.get_room(playing.room)).room.version
    for version in (now - 1, now, now + 50):
        stream = playing.ana.watch(playing.room, resume_token(playing.room, version, os.urandom(8)))
        (message,) = await read_to(stream, 0)
        stream.cancel()
        assert message.snapshot.reason == room_pb2.SNAPSHOT_REASON_HISTORY_CHANGED
        assert message.snapshot.room.version >= now


async def test_a_token_older_than_the_log_brings_a_snapshot_that_says_so(playing: Duel, store: Store) -> None:
    old = await playing.ana.get_room(playing.room)
    last = [await playing.turn() for _ in range(5)][-1]
    await cut_log(store, RoomId(playing.room), last - 1)
    stream = playing.ana.watch(playing.room, old.resume_token)
    (message,) = await read_to(stream, 0)
    assert message.snapshot.reason == room_pb2.SNAPSHOT_REASON_HISTORY_TRIMMED
    known = message.snapshot.room.version
    assert known >= last
    made = await playing.turn()
    messages = await read_to(stream, made)
    stream.cancel()
    assert versions_of(messages) == list(range(known + 1, made + 1))


async def test_a_token_of_another_room_or_of_nothing_is_refused(playing: Duel) -> None:
    for token in (b"nonsense", resume_token("r_another", 3, bytes(8))):
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await read_to(playing.ana.watch(playing.room, token), 0)
        assert reason_of(caught.value)[0] == "BAD_RESUME_TOKEN"


async def act_on(call: Any, action: Any, version: int, request_id: bytes = b"") -> None:
    act = authority_pb2.PlayRequest.Act(request_id=request_id or os.urandom(16), version=version, action=action)
    await call.write(authority_pb2.PlayRequest(act=act))


async def test_on_one_stream_the_event_comes_before_the_answer_that_names_it(playing: Duel) -> None:
    guest, _, view = await playing.on_turn()
    call = await guest.play(playing.room)
    await read_to(call, view.version)
    await act_on(call, view.legal.actions[0], view.version)
    seen: list[int] = []
    answered = False
    while not answered:
        message = await next_message(call)
        answered = message.HasField("answer")
        if message.HasField("update"):
            seen.append(message.update.version)
    call.cancel()
    assert message.HasField("update"), "both in one message: the update counts first"
    assert seen == list(range(view.version + 1, message.answer.version + 1)) != []


async def test_an_answer_whose_version_the_stream_has_had_comes_alone(playing: Duel) -> None:
    guest, _, view = await playing.on_turn()
    call = await guest.play(playing.room)
    await read_to(call, view.version)
    request_id = os.urandom(16)
    for _ in range(2):
        await act_on(call, view.legal.actions[0], view.version, request_id)
    answered: list[Any] = []
    while len(answered) < 2:
        message = await next_message(call)
        if message.HasField("answer"):
            answered.append(message)
    call.cancel()
    first, repeated = answered
    assert first.update.version == first.answer.version == repeated.answer.version == view.version + 1
    assert repeated.WhichOneof("message") is None


async def test_a_refusal_on_a_stream_is_an_answer_and_the_stream_goes_on(playing: Duel) -> None:
    _, waiting, view = await playing.on_turn()
    call = await waiting.play(playing.room)
    await read_to(call, view.version)
    await act_on(call, maumau.actions.start(), view.version)
    while not (message := await next_message(call)).HasField("answer"):
        assert message.HasField("bookmark")
    assert message.answer.refusal.reason in ("NOT_HOST", "MATCH_RUNNING")
    made = await playing.turn()
    await read_to(call, made)
    call.cancel()


class Reading:
    """Reads a stream to its end: `reason` is why the server ended it, None while it has not."""

    def __init__(self, call: Any) -> None:
        self.call = call
        self.version = 0
        self.reason: str | None = None
        self.task = asyncio.create_task(self._read())

    async def _read(self) -> None:
        try:
            while (message := await self.call.read()) is not grpc.aio.EOF:
                self.version = max(self.version, message.update.version)
        except grpc.aio.AioRpcError as error:
            self.reason = reason_of(error)[0]

    async def reaches(self, version: int) -> None:
        await eventually(lambda: self.version >= version, f"version {version} comes")
        assert self.reason is None
        self.call.cancel()


async def test_a_newer_play_ends_the_older_one_of_the_same_seat_alone(playing: Duel) -> None:
    first, other = await playing.ana.play(playing.room), await playing.bo.play(playing.room)
    for call in (first, other):
        await read_to(call, 1)
    second = await playing.ana.play(playing.room)
    await read_to(second, 1)
    older = Reading(first)
    await eventually(lambda: older.reason, "the older one ends")
    assert older.reason == "TAKEN_OVER"
    made = await playing.turn()
    for call in (second, other):
        await read_to(call, made)
        call.cancel()


async def test_of_two_plays_at_two_processes_one_ends_the_other(stack: Stack, playing: Duel) -> None:
    one, other = stack.addresses(GAME_AUTHORITY)
    async with channel_to(one) as first_channel, channel_to(other) as second_channel:
        calls = []
        for channel in (first_channel, second_channel):
            playing.ana.rooms = authority_pb2_grpc.GameAuthorityServiceStub(channel)
            calls.append(await playing.ana.play(playing.room))
            await read_to(calls[-1], 1)
        readings = [Reading(call) for call in calls]
        await eventually(lambda: any(reading.reason for reading in readings), "one of them ends")
        (ended,) = [reading for reading in readings if reading.reason]
        assert ended.reason == "TAKEN_OVER"
        (other_one,) = [reading for reading in readings if reading is not ended]
        await other_one.reaches(await playing.turn())


async def test_the_streams_of_a_room_that_redis_no_longer_has_end_also_when_somebody_else_notices_it_first(
    playing: Duel, store: Store
) -> None:
    """Redis was rolled back to a time before the room: nothing would ever come on them again."""
    streams = [playing.ana.watch(playing.room), await playing.bo.play(playing.room)]
    for stream in streams:
        assert (await next_message(stream)).HasField("snapshot")
    head = await store.rooms.head(RoomId(playing.room))
    assert head is not None
    assert await store.rooms.retire(RoomId(playing.room), head, 0)
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await playing.ana.get_room(playing.room)
    assert reason_of(refused.value)[0] == "ROOM_NOT_FOUND"
    for stream in streams:
        while not (message := await next_message(stream)).HasField("go_away"):
            assert message.HasField("bookmark")
        assert message.go_away.reason == room_pb2.GO_AWAY_REASON_ROOM_CLOSED
        assert await next_message(stream) is grpc.aio.EOF


async def test_a_play_is_taken_over_also_where_the_word_of_it_was_lost(stack: Stack, playing: Duel) -> None:
    """The subscriptions break while the newer stream is opened at another process."""
    async with contextlib.AsyncExitStack() as channels:
        calls = []
        with redis.from_url(stack.redis_url) as raw:
            for address in stack.addresses(GAME_AUTHORITY):
                channel = await channels.enter_async_context(channel_to(address))
                rooms = authority_pb2_grpc.GameAuthorityServiceStub(channel)
                calls.append(rooms.Play(metadata=playing.ana.metadata(playing.room)))
                if len(calls) > 1:
                    raw.execute_command("CLIENT", "KILL", "TYPE", "pubsub")
                await calls[-1].write(
                    authority_pb2.PlayRequest(open=authority_pb2.PlayRequest.Open(room_id=playing.room))
                )
                assert (await next_message(calls[-1])).HasField("snapshot")
        older, newer = calls
        with pytest.raises(grpc.aio.AioRpcError) as ended:
            await read_to(older, 1 << 40)
        assert reason_of(ended.value)[0] == "TAKEN_OVER"
        assert not newer.done()
        newer.cancel()


async def test_any_number_may_watch_and_all_see_the_same_versions(playing: Duel) -> None:
    """Each a version: those of the turns and those that a clock made in between."""
    streams = [playing.ana.watch(playing.room) for _ in range(5)]
    begins = [(await read_to(stream, 1))[-1].snapshot.room.version for stream in streams]
    made = [await playing.turn() for _ in range(10)]
    seen = [versions_of(await read_to(stream, made[-1])) for stream in streams]
    for stream in streams:
        stream.cancel()
    assert seen == [list(range(begin + 1, made[-1] + 1)) for begin in begins]
    assert all(version in seen[0] for version in made)


async def test_get_room_waits_for_the_next_version(playing: Duel) -> None:
    now = (await playing.ana.get_room(playing.room)).room.version
    waiting = asyncio.create_task(playing.bo.get_room(playing.room, since_version=now))
    await playing.turn()
    assert (await waiting).room.version > now


async def test_get_room_answers_at_once_for_one_who_is_behind(playing: Duel) -> None:
    now = (await playing.ana.get_room(playing.room)).room.version
    assert (await playing.ana.get_room(playing.room, since_version=now - 1)).room.version >= now


async def test_get_room_says_at_once_that_a_version_is_no_longer_the_rooms(playing: Duel) -> None:
    """Redis was rolled back: whoever has no stream must hear of it as well."""
    now = (await playing.ana.get_room(playing.room)).room.version
    snapshot = await playing.ana.get_room(playing.room, since_version=now + 3, wait_milliseconds=25_000)
    assert snapshot.reason == room_pb2.SNAPSHOT_REASON_HISTORY_CHANGED
    assert now <= snapshot.room.version < now + 3


async def test_get_room_answers_with_what_there_is_when_nothing_comes(channel: grpc.aio.Channel) -> None:
    pair = await duel(channel)  # no match runs, so nothing comes
    now = (await pair.ana.get_room(pair.room)).room.version
    snapshot = await pair.ana.get_room(pair.room, since_version=now, wait_milliseconds=50)
    assert snapshot.room.version == now


async def my_rooms(guest: Guest, page_size: int) -> list[list[str]]:
    """Ids of the rooms, by page."""
    pages, request = [], authority_pb2.ListMyRoomsRequest(page_size=page_size)
    while True:
        answer = await guest.rooms.ListMyRooms(request, metadata=guest.metadata(), timeout=20)
        pages.append([room.room_id for room in answer.rooms])
        if not answer.next_page_token:
            return pages
        request.page_token = answer.next_page_token


async def test_my_rooms_are_those_where_i_sit_newest_first(playing: Duel) -> None:
    rooms = [playing.room]
    for _ in range(3):
        rooms.insert(0, await playing.ana.create_room(2))
    assert await my_rooms(playing.ana, 3) == [rooms[:3], rooms[3:]]
    assert await my_rooms(playing.bo, 3) == [[playing.room]]
    await playing.ana.act(rooms[1], maumau.actions.leave_seat(), 0)

    async def left() -> bool:
        return await my_rooms(playing.ana, 100) == [[rooms[0], *rooms[2:]]]

    await eventually(left, "a room that was left is not listed")
