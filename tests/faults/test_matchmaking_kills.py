"""`kill -9` of matchmaking: whoever waits is placed, nobody sits twice, and matches do not notice.

Each promise has its control, the same without the protection, in which it must be found broken.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import grpc
import maumau
import pytest
from maumau.v1 import authority_pb2, matchmaking_pb2, room_pb2

from services.local.plan import StackOptions
from services.local.stack import Stack
from services.matchmaking.starts import AGAIN_MS
from services.runtime.routes import MATCHMAKING
from tests.e2e.calls import Guest, channel_to, sign_in
from tests.e2e.eventually import eventually
from tests.e2e.lounge import lounge, play, start
from tests.e2e.queueing import Want, ask, follow, look, match
from tests.e2e.stacks import complaints, options, with_authority
from tests.faults.crashing import crash_environ, crashes_left
from tests.faults.record import Promise
from tests.faults.scale import PATIENCE, count

pytestmark = PATIENCE

PAIR = Want(seats=2)
LEASE_MS = 300
LEASE = {"MAUMAU_CLAIM_SECONDS": str(LEASE_MS / 1000), "MAUMAU_READY_CHECK_ROOM_SECONDS": "600"}
"""Nobody here gets ready, and whoever does not loses the seat in time."""
KILLS, WAVE = count(2, 10, 20), count(6, 12, 24)
"""So many people come after each kill."""
MODULES = {**StackOptions().modules, MATCHMAKING: "tests.faults.crashing_matchmaking"}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Any]:
    """Starts servers with short leases."""
    with contextlib.ExitStack() as opened:

        def begin(**changed: Any) -> Stack:
            environ = {**LEASE, **changed.pop("environ", {})}
            return opened.enter_context(Stack(options(tmp_path, environ=environ, **changed)))

        yield begin


@contextlib.asynccontextmanager
async def people(stack: Stack, number: int) -> AsyncIterator[list[Guest]]:
    async with channel_to(stack.address) as channel:
        yield [await sign_in(channel, f"Q{seat}") for seat in range(number)]


async def rooms_of(guest: Guest) -> list[str]:
    request = authority_pb2.ListMyRoomsRequest(page_size=100)
    answer = await guest.rooms.ListMyRooms(request, metadata=guest.metadata(), timeout=20)
    return [room.room_id for room in answer.rooms]


async def check_seats(guests: list[Guest], tickets: list[matchmaking_pb2.Ticket]) -> list[str]:
    """What is wrong with how they were seated; empty if each has the one seat that the ticket names."""
    wrong, seated = [], Counter[tuple[str, int]]()
    for guest, ticket in zip(guests, tickets, strict=True):
        if ticket.state != matchmaking_pb2.TICKET_STATE_ASSIGNED:
            wrong.append(f"{guest.id} was lost: {ticket.state}")
            continue
        room = ticket.assignment.room_id
        if await rooms_of(guest) != [room]:
            wrong.append(f"{guest.id} sits in {await rooms_of(guest)}")
        view = (await guest.get_room(room)).room
        if view.own_seat != ticket.assignment.seats[0]:
            wrong.append(f"{guest.id} has another seat than was said")
        seated[room, view.own_seat] += 1
    return wrong + [f"{taken} twice" for taken, times in seated.items() if times > 1]


@pytest.mark.shows("P2")
async def test_matchmaking_killed_while_people_queue_loses_nobody_and_seats_nobody_twice(
    server: Any, promise: Promise
) -> None:
    stack = server()
    async with people(stack, WAVE * (KILLS + 1)) as guests:
        placed = [asyncio.create_task(match(guest, PAIR)) for guest in guests[:WAVE]]
        for kill in range(1, KILLS + 1):
            await asyncio.wait(placed, return_when=asyncio.FIRST_COMPLETED)
            stack[MATCHMAKING].kill()
            placed += [asyncio.create_task(match(guest, PAIR)) for guest in guests[kill * WAVE : (kill + 1) * WAVE]]
            await asyncio.to_thread(stack.wait_ready)
        tickets = await asyncio.gather(*placed)
        assert await check_seats(guests, tickets) == []
    assert stack[MATCHMAKING].starts == KILLS + 1
    assert complaints(stack) == []
    promise("P2", f"0 lost tickets and 0 double seats of {len(guests)}, {KILLS} kills of matchmaking")


@pytest.mark.shows("P2")
async def test_matchmaking_that_dies_while_it_makes_a_match_leaves_it_to_the_next(server: Any, tmp_path: Path) -> None:
    environ = crash_environ(tmp_path, "claimed", "made")
    stack = server(environ=environ, modules=MODULES, authorities=1)
    async with people(stack, 6) as guests:
        tickets = await asyncio.gather(*(match(guest, PAIR) for guest in guests))
        assert await check_seats(guests, tickets) == []
    assert crashes_left(environ) == 0


@pytest.mark.control("P2")
async def test_control_claims_without_a_lease_lose_people(server: Any, tmp_path: Path, promise: Promise) -> None:
    stack = server(environ=crash_environ(tmp_path, "claimed", without="lease"), modules=MODULES, authorities=1)
    async with people(stack, 2) as lost:
        tickets = [await ask(guest, PAIR) for guest in lost]
        await eventually(lambda: stack[MATCHMAKING].starts == 2, "matchmaking has died with a claim")
        await asyncio.to_thread(stack.wait_ready)
        while await place_others(stack) < tickets[1].created.ToMilliseconds() + 6 * LEASE_MS:
            pass
        states = [(await look(guest, ticket)).state for guest, ticket in zip(lost, tickets, strict=True)]
    assert states == [matchmaking_pb2.TICKET_STATE_CLAIMED] * 2
    promise("P2", f"{len(states)} of 2 tickets lost with claims that have no lease")


async def place_others(stack: Stack) -> int:
    """Places two people who come now; when they came, by the server's clock in ms."""
    async with people(stack, 2) as others:
        tickets = await asyncio.gather(*(match(guest, PAIR) for guest in others))
        assert await check_seats(others, tickets) == []
        return min(ticket.created.ToMilliseconds() for ticket in tickets)


