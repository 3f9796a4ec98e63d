"""Looking for a match: one ticket, from asking to the room."""

from __future__ import annotations

import asyncio

import maumau
import pytest
from maumau import Client
from maumau.terminal.waiting import queue_line, room_after_failed_start
from maumau.v1 import matchmaking_pb2, room_pb2

from tests.clients.eventually import eventually
from tests.clients.fake_server import FakeServer


async def test_an_assigned_ticket_leads_to_its_room(fake: FakeServer, client: Client) -> None:
    made = await client.create_room("mau-mau-32", seats=2)
    search = asyncio.create_task(client.quick_play("mau-mau-32", seats=2, patience_seconds=2.5))
    await eventually(lambda: fake.polls)
    assert fake.ticket.request.patience.ToMilliseconds() == 2500
    fake.ticket.assignment.room_id = made.id
    fake.ticket.state = matchmaking_pb2.TICKET_STATE_ASSIGNED
    async with await search as room:
        assert room.id == made.id


async def test_a_search_that_is_given_up_takes_its_ticket_back(fake: FakeServer, client: Client) -> None:
    search = asyncio.create_task(client.quick_play("mau-mau-32"))
    await eventually(lambda: fake.polls)
    search.cancel()
    await asyncio.gather(search, return_exceptions=True)
    assert fake.ticket.state == matchmaking_pb2.TICKET_STATE_CANCELLED


async def test_a_ticket_that_ended_otherwise_is_an_error(fake: FakeServer, client: Client) -> None:
    search = asyncio.create_task(client.quick_play("mau-mau-32"))
    await eventually(lambda: fake.polls)
    fake.ticket.state = matchmaking_pb2.TICKET_STATE_REPLACED
    with pytest.raises(maumau.MaumauError, match="replaced"):
        await search


async def test_friends_are_asked_for_together_and_follow_the_one_ticket(fake: FakeServer, client: Client) -> None:
    party = await client.parties.create()
    made = await client.create_room("mau-mau-32", seats=2)
    search = asyncio.create_task(client.quick_play("mau-mau-32", party_id=party.party_id))
    await eventually(lambda: fake.polls)
    assert fake.ticket.request.party_id == party.party_id
    follows = asyncio.create_task(client.follow_ticket())
    fake.ticket.assignment.room_id = made.id
    fake.ticket.state = matchmaking_pb2.TICKET_STATE_ASSIGNED
    assert {(await search).id, (await follows).id} == {made.id}


def test_the_queue_is_told_with_its_estimate_as_far_as_there_is_one() -> None:
    ticket = matchmaking_pb2.Ticket()
    ticket.request.patience.FromSeconds(8)
    assert queue_line(ticket) == "Nobody can say how long it takes; bots fill in after 8 s."
    ticket.estimated_wait.FromSeconds(5)
    assert queue_line(ticket) == "Three of four find a match within 5 s; bots fill in after 8 s."
    ticket.failed_starts = 1
    assert queue_line(ticket).startswith("Somebody did not come, so you are first in the queue.")


async def test_after_a_match_that_did_not_begin_the_ticket_is_followed_to_the_next_room(
    fake: FakeServer, client: Client
) -> None:
    closed, following = [await client.create_room("mau-mau-32", seats=2) for _ in range(2)]
    fake.ticket.ticket_id = "ticket-1"
    fake.ticket.state = matchmaking_pb2.TICKET_STATE_WAITING
    view = room_pb2.RoomView(room_id=closed.id, state=room_pb2.ROOM_STATE_CLOSED)
    search = asyncio.create_task(room_after_failed_start(client, view))
    await eventually(lambda: fake.polls)
    fake.ticket.assignment.room_id = following.id
    fake.ticket.state = matchmaking_pb2.TICKET_STATE_ASSIGNED
    found = await search
    assert found is not None
    assert found.id == following.id
    played = room_pb2.RoomView(room_id=closed.id, state=room_pb2.ROOM_STATE_PLAYING)
    assert await room_after_failed_start(client, played) is None
