"""A match that was made and does not begin, and free seats of waiting rooms, over real sockets and a real store."""

from __future__ import annotations

import json

import grpc
import msgspec
import pytest
from maumau import actions
from maumau.v1 import matchmaking_pb2 as pb
from maumau.v1 import room_pb2, rules_pb2, settings_pb2

from services.matchmaking import backfill, making, starts
from services.store.keys import PlayerId
from tests.e2e.calls import reason_of, sign_in
from tests.services.rig import Rig, refused
from tests.services.test_matchmaking_parties import block
from tests.services.test_matchmaking_tickets import ASSIGNED, PRESET, WAITING, Desk, _is, ask, desks, until


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(making, "START_MS", 20)
    monkeypatch.setattr(starts, "AGAIN_MS", 50)
    monkeypatch.setattr(backfill, "AFTER_MS", 0)


async def matched(rig: Rig, *people: Desk) -> list[pb.Ticket]:
    tickets = [await desk.open(ask(seats=len(people))) for desk in people]
    for desk, ticket in zip(people, tickets, strict=True):
        await until(lambda desk=desk, ticket=ticket: _is(desk, ticket.ticket_id, ASSIGNED))  # type: ignore[misc]
    return tickets


async def test_who_came_waits_again_before_all_others_and_the_no_show_does_not(rig: Rig) -> None:
    """Entry 144."""
    await rig.authority()
    ana, ben, cid, dan = await desks(rig, 4)
    tickets = await matched(rig, ana, ben, cid)
    (failed,) = rig.rooms.rooms
    rig.rooms.no_show(failed, cid.player.id)
    for desk, ticket in ((ana, tickets[0]), (ben, tickets[1])):
        await until(lambda desk=desk, ticket=ticket: _is(desk, ticket.ticket_id, WAITING))  # type: ignore[misc]
        again = await desk.get(ticket.ticket_id)
        assert (again.created, again.failed_starts, again.HasField("assignment")) == (ticket.created, 1, False)
    assert (await cid.get(tickets[2].ticket_id)).state == pb.TICKET_STATE_EXPIRED
    assert (await refused(cid.stub.GetTicket(pb.GetTicketRequest(), metadata=cid.player.metadata)))[:2] == (
        *(grpc.StatusCode.NOT_FOUND, "TICKET_NOT_FOUND"),
    )
    assert failed in rig.rooms.closed
    await dan.open(ask(seats=3))
    await until(lambda: _is(ana, tickets[0].ticket_id, ASSIGNED))
    second = rig.rooms.rooms[(await ana.get(tickets[0].ticket_id)).assignment.room_id]
    assert [person.player_id for person in second.people] == [ana.player.id, ben.player.id, dan.player.id]


async def test_a_party_that_is_not_complete_does_not_wait_again(rig: Rig) -> None:
    await rig.authority()
    ana, ben, cid = await desks(rig, 3)
    party = (await ana.stub.CreateParty(pb.CreatePartyRequest(), metadata=ana.player.metadata)).party
    await ben.stub.JoinParty(pb.JoinPartyRequest(code=party.code), metadata=ben.player.metadata)
    together = await ana.open(ask(seats=3, party_id=party.party_id))
    alone = await cid.open(ask(seats=3))
    await until(lambda: _is(cid, alone.ticket_id, ASSIGNED))
    (failed,) = rig.rooms.rooms
    rig.rooms.no_show(failed, ben.player.id)
    await until(lambda: _is(cid, alone.ticket_id, WAITING))
    assert (await ana.get(together.ticket_id)).state == pb.TICKET_STATE_EXPIRED


async def test_who_has_asked_for_something_else_meanwhile_is_not_drawn_back(rig: Rig) -> None:
    await rig.authority()
    ana, ben = await desks(rig, 2)
    old, _ = await matched(rig, ana, ben)
    new = await ana.open(ask(region="br"))
    (failed,) = rig.rooms.rooms
    rig.rooms.no_show(failed, ben.player.id)
    await until(lambda: _closed(rig, failed))
    assert (await ana.get(old.ticket_id)).state != WAITING
    assert (await ana.get(new.ticket_id)).state == WAITING


async def _closed(rig: Rig, room: str) -> bool:
    return room in rig.rooms.closed


async def test_a_match_that_began_is_left_alone_and_its_players_meet_others_first(rig: Rig) -> None:
    await rig.authority()
    ana, ben, cid = await desks(rig, 3)
    await matched(rig, ana, ben)
    (room,) = rig.rooms.rooms
    rig.rooms.begin(room)
    await until(lambda: _true_of_lately(rig, ana))
    rig.rooms.state = room_pb2.ROOM_STATE_FINISHED
    tickets = {desk: await desk.open() for desk in (ana, ben)}
    third = await cid.open()
    await until(lambda: _is(cid, third.ticket_id, ASSIGNED))
    states = [(await desk.get(ticket.ticket_id)).state for desk, ticket in tickets.items()]
    assert sorted(states) == [WAITING, ASSIGNED]
    assert rig.rooms.closed == []


async def _true_of_lately(rig: Rig, desk: Desk) -> bool:
    return bool((await rig.lately(desk.player.id)).players)


# Free seats of public rooms that wait for people.


