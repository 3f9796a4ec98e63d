"""Quick play with all processes: people meet, bots fill up, the match begins by itself."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator

import grpc
import maumau
import pytest
from maumau.v1 import events_pb2, matchmaking_pb2, room_pb2, settings_pb2

from services.local.stack import Stack
from tests.e2e.calls import LIMIT_SECONDS, Guest, channel_to, next_message, reason_of, sign_in
from tests.e2e.eventually import eventually
from tests.e2e.queueing import Want, ask, follow, look, match
from tests.e2e.stacks import complaints, options


@pytest.fixture(scope="module")
def impatient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """A server whose bots come soon where a ticket does not say when."""
    environ = {"MAUMAU_QUICK_PLAY_BOTS_SECONDS": "0.5"}
    with Stack(options(tmp_path_factory.mktemp("impatient"), environ=environ)) as running:
        yield running
        assert complaints(running) == []


@pytest.fixture
async def lobby(impatient: Stack) -> AsyncIterator[grpc.aio.Channel]:
    async with channel_to(impatient.address) as channel:
        yield channel


async def guests(lobby: grpc.aio.Channel, *names: str) -> list[Guest]:
    return [await sign_in(lobby, name) for name in names]


def kinds(view: room_pb2.RoomView) -> list[events_pb2.SeatKind.ValueType]:
    return [seat.kind for seat in view.seats]


async def test_people_who_wait_for_the_same_meet_and_play_once_both_are_ready(lobby: grpc.aio.Channel) -> None:
    ana, bo = await guests(lobby, "Ana", "Bo")
    found = await asyncio.gather(*(match(guest, Want(target=10)) for guest in (ana, bo)))
    (room,) = {ticket.assignment.room_id for ticket in found}
    assert sorted(ticket.assignment.seats[0] for ticket in found) == [0, 1]
    view = (await ana.get_room(room)).room
    assert view.state == room_pb2.ROOM_STATE_READY_CHECK
    assert sorted(seat.player_id for seat in view.seats) == sorted([ana.id, bo.id])
    for guest in (ana, bo):
        await guest.act(room, maumau.actions.set_ready(True), view.version)
    assert (await ana.get_room(room)).room.state == room_pb2.ROOM_STATE_PLAYING


async def test_bots_take_the_other_seats_of_who_waited_long_enough(lobby: grpc.aio.Channel) -> None:
    (ana,) = await guests(lobby, "Ana")
    request = Want(seats=3, target=20).request()
    request.request.ClearField("patience")
    answer = await ana.matchmaking.CreateTicket(request, metadata=ana.metadata(), timeout=LIMIT_SECONDS)
    assert answer.ticket.request.patience.ToMilliseconds() == 500
    ticket = await follow(ana, answer.ticket)
    view = (await ana.get_room(ticket.assignment.room_id)).room
    person, bot = events_pb2.SEAT_KIND_PERSON, events_pb2.SEAT_KIND_BOT
    assert kinds(view) == [person, bot, bot]
    await ana.act(view.room_id, maumau.actions.set_ready(True), view.version)
    assert (await ana.get_room(view.room_id)).room.state == room_pb2.ROOM_STATE_PLAYING


async def test_two_impatient_people_share_the_table_with_bots(lobby: grpc.aio.Channel) -> None:
    for patience in (0.5, 2.0, 8.0):
        ana, bo = await guests(lobby, "Ana", "Bo")
        want = Want(seats=4, patience_seconds=patience, target=30)
        asked = await asyncio.gather(*(ask(guest, want) for guest in (ana, bo)))
        found = [await follow(guest, ticket) for guest, ticket in zip((ana, bo), asked, strict=True)]
        first, second = sorted(ticket.created.ToMilliseconds() for ticket in asked)
        if second - first < patience * 900:  # else the first of them had waited long enough when the other one came
            break
    (room,) = {ticket.assignment.room_id for ticket in found}
    assert kinds((await ana.get_room(room)).room).count(events_pb2.SEAT_KIND_PERSON) == 2


async def test_whoever_is_matched_can_neither_queue_again_nor_cancel(lobby: grpc.aio.Channel) -> None:
    ana, bo = await guests(lobby, "Ana", "Bo")
    ticket, _ = await asyncio.gather(*(match(guest, Want(target=40)) for guest in (ana, bo)))
    cancel = ana.matchmaking.CancelTicket(
        matchmaking_pb2.CancelTicketRequest(ticket_id=ticket.ticket_id), metadata=ana.metadata(), timeout=LIMIT_SECONDS
    )
    for call in (ask(ana, Want(target=40)), ask(ana, Want(target=50)), cancel):
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await call
        assert caught.value.code() is grpc.StatusCode.FAILED_PRECONDITION
        assert reason_of(caught.value) == ("ALREADY_IN_MATCH", {"room_id": ticket.assignment.room_id})


async def test_a_cancelled_ticket_is_never_placed(lobby: grpc.aio.Channel) -> None:
    ana, bo = await guests(lobby, "Ana", "Bo")
    ticket = await ask(ana, Want(target=60))
    request = matchmaking_pb2.CancelTicketRequest(ticket_id=ticket.ticket_id)
    answer = await ana.matchmaking.CancelTicket(request, metadata=ana.metadata(), timeout=LIMIT_SECONDS)
    assert answer.ticket.state == matchmaking_pb2.TICKET_STATE_CANCELLED
    other = await match(bo, Want(patience_seconds=0.3, target=60))
    view = (await bo.get_room(other.assignment.room_id)).room
    assert ana.id not in [seat.player_id for seat in view.seats]
    assert (await look(ana, ticket)).state == matchmaking_pb2.TICKET_STATE_CANCELLED


async def test_a_ticket_tells_its_assignment_on_its_stream(lobby: grpc.aio.Channel) -> None:
    ana, bo = await guests(lobby, "Ana", "Bo")
    ticket = await ask(ana, Want(target=70))
    request = matchmaking_pb2.WatchTicketRequest(ticket_id=ticket.ticket_id)
    watch = ana.matchmaking.WatchTicket(request, metadata=ana.metadata())
    assert (await next_message(watch)).ticket.state == matchmaking_pb2.TICKET_STATE_WAITING
    await match(bo, Want(target=70))
    while (message := await next_message(watch)) is not grpc.aio.EOF:
        last = message.ticket
    assert last.state == matchmaking_pb2.TICKET_STATE_ASSIGNED
    assert last.assignment.room_id


async def test_who_came_to_a_match_that_somebody_left_is_told_and_waits_again(lobby: grpc.aio.Channel) -> None:
    ana, bo, cy = await guests(lobby, "Ana", "Bo", "Cy")
    want = Want(seats=2, target=80)
    found, _ = await asyncio.gather(match(ana, want), match(bo, want))
    failed = found.assignment.room_id
    await bo.act(failed, maumau.actions.leave_seat(), (await bo.get_room(failed)).room.version)

    async def waits() -> bool:
        return (await look(ana, found)).state == matchmaking_pb2.TICKET_STATE_WAITING

    await eventually(waits, "the ticket waits again")
    again = await look(ana, found)
    assert (again.created, again.failed_starts) == (found.created, 1)

    async def is_closed() -> bool:
        return bool((await ana.get_room(failed)).room.state == room_pb2.ROOM_STATE_CLOSED)

    await eventually(is_closed, "the room that failed is closed")
    other = await match(cy, want)
    assert (await follow(ana, again)).assignment.room_id == other.assignment.room_id != failed


async def test_friends_wait_together_and_sit_in_one_room(lobby: grpc.aio.Channel) -> None:
    ana, bo, cy = await guests(lobby, "Ana", "Bo", "Cy")
    made = await ana.matchmaking.CreateParty(matchmaking_pb2.CreatePartyRequest(), metadata=ana.metadata())
    join = matchmaking_pb2.JoinPartyRequest(code=made.party.code)
    await bo.matchmaking.JoinParty(join, metadata=bo.metadata())
    request = Want(seats=3, target=90).request()
    request.request.party_id = made.party.party_id
    await ana.matchmaking.CreateTicket(request, metadata=ana.metadata())
    held = matchmaking_pb2.GetTicketRequest()
    theirs = (await bo.matchmaking.GetTicket(held, metadata=bo.metadata())).ticket
    assert list(theirs.player_ids) == [ana.id, bo.id]
    other = await match(cy, Want(seats=3, target=90))
    room = (await follow(bo, theirs)).assignment.room_id
    assert room == other.assignment.room_id
    assert {seat.player_id for seat in (await bo.get_room(room)).room.seats} == {ana.id, bo.id, cy.id}


async def test_a_free_seat_of_a_waiting_public_room_goes_to_who_waits_for_the_same(lobby: grpc.aio.Channel) -> None:
    hal, ana = await guests(lobby, "Hal", "Ana")
    want = Want(seats=3, target=95)
    settings = settings_pb2.RoomSettings(seats=3, visibility=settings_pb2.VISIBILITY_PUBLIC)
    create = matchmaking_pb2.CreateRoomRequest(
        ruleset=want.request().request.ruleset, settings=settings, request_id=bytes(16)
    )
    made = await hal.matchmaking.CreateRoom(create, metadata=hal.metadata())
    ticket = await match(ana, want)
    assert ticket.assignment.room_id == made.room_id
    assert [seat.player_id for seat in (await hal.get_room(made.room_id)).room.seats][:2] == [hal.id, ana.id]