async def taken_back(stack: Stack, ana: Guest, bo: Guest) -> matchmaking_pb2.Ticket:
    """Ana's ticket of a match that did not begin, since Bo left; matchmaking has died once its room was closed."""
    ticket, _ = await asyncio.gather(match(ana, PAIR), match(bo, PAIR))
    room = ticket.assignment.room_id
    await bo.act(room, maumau.actions.leave_seat(), 0)
    await eventually(lambda: stack[MATCHMAKING].starts == 2, "matchmaking has died")
    await asyncio.to_thread(stack.wait_ready)
    assert (await ana.get_room(room)).room.state == room_pb2.ROOM_STATE_CLOSED
    return ticket


@pytest.mark.long
@pytest.mark.shows("P2")
async def test_matchmaking_that_dies_while_it_takes_a_match_back_leaves_nobody_behind(
    server: Any, tmp_path: Path
) -> None:
    environ = crash_environ(tmp_path, "closed")
    stack = server(environ=environ, modules=MODULES, authorities=1)
    async with people(stack, 3) as (ana, bo, cid):
        first = await taken_back(stack, ana, bo)

        async def waits_again() -> bool:
            return (await look(ana, first)).state == matchmaking_pb2.TICKET_STATE_WAITING

        await eventually(waits_again, "the ticket of who came waits again")
        second = await match(cid, PAIR)
        again = await follow(ana, await look(ana, first))
        assert (again.ticket_id, again.created, again.failed_starts) == (first.ticket_id, first.created, 1)
        assert again.assignment.room_id == second.assignment.room_id != first.assignment.room_id
    assert crashes_left(environ) == 0


@pytest.mark.long
@pytest.mark.control("P2")
async def test_control_a_match_that_is_looked_at_once_only_leaves_people_behind(
    server: Any, tmp_path: Path, promise: Promise
) -> None:
    stack = server(environ=crash_environ(tmp_path, "closed", without="look"), modules=MODULES, authorities=1)
    async with people(stack, 2) as (ana, bo):
        first = await taken_back(stack, ana, bo)
        begin = await place_others(stack)
        while await place_others(stack) < begin + 3 * AGAIN_MS:
            pass
        assert (await look(ana, first)).state == matchmaking_pb2.TICKET_STATE_ASSIGNED
    promise("P2", "1 of 1 ticket stays with a closed room where a match is looked at once only")


@pytest.mark.control("P2")
async def test_control_room_ids_that_do_not_follow_from_the_match_seat_people_twice(
    server: Any, tmp_path: Path, promise: Promise
) -> None:
    environ = crash_environ(tmp_path, "made", without="room id")
    stack = server(environ=environ, modules=MODULES, authorities=1)
    async with people(stack, 2) as guests:
        tickets = await asyncio.gather(*(match(guest, PAIR) for guest in guests))
        assert len(await rooms_of(guests[0])) == 2
        assert await check_seats(guests, tickets) != []
    promise("P2", "2 rooms for one match with room ids by chance")


async def test_people_play_on_and_have_a_rematch_while_matchmaking_is_away(server: Any) -> None:
    stack = server()
    async with lounge(stack.address) as hall:
        sides = await hall.match("Ana", "Bo")
        ana = await hall.client("Eve")
        stack[MATCHMAKING].restart = False
        stack[MATCHMAKING].kill()
        await asyncio.to_thread(stack[MATCHMAKING].wait_ended, 10)
        first = await play(sides)
        await sides[1].act(maumau.actions.rematch())
        await start(sides)
        second = await play(sides)
        assert (first.match_number, second.match_number) == (1, 2)
        assert second.match_id != first.match_id

        async def counted() -> bool:
            seat = second.seats[0]
            return (await ana.scoring.statistics(seat.player_id, "mau-mau-32")).matches == 2

        await eventually(counted, "scoring has both matches")
        stack[MATCHMAKING].restart = True
        await asyncio.to_thread(stack.wait_ready)
        assert await hall.create(ana)
    assert complaints(stack) == []


async def test_control_an_authority_that_needs_matchmaking_is_found_out(server: Any) -> None:
    stack = server(authorities=1, modules=with_authority("tests.faults.leaning_authority"))
    async with channel_to(stack.address) as channel:
        ana = await sign_in(channel, "Ana")
        room = await ana.create_room(2)
        stack[MATCHMAKING].restart = False
        stack[MATCHMAKING].kill()
        await asyncio.to_thread(stack[MATCHMAKING].wait_ended, 10)
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await ana.act(room, maumau.actions.set_ready(True), 0)
        assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
