"""Looking for a match: one ticket, from asking to the room."""

from __future__ import annotations

import asyncio

import maumau
import pytest
from maumau import Client
from maumau.v1 import matchmaking_pb2

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
