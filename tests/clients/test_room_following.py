"""A room stays followed whatever happens to its streams (promises P6, P7, P14, P15)."""

from __future__ import annotations

from collections.abc import AsyncIterator

import maumau
import pytest
from maumau import Client, Room, SnapshotCause, actions, connection
from maumau.v1 import authority_pb2, events_pb2, room_pb2

from tests.clients.eventually import PATIENCE_SECONDS, eventually, next_chat, next_event, next_snapshot, next_update
from tests.clients.fake_room import FakeRoom
from tests.clients.fake_server import FakeServer, status_of

Response = authority_pb2.PlayResponse


@pytest.fixture(params=["play", "unary"])
async def room(request: pytest.FixtureRequest, client: Client) -> AsyncIterator[Room]:
    made = await client.create_room("mau-mau-32", seats=3)
    async with client.room(made.id, mode=request.param) as room:
        yield room


def happens(fake: FakeServer) -> None:
    """Another version, told to whoever is connected."""
    room = fake.room()
    room.join(f"player-of-{room.version}", "Somebody") if len(room.taken) < room.seats else room.commit(ready())
    fake.tell()


def ready() -> events_pb2.Event:
    return events_pb2.Event(ready_changed=events_pb2.Event.ReadyChanged(seat=1, ready=True))


async def end_streams(fake: FakeServer, farewell: Response) -> None:
    """Says farewell to the streams and waits for the next one."""
    opened = len(fake.opened)
    fake.send(farewell)
    await eventually(lambda: len(fake.opened) > opened)


async def test_events_begin_with_the_room_as_it_is(room: Room) -> None:
    first = await next_snapshot(room.events())
    assert first.cause is SnapshotCause.ASKED
    assert first.view.room_id == room.id
    assert room.own_seat == 0


async def test_every_version_comes_once_and_in_order(fake: FakeServer, room: Room) -> None:
    events = room.events()
    await next_snapshot(events)
    for _ in range(20):
        happens(fake)
    assert [(await next_update(events)).version for _ in range(20)] == list(range(2, 22))


@pytest.mark.parametrize("code", ["UNAVAILABLE", "INTERNAL", "UNKNOWN", "CANCELLED", "DEADLINE_EXCEEDED", "OK"])
async def test_a_cut_stream_resumes_where_it_left_off(fake: FakeServer, room: Room, code: str) -> None:
    events = room.events()
    await next_snapshot(events)
    happens(fake)
    await next_update(events)
    fake.cut_streams(code)
    happens(fake)
    happens(fake)
    assert [(await next_update(events)).version for _ in range(2)] == [3, 4]
    assert fake.opened[-1].resume_token == fake.room().token(2)


async def test_a_restarted_server_is_not_noticed(fake: FakeServer, room: Room) -> None:
    events = room.events()
    await next_snapshot(events)
    await fake.stop()
    await eventually(lambda: not room.online)
    happens(fake)
    await fake.start()
    assert (await next_update(events)).version == 2
    assert room.online


async def test_a_go_away_leads_to_another_stream(fake: FakeServer, room: Room) -> None:
    events = room.events()
    await next_snapshot(events)
    token = fake.room().token(1)
    for reason in (room_pb2.GO_AWAY_REASON_STOPPING, room_pb2.GO_AWAY_REASON_TOO_SLOW):
        await end_streams(fake, Response(go_away=room_pb2.GoAway(resume_token=token, reason=reason)))
    happens(fake)
    assert (await next_update(events)).version == 2


async def test_a_hole_is_filled_by_resuming(fake: FakeServer, room: Room) -> None:
    events = room.events()
    await next_snapshot(events)
    fake.silent = True
    happens(fake)
    happens(fake)
    fake.silent = False
    fake.send(Response(update=fake.room().update(3, "player-1")))
    assert [(await next_update(events)).version for _ in range(2)] == [2, 3]


async def test_a_version_that_comes_twice_is_told_once(fake: FakeServer, room: Room) -> None:
    events = room.events()
    await next_snapshot(events)
    happens(fake)
    fake.send(Response(update=fake.room().update(2, "player-1")))
    happens(fake)
    assert [(await next_update(events)).version for _ in range(2)] == [2, 3]
    assert len(fake.opened) == 1


async def test_a_bookmark_of_an_unseen_version_shows_a_lost_message(
    fake: FakeServer, room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "CATCH_UP_SECONDS", 0.05)
    events = room.events()
    await next_snapshot(events)
    fake.silent = True
    happens(fake)
    fake.silent = False
    fake.send(Response(bookmark=room_pb2.Bookmark(version=2)))
    assert (await next_update(events)).version == 2
    assert len(fake.opened) >= 2, "a slow machine may not have had the version on the second one in time"


async def test_a_stream_without_bookmarks_counts_as_dead(
    fake: FakeServer, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "BOOKMARK_SECONDS", 0.2)
    async with await client.create_room("mau-mau-32", seats=3):
        await eventually(lambda: len(fake.opened) >= 3)


async def test_changed_history_is_told(fake: FakeServer, room: Room) -> None:
    events = room.events()
    await next_snapshot(events)
    happens(fake)
    happens(fake)
    await next_update(events)
    await next_update(events)
    fake.roll_back(fake.room(), 1)
    fake.cut_streams()
    told = await next_snapshot(events)
    assert told.cause is SnapshotCause.HISTORY_CHANGED
    assert told.version == room.version == 1


