"""Parties, blocks and queues over real sockets and a real store."""

from __future__ import annotations

import asyncio
import itertools
from typing import Any

import grpc
import pytest
from maumau.v1 import matchmaking_pb2 as pb
from maumau.v1 import rules_pb2

from services.runtime.invites import Invites
from services.store import parties
from services.store.keys import PlayerId
from tests.services.rig import Rig, refused
from tests.services.test_matchmaking_tickets import ASSIGNED, PRESET, WAITING, Desk, _is, ask, desks, until

CANCELLED, REPLACED = pb.TICKET_STATE_CANCELLED, pb.TICKET_STATE_REPLACED
FAILED_PRECONDITION, NOT_FOUND = grpc.StatusCode.FAILED_PRECONDITION, grpc.StatusCode.NOT_FOUND


async def create(desk: Desk) -> pb.Party:
    answer = await desk.stub.CreateParty(pb.CreatePartyRequest(), metadata=desk.player.metadata)
    return answer.party  # type: ignore[no-any-return]


def join(desk: Desk, code: str) -> grpc.aio.UnaryUnaryCall[pb.JoinPartyRequest, pb.JoinPartyResponse]:
    request = pb.JoinPartyRequest(code=code)
    return desk.stub.JoinParty(request, metadata=desk.player.metadata)  # type: ignore[no-any-return]


def get(desk: Desk) -> grpc.aio.UnaryUnaryCall[pb.GetPartyRequest, pb.GetPartyResponse]:
    return desk.stub.GetParty(pb.GetPartyRequest(), metadata=desk.player.metadata)  # type: ignore[no-any-return]


def leave(desk: Desk, party: pb.Party) -> grpc.aio.UnaryUnaryCall[pb.LeavePartyRequest, pb.LeavePartyResponse]:
    request = pb.LeavePartyRequest(party_id=party.party_id)
    return desk.stub.LeaveParty(request, metadata=desk.player.metadata)  # type: ignore[no-any-return]


async def block(desk: Desk, other: str) -> None:
    await desk.stub.BlockPlayer(pb.BlockPlayerRequest(player_id=other), metadata=desk.player.metadata)


async def party_of(*members: Desk) -> pb.Party:
    party = await create(members[0])
    for member in members[1:]:
        party = (await join(member, party.code)).party
    return party


async def test_friends_meet_by_a_code_at_any_process_and_wait_with_one_ticket(rig: Rig) -> None:
    await rig.authority()
    ana, ben, cid = await desks(rig, 3, processes=2)
    party = await create(ana)
    spoken = f"{party.code[:5].lower()}-{party.code[5:]}"
    assert list((await join(ben, spoken)).party.player_ids) == [ana.player.id, ben.player.id]
    assert (await get(ana)).party.player_ids == (await get(ben)).party.player_ids
    ticket = await ana.open(ask(seats=3, party_id=party.party_id))
    assert list(ticket.player_ids) == [ana.player.id, ben.player.id]
    assert (await get(ben)).party.ticket_id == ticket.ticket_id
    assert (await ben.get("")).ticket_id == ticket.ticket_id
    await cid.open(ask(seats=3))
    await until(lambda: _is(ben, ticket.ticket_id, ASSIGNED))
    (made,) = rig.rooms.rooms.values()
    assert [person.player_id for person in made.people] == [ana.player.id, ben.player.id, cid.player.id]
    assert list((await ben.get(ticket.ticket_id)).assignment.seats) == [0, 1]
    for friend in (ana, ben):
        assert (await friend.get(ticket.ticket_id)).assignment.match_id.startswith("q_")


async def test_the_same_wish_of_a_party_is_the_same_ticket(rig: Rig) -> None:
    ana, ben = await desks(rig, 2)
    party = await party_of(ana, ben)
    request = ask(seats=2, party_id=party.party_id, region="eu")
    tickets = await asyncio.gather(*(ana.open(request) for _ in range(4)))
    assert len({ticket.ticket_id for ticket in tickets}) == 1


