"""Who is placed, and where."""

from __future__ import annotations

import asyncio
import random

import grpc
import maumau
from maumau.v1 import authority_pb2, matchmaking_pb2, settings_pb2

from services.local.stack import Stack
from services.runtime.routes import GAME_AUTHORITY
from tests.e2e.calls import LIMIT_SECONDS, Guest, channel_to, reason_of, sign_in
from tests.e2e.eventually import eventually
from tests.e2e.lounge import Lounge
from tests.e2e.queueing import Want, ask, follow, look, match

RUNS = 40


async def cancel(guest: Guest, ticket: matchmaking_pb2.Ticket) -> tuple[bool, str]:
    """Whether the ticket was taken back, and if not the room."""
    request = matchmaking_pb2.CancelTicketRequest(ticket_id=ticket.ticket_id)
    try:
        answer = await guest.matchmaking.CancelTicket(request, metadata=guest.metadata(), timeout=LIMIT_SECONDS)
    except grpc.aio.AioRpcError as error:
        reason, metadata = reason_of(error)
        if reason != "ALREADY_IN_MATCH":
            raise
        return False, metadata["room_id"]
    assert answer.ticket.state == matchmaking_pb2.TICKET_STATE_CANCELLED
    return True, ""


async def sits_in(guest: Guest) -> list[str]:
    answer = await guest.rooms.ListMyRooms(
        authority_pb2.ListMyRoomsRequest(), metadata=guest.metadata(), timeout=LIMIT_SECONDS
    )
    return [room.room_id for room in answer.rooms]


async def test_a_cancel_while_the_match_is_made_wins_or_names_the_room(stack: Stack) -> None:
    """Entry 133. The first cancel comes before anybody else asks, the second one after the match was made; when the
    others come is a matter of chance."""
    chance = random.Random(133)
    async with channel_to(stack.address) as channel:

        async def one(number: int) -> bool:
            want = Want(seats=2, target=1000 + number)
            ana, bo = await sign_in(channel, "Ana"), await sign_in(channel, "Bo")
            ticket = await ask(ana, want)
            match_of_bo = match(bo, Want(seats=2, patience_seconds=1.0, target=1000 + number))
            waiting = None if number == 0 else asyncio.create_task(match_of_bo)
            if number == 1:
                await follow(ana, ticket)
            for _ in range(chance.randrange(12)):
                await look(ana, ticket)  # as many calls as the cancel comes later
            cancelled, room = await cancel(ana, ticket)
            other = await (waiting or match_of_bo)
            if cancelled:
                assert await sits_in(ana) == []
                assert (await look(ana, ticket)).state == matchmaking_pb2.TICKET_STATE_CANCELLED
            else:
                assert room == other.assignment.room_id
                assert await sits_in(ana) == [room]
                assert (await follow(ana, ticket)).assignment.room_id == room
            return cancelled

        outcomes = await asyncio.gather(*(one(number) for number in range(RUNS)))
    assert outcomes[:2] == [True, False], "both ways were met"


async def test_a_room_whose_maker_died_is_listed_and_can_be_joined(stack: Stack, hall: Lounge) -> None:
    """Entry 138: nobody owns a room, so no room dies with a process."""
    ana, bo = await hall.clients("Ana", "Bo")
    made = [
        await ana.create_room(
            "uno-mattel", settings=settings_pb2.RoomSettings(visibility=settings_pb2.VISIBILITY_PUBLIC)
        )
        for _ in range(4)
    ]
    for process in stack.processes:
        if process.service == GAME_AUTHORITY:
            stack[process.name].kill()
    await asyncio.to_thread(stack.wait_ready)

    async def listed() -> bool:
        return {room.id for room in made} <= {room.room_id async for room in bo.rooms(preset="uno-mattel")}

    await eventually(listed, "all are listed")
    for room in made:
        joined = await hall.join(bo, room.id)
        assert joined.own_seat == 1
        await joined.leave()


async def test_quick_play_never_leads_back_into_a_match_that_one_left(stack: Stack) -> None:
    """Entry 140."""
    async with channel_to(stack.address) as channel:
        ana = await sign_in(channel, "Ana")
        rooms = set[str]()
        for _ in range(4):
            ticket = await match(ana, Want(seats=3, patience_seconds=0.1, target=140))
            room = ticket.assignment.room_id
            assert room not in rooms
            rooms.add(room)
            version = (await ana.get_room(room)).room.version
            await ana.act(room, maumau.actions.leave_seat(), version)