async def test_a_resume_token_of_another_server_leads_to_a_snapshot(fake: FakeServer, room: Room) -> None:
    events = room.events()
    await next_snapshot(events)
    fake.refuse_streams.append(status_of("BAD_RESUME_TOKEN"))
    fake.cut_streams()
    assert (await next_snapshot(events)).cause is SnapshotCause.ASKED
    assert fake.opened[-1].resume_token == b""


async def test_a_seat_taken_over_is_not_fought_for(fake: FakeServer, room: Room) -> None:
    events = room.events()
    await next_snapshot(events)
    fake.cut_streams("TAKEN_OVER")
    with pytest.raises(maumau.TakenOver):
        await next_event(events)
    with pytest.raises(maumau.TakenOver):
        await room.act(actions.set_ready(True))
    assert room.over
    assert len(fake.opened) == 1


async def test_a_closed_room_ends_its_events(fake: FakeServer, room: Room) -> None:
    events = room.events()
    await next_snapshot(events)
    fake.send(Response(go_away=room_pb2.GoAway(reason=room_pb2.GO_AWAY_REASON_ROOM_CLOSED)))
    with pytest.raises(StopAsyncIteration):
        await next_event(events)
    with pytest.raises(maumau.Closed):
        await room.act(actions.set_ready(True))


async def test_a_room_that_is_refused_on_return_ends_with_the_reason(fake: FakeServer, room: Room) -> None:
    events = room.events()
    await next_snapshot(events)
    fake.refuse_streams.append(status_of("BANNED"))
    fake.cut_streams()
    with pytest.raises(maumau.Refused) as refused:
        await next_event(events)
    assert refused.value.reason == "BANNED"


async def test_chat_comes_among_the_events(fake: FakeServer, room: Room) -> None:
    events = room.events()
    await next_snapshot(events)
    fake.send(Response(chat=events_pb2.ChatMessage(display_name="Bea", text="oi")))
    assert (await next_chat(events)).message.text == "oi"


async def test_presence_follows_the_bookmarks(fake: FakeServer, room: Room) -> None:
    fake.send(Response(bookmark=room_pb2.Bookmark(version=1, connected_seats=[0], spectators=4)))
    view = await room.wait_until(lambda view: view.seats[0].connected, timeout=PATIENCE_SECONDS)
    assert view.spectators == 4
    assert not view.seats[1].connected


async def test_an_event_of_a_newer_server_makes_the_client_ask_for_the_view(fake: FakeServer, room: Room) -> None:
    fake.room().taken[0].ready = True
    fake.room().commit(events_pb2.Event())
    fake.tell()
    await room.wait_until(lambda view: view.seats[0].ready, timeout=PATIENCE_SECONDS)
    assert fake.fetches >= 1
    events = room.events()
    await next_snapshot(events)
    happens(fake)
    assert (await next_update(events)).version == 3


async def test_a_reader_that_falls_far_behind_gets_a_snapshot(
    fake: FakeServer, room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("maumau.room.BACKLOG_EVENTS", 5)
    events = room.events()
    await next_snapshot(events)
    for _ in range(10):
        happens(fake)
    await room.wait_until(lambda view: view.version == 11, timeout=PATIENCE_SECONDS)
    caught_up = await next_snapshot(events)
    assert caught_up.cause is SnapshotCause.READER_TOO_SLOW
    assert caught_up.version == 11
    happens(fake)
    assert (await next_update(events)).version == 12


async def test_two_readers_get_the_same(fake: FakeServer, room: Room) -> None:
    readers = [room.events(), room.events()]
    for reader in readers:
        await next_snapshot(reader)
    happens(fake)
    assert [(await next_update(reader)).version for reader in readers] == [2, 2]


async def test_a_room_that_does_not_exist_cannot_be_opened(client: Client) -> None:
    with pytest.raises(maumau.Refused) as refused:
        await client.room("nowhere").open()
    assert refused.value.reason == "ROOM_NOT_FOUND"
    assert refused.value.code == "NOT_FOUND"


async def test_a_server_that_is_away_is_given_up_when_opening(fake: FakeServer, client: Client) -> None:
    room = await client.create_room("mau-mau-32")
    await fake.stop()
    with pytest.raises(maumau.Unavailable):
        await room.open(timeout=0.3)


async def test_a_match_is_followed_to_its_end_by_events_alone(fake: FakeServer, client: Client) -> None:
    async with await client.create_room("mau-mau-32", seats=2) as room:
        await room.add_bot()
        await room.ready()
        await room.start()
        while not room.view.HasField("outcome"):
            if room.legal:
                await room.act(room.legal[0])
            else:
                bot_moves(fake.room())
                fake.tell()
                await room.wait_until(
                    lambda view: bool(view.legal.actions) or view.HasField("outcome"), timeout=PATIENCE_SECONDS
                )
        assert str(room.view) == str(fake.room().view("player-1"))
        assert list(room.view.outcome.winners) == [0]
        assert fake.fetches == 0


def bot_moves(room: FakeRoom) -> None:
    action = room.legal("").actions[0]
    room.act("", b"bot-%d" % room.version, action)


async def test_an_update_that_the_room_cannot_have_is_told_by_its_own_error(fake: FakeServer, room: Room) -> None:
    events = room.events()
    await next_snapshot(events)
    fake.room().commit(events_pb2.Event(ready_changed=events_pb2.Event.ReadyChanged(seat=7, ready=True)))
    fake.tell()
    with pytest.raises(maumau.Unreadable, match="version 2 of room"):
        await next_event(events)
    with pytest.raises(maumau.Unreadable):
        await room.ready()