async def test_only_the_leader_asks_and_a_stranger_finds_no_party(rig: Rig) -> None:
    ana, ben, eve = await desks(rig, 3)
    party = await party_of(ana, ben)
    request = ask(party_id=party.party_id)
    not_leader = await refused(ben.stub.CreateTicket(request, metadata=ben.player.metadata))
    assert not_leader[:2] == (grpc.StatusCode.PERMISSION_DENIED, "NOT_PARTY_LEADER")
    unknown = ask(party_id="p_none")
    for wish in (request, unknown):
        found = await refused(eve.stub.CreateTicket(wish, metadata=eve.player.metadata))
        assert found[:2] == (NOT_FOUND, "PARTY_NOT_FOUND")
    for call in (leave(eve, party), get(eve), join(eve, "0000000000"), join(eve, "no code")):
        assert (await refused(call))[:2] == (NOT_FOUND, "PARTY_NOT_FOUND")


async def test_a_party_has_an_end(rig: Rig) -> None:
    people = await desks(rig, 5)
    party = await party_of(*people[:4])
    assert await refused(join(people[4], party.code)) == (FAILED_PRECONDITION, "PARTY_FULL", {"limit": "4"})
    assert list((await join(people[3], party.code)).party.player_ids) == [desk.player.id for desk in people[:4]]


async def test_who_leaves_takes_the_ticket_back_and_hands_the_party_on(rig: Rig) -> None:
    ana, ben = await desks(rig, 2)
    party = await party_of(ana, ben)
    ticket = await ana.open(ask(seats=3, party_id=party.party_id))
    await leave(ana, party)
    assert (await ben.get(ticket.ticket_id)).state == CANCELLED
    left = (await get(ben)).party
    assert (list(left.player_ids), left.ticket_id) == ([ben.player.id], "")
    assert (await ben.open(ask(party_id=party.party_id, region="br"))).state == WAITING
    await leave(ben, party)
    assert (await refused(join(ana, party.code)))[1] == "PARTY_NOT_FOUND"


async def test_who_joins_another_party_leaves_the_one_before(rig: Rig) -> None:
    ana, ben, cid = await desks(rig, 3)
    first = await party_of(ana, ben)
    alone = await cid.open(ask(region="eu"))
    second = await create(cid)
    assert (await create(cid)).party_id == second.party_id
    await join(ben, second.code)
    assert list((await get(ana)).party.player_ids) == [ana.player.id]
    assert list((await get(cid)).party.player_ids) == [cid.player.id, ben.player.id]
    assert (await cid.get(alone.ticket_id)).state == WAITING, "it was not the party's"
    assert first.party_id != second.party_id


async def test_who_joins_two_parties_at_once_is_in_one(rig: Rig) -> None:
    ana, ben, cid, same = await desks(rig, 4, processes=2)
    same.player = cid.player
    codes = [(await create(desk)).code for desk in (ana, ben)]
    for _ in range(5):
        await asyncio.gather(join(cid, codes[0]), join(same, codes[1]), return_exceptions=True)
        members = [player for desk in (ana, ben) for player in (await get(desk)).party.player_ids]
        assert members.count(cid.player.id) == 1
        await leave(cid, (await get(cid)).party)


async def test_a_party_that_somebody_joins_lives_on_with_its_code_and_for_all(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parties, "PARTY_MS", 60_000)
    ana, ben = await desks(rig, 2)
    party = await create(ana)
    monkeypatch.setattr(parties, "PARTY_MS", 3_600_000)
    await join(ben, party.code)
    keys = (store := (await rig.store())).pipelines.keys
    code = Invites(rig.settings).code_hash(party.code)
    for key in (keys.party(party.party_id), keys.party_of(PlayerId(ana.player.id)), keys.party_code(code)):
        assert await store.pipelines.reads.command("PTTL", key) > 60_000