async def listed(rig: Rig, host: Desk, seats: int = 3) -> str:
    """A public room of the host's with a free seat, on the list as an authority writes it."""
    request = pb.CreateRoomRequest(
        ruleset=rules_pb2.Ruleset(preset=PRESET),
        settings=settings_pb2.RoomSettings(seats=seats, visibility=settings_pb2.VISIBILITY_PUBLIC),
        request_id=bytes(16),
    )
    room: str = (await host.stub.CreateRoom(request, metadata=host.player.metadata)).room_id
    rig.rooms.free[room] = seats - 1
    line = {"room_id": room, "preset": PRESET, "options": json.dumps({}), "label": PRESET, "title": ""}
    numbers = {"seats": seats, "free_seats": seats - 1, "people": 1, "created_ms": 1}
    await rig.list_room(room, msgspec.msgpack.encode({**line, **numbers}))
    return room


async def test_a_ticket_that_waits_takes_the_free_seat_of_a_waiting_room(rig: Rig) -> None:
    await rig.authority()
    hal, ana = await desks(rig, 2)
    room = await listed(rig, hal)
    ticket = await ana.open(ask(seats=3))
    await until(lambda: _is(ana, ticket.ticket_id, ASSIGNED))
    found = await ana.get(ticket.ticket_id)
    assert (found.assignment.room_id, list(found.assignment.seats)) == (room, [1])
    assert rig.rooms.seats[room] == [hal.player.id, ana.player.id]


async def test_a_free_seat_is_not_given_to_who_is_blocked_there_was_there_or_wants_something_else(rig: Rig) -> None:
    """Entry 140 and the block lists."""
    await rig.authority()
    hal, blocked, blocking, other, gone, fits = await desks(rig, 6)
    await block(hal, blocked.player.id)
    await block(blocking, hal.player.id)
    room = await listed(rig, hal)
    await gone.stub.JoinRoom(pb.JoinRoomRequest(room_id=room), metadata=gone.player.metadata)
    rig.rooms.seats[room].remove(gone.player.id)
    waiting = [
        (desk, await desk.open(ask(seats=seats, region=f"region {number}")))
        for number, (desk, seats) in enumerate(((blocked, 3), (blocking, 3), (other, 2), (gone, 3)))
    ]
    last = await fits.open(ask(seats=3, region="elsewhere"))
    await until(lambda: _is(fits, last.ticket_id, ASSIGNED))
    assert [(await desk.get(ticket.ticket_id)).state for desk, ticket in waiting] == [WAITING] * 4
    assert rig.rooms.seats[room] == [hal.player.id, fits.player.id]


async def test_a_listed_room_with_rules_of_a_newer_release_holds_up_nobody(rig: Rig) -> None:
    await rig.authority()
    hal, ana = await desks(rig, 2)
    for number, line in enumerate(({"preset": "of-next-year"}, {"options": json.dumps({"of.next.year": 1})})):
        newer = {"room_id": f"r_{number}", "preset": PRESET, "options": "{}", "label": "", "title": "", **line}
        numbers = {"seats": 3, "free_seats": 2, "people": 1, "created_ms": 2}
        await rig.list_room(f"r_{number}", msgspec.msgpack.encode({**newer, **numbers}))
    room = await listed(rig, hal)
    ticket = await ana.open(ask(seats=3))
    await until(lambda: _is(ana, ticket.ticket_id, ASSIGNED))
    assert (await ana.get(ticket.ticket_id)).assignment.room_id == room


# Rooms of one player.


async def test_a_player_has_so_many_rooms_and_no_more(rig: Rig) -> None:
    await rig.authority()
    rig.settings = rig.settings.model_copy(update={"player_rooms": 2})
    (ana,) = await desks(rig, 1)

    def create(number: int) -> grpc.aio.UnaryUnaryCall[pb.CreateRoomRequest, pb.CreateRoomResponse]:
        request = pb.CreateRoomRequest(ruleset=rules_pb2.Ruleset(preset=PRESET), request_id=bytes([number] * 16))
        return ana.stub.CreateRoom(request, metadata=ana.player.metadata)  # type: ignore[no-any-return]

    made = [(await create(number)).room_id for number in (1, 2)]
    for room in made:
        await rig.sits_in(ana.player, room)
    limited = (grpc.StatusCode.FAILED_PRECONDITION, "TOO_MANY_ROOMS", {"limit": "2"})
    assert await refused(create(3)) == limited
    assert (await create(1)).room_id == made[0], "a repeat is no new room"
    del rig.rooms.rooms[made[0]]
    third = (await create(3)).room_id
    await rig.sits_in(ana.player, third)
    assert await refused(create(4)) == limited
    info = await ana.stub.GetServerInfo(pb.GetServerInfoRequest())
    assert info.limits.max_rooms_per_player == 2


async def test_rooms_where_a_player_has_no_seat_do_not_count(rig: Rig) -> None:
    """The index of a player's rooms names those that were full, too, and those whose host removed the player."""
    channel, _ = await rig.real_authority()
    rig.settings = rig.settings.model_copy(update={"player_rooms": 2})
    matchmaking = await rig.matchmaking()
    hal, bo, eve = [await sign_in(matchmaking, name, rooms=channel) for name in ("Hal", "Bo", "Eve")]
    full, other = [await hal.create_room(2) for _ in range(2)]
    await bo.join(full)
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await eve.join(full)
    assert reason_of(caught.value)[0] == "ROOM_FULL"
    await eve.join(other)
    await hal.act(other, actions.remove_seat(1), 2)
    store = await rig.store()
    assert sorted(await store.rooms.player_rooms(PlayerId(eve.id))) == sorted((full, other))
    own = await eve.create_room(2)
    assert await store.rooms.player_rooms(PlayerId(eve.id)) == [own]
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await hal.create_room(2)  # who has a seat in both
    assert reason_of(caught.value)[0] == "TOO_MANY_ROOMS"