async def test_a_member_who_asks_alone_ends_the_ticket_of_the_party(rig: Rig) -> None:
    ana, ben = await desks(rig, 2)
    party = await party_of(ana, ben)
    ticket = await ana.open(ask(seats=3, party_id=party.party_id))
    alone = await ben.open(ask(region="br"))
    assert (await ana.get(ticket.ticket_id)).state == REPLACED
    again = await ana.open(ask(seats=3, party_id=party.party_id))
    assert (await ben.get(alone.ticket_id)).state == REPLACED
    assert again.ticket_id != ticket.ticket_id


async def test_a_party_with_somebody_in_a_match_is_refused_with_the_room(rig: Rig) -> None:
    await rig.authority()
    ana, ben = await desks(rig, 2)
    alone = await ben.open(ask(patience_seconds=0))
    await until(lambda: _is(ben, alone.ticket_id, ASSIGNED))
    await rig.sits_in(ben.player, (room := next(iter(rig.rooms.rooms))))
    party = await party_of(ana, ben)
    request = ask(party_id=party.party_id)
    call = ana.stub.CreateTicket(request, metadata=ana.player.metadata)
    assert await refused(call) == (FAILED_PRECONDITION, "ALREADY_IN_MATCH", {"room_id": room})


async def test_partners_sit_across(rig: Rig) -> None:
    await rig.authority()
    ana, ben, cid, dan = await desks(rig, 4)
    party = await party_of(ana, ben)

    def tranca(**fields: Any) -> pb.CreateTicketRequest:
        request = ask(seats=4, **fields)
        request.request.ruleset.CopyFrom(rules_pb2.Ruleset(preset="tranca"))
        return request

    await ana.open(tranca(party_id=party.party_id, as_partners=True))
    await cid.open(tranca())
    last = await dan.open(tranca())
    await until(lambda: _is(dan, last.ticket_id, ASSIGNED))
    (made,) = rig.rooms.rooms.values()
    seats = {person.player_id: person.seat for person in made.people}
    assert abs(seats[ana.player.id] - seats[ben.player.id]) == 2
    call = cid.stub.CreateTicket(tranca(as_partners=True, region="eu"), metadata=cid.player.metadata)
    code, reason, metadata = await refused(call)
    assert (code, reason, metadata["field"]) == (
        *(grpc.StatusCode.INVALID_ARGUMENT, "INVALID_FIELD"),
        "request.as_partners",
    )


async def test_codes_of_parties_cannot_be_tried_out(rig: Rig) -> None:
    rig.settings = rig.settings.model_copy(update={"rate_limits": True, "limit_code": "1/h burst 3"})
    (ana,) = await desks(rig, 1)
    reasons = [(await refused(join(ana, f"000000000{number}")))[1] for number in range(5)]
    assert reasons == ["PARTY_NOT_FOUND"] * 3 + ["RATE_LIMITED"] * 2


async def test_a_code_of_a_room_is_no_code_of_a_party(rig: Rig) -> None:
    (ana,) = await desks(rig, 1)
    party = await create(ana)
    assert party.code != Invites(rig.settings).code(party.party_id, 1)


# Blocks.


async def test_whoever_of_two_blocked_the_other_they_do_not_meet(rig: Rig) -> None:
    await rig.authority()
    ana, ben, cid = await desks(rig, 3)
    await block(ana, ben.player.id)
    first, second = await ben.open(), await ana.open()
    third = await cid.open()
    await until(lambda: _is(cid, third.ticket_id, ASSIGNED))
    (made,) = rig.rooms.rooms.values()
    assert {person.player_id for person in made.people} == {ben.player.id, cid.player.id}
    assert (await ana.get(second.ticket_id)).state == WAITING
    assert (await ben.get(first.ticket_id)).state == ASSIGNED


async def test_a_list_of_blocks_is_read_in_pages_and_has_an_end(rig: Rig) -> None:
    rig.settings = rig.settings.model_copy(update={"blocked_players": 3})
    ana, *others = await desks(rig, 5)
    for other in others[:3]:
        await block(ana, other.player.id)
    await block(ana, others[0].player.id)
    too_many = ana.stub.BlockPlayer(pb.BlockPlayerRequest(player_id=others[3].player.id), metadata=ana.player.metadata)
    assert await refused(too_many) == (FAILED_PRECONDITION, "TOO_MANY_BLOCKED", {"limit": "3"})
    listed = list[str]()
    token = ""
    while True:
        request = pb.ListBlockedPlayersRequest(page_size=2, page_token=token)
        page = await ana.stub.ListBlockedPlayers(request, metadata=ana.player.metadata)
        listed += page.player_ids
        token = page.next_page_token
        if not token:
            break
    assert sorted(listed) == sorted(other.player.id for other in others[:3])
    unblock = pb.UnblockPlayerRequest(player_id=others[0].player.id)
    await ana.stub.UnblockPlayer(unblock, metadata=ana.player.metadata)
    await block(ana, others[3].player.id)
    answer = await ana.stub.ListBlockedPlayers(pb.ListBlockedPlayersRequest(), metadata=ana.player.metadata)
    assert set(answer.player_ids) == {other.player.id for other in others[1:]}


async def test_nobody_blocks_himself_or_somebody_who_is_not(rig: Rig) -> None:
    (ana,) = await desks(rig, 1)
    for other, reason in ((ana.player.id, "INVALID_FIELD"), ("", "INVALID_FIELD"), ("p_nobody", "PLAYER_NOT_FOUND")):
        call = ana.stub.BlockPlayer(pb.BlockPlayerRequest(player_id=other), metadata=ana.player.metadata)
        assert (await refused(call))[1] == reason


# Queues and estimates.


async def test_the_queues_are_the_presets_that_people_wait_for(rig: Rig) -> None:
    ana, ben, cid = await desks(rig, 3)
    await ana.open(ask(seats=3))
    await ben.open(ask(seats=3))
    own = ask(seats=3)
    own.request.ruleset.options["match.target"].number = 77
    await cid.open(own)

    async def two_wait() -> bool:
        answer = await ana.stub.ListQueues(pb.ListQueuesRequest(), metadata=ana.player.metadata)
        return [(q.ruleset.preset, q.seats, q.players) for q in answer.queues] == [(PRESET, 3, 2)]

    await until(two_wait)


async def test_an_estimate_comes_from_the_latest_waits_and_never_without_them(rig: Rig) -> None:
    await rig.authority()
    people = await desks(rig, 7)
    first = await people[0].open(ask(patience_seconds=0))
    assert not first.HasField("estimated_wait")
    for desk in people[:6]:
        ticket = await desk.open(ask(patience_seconds=0))
        await until(lambda desk=desk, ticket=ticket: _is(desk, ticket.ticket_id, ASSIGNED))  # type: ignore[misc]

    regions = (f"region {number}" for number in itertools.count())

    async def said() -> bool:
        ticket = await people[6].open(ask(seats=2, region=next(regions)))  # a new one each time
        return ticket.HasField("estimated_wait") and 0 < ticket.estimated_wait.ToSeconds() <= 30

    await until(said)


# Ratings.


async def test_those_of_equal_strength_meet_first_and_scoring_is_asked_for_it(rig: Rig) -> None:
    await rig.authority()
    known = await rig.ratings()
    ana, ben, cid = await desks(rig, 3)
    known.update({ana.player.id: 10.0, ben.player.id: 40.0, cid.player.id: 10.5})
    first, second = await ana.open(), await ben.open()
    third = await cid.open()
    await until(lambda: _is(cid, third.ticket_id, ASSIGNED))
    assert (await ana.get(first.ticket_id)).state == ASSIGNED
    assert (await ben.get(second.ticket_id)).state == WAITING
