"""Rooms are made once, found by id and code, and listed; what is refused, is refused before anybody else is asked."""

from __future__ import annotations

import asyncio
import secrets
from typing import Any

import grpc
import msgspec
import pytest
from maumau.v1 import matchmaking_pb2 as pb
from maumau.v1 import rules_pb2, settings_pb2
from maumau.v1.matchmaking_pb2_grpc import MatchmakingServiceStub

from services.matchmaking.directory import Directory, Listed
from services.rules.registry import GAMES
from services.runtime.errors import Refused
from services.runtime.invites import ALPHABET, Invites, normal_code
from services.runtime.stores import open_store
from services.store.keys import RoomId, partition_of
from tests.services.rig import Rig, refused, sign_in

INVALID_ARGUMENT = grpc.StatusCode.INVALID_ARGUMENT
NOT_FOUND = grpc.StatusCode.NOT_FOUND
PRESET = next(preset for game in GAMES.values() for preset in game.presets)


def wish(request_id: bytes = b"", preset: str = PRESET, **settings: Any) -> pb.CreateRoomRequest:
    return pb.CreateRoomRequest(
        ruleset=rules_pb2.Ruleset(preset=preset),
        settings=settings_pb2.RoomSettings(**settings),
        request_id=request_id or secrets.token_bytes(16),
    )


async def test_a_repeated_request_makes_one_room_whichever_process_gets_it(rig: Rig) -> None:
    await rig.authority()
    channels = [await rig.matchmaking() for _ in range(2)]
    ana = await sign_in(channels[0])
    request = wish(b"a" * 16)
    calls: list[Any] = [
        MatchmakingServiceStub(channels[turn % 2]).CreateRoom(request, metadata=ana.metadata) for turn in range(20)
    ]
    answers = await asyncio.gather(*calls)
    assert len({(answer.room_id, answer.invite_code, answer.seat) for answer in answers}) == 1
    assert rig.rooms.created == 1


async def test_another_request_or_another_player_makes_another_room(rig: Rig) -> None:
    """The control: what the rule above joins together is the repeat alone."""
    await rig.authority()
    channel = await rig.matchmaking()
    stub, ana, ben = MatchmakingServiceStub(channel), await sign_in(channel), await sign_in(channel)
    made = [
        await stub.CreateRoom(wish(request_id), metadata=player.metadata)
        for request_id, player in ((b"a" * 16, ana), (b"b" * 16, ana), (b"a" * 16, ben))
    ]
    assert len({answer.room_id for answer in made}) == rig.rooms.created == 3


async def test_the_authority_is_told_who_hosts_and_what_is_wished(rig: Rig) -> None:
    await rig.authority()
    channel = await rig.matchmaking()
    ana = await sign_in(channel, "Ana")
    made = await MatchmakingServiceStub(channel).CreateRoom(
        wish(turn_seconds=60, visibility=settings_pb2.VISIBILITY_PUBLIC, title="Skat? No"), metadata=ana.metadata
    )
    asked = rig.rooms.rooms[made.room_id]
    assert [(p.player_id, p.display_name, p.seat) for p in asked.people] == [(ana.id, "Ana", 0)]
    assert asked.ruleset.preset == PRESET
    assert (asked.settings.turn_seconds, asked.settings.title) == (60, "Skat? No")
    assert not asked.settings.HasField("bank_seconds")


async def test_a_call_that_meets_a_stopping_authority_is_made_again(rig: Rig) -> None:
    await rig.authority()
    rig.rooms.fail_first = 2
    channel = await rig.matchmaking()
    ana = await sign_in(channel)
    assert (await MatchmakingServiceStub(channel).CreateRoom(wish(), metadata=ana.metadata)).room_id
    assert (len(rig.rooms.asked), rig.rooms.created) == (3, 1)


async def test_without_an_authority_the_caller_learns_which_service_is_missing(rig: Rig) -> None:
    channel = await rig.matchmaking()
    ana = await sign_in(channel)
    call = MatchmakingServiceStub(channel).CreateRoom(wish(), metadata=ana.metadata)
    code, reason, metadata = await refused(call)
    assert (code, reason) == (grpc.StatusCode.UNAVAILABLE, "SERVICE_UNAVAILABLE")
    assert metadata == {"service": "game-authority"}


async def test_a_refusal_of_the_authority_reaches_the_caller_as_it_is(rig: Rig) -> None:
    await rig.authority()
    channel = await rig.matchmaking()
    ana = await sign_in(channel)
    stub = MatchmakingServiceStub(channel)
    made = await stub.CreateRoom(wish(), metadata=ana.metadata)
    rig.rooms.refuse = Refused("ROOM_FULL", seats=4)
    call = stub.JoinRoom(pb.JoinRoomRequest(room_id=made.room_id), metadata=ana.metadata)
    assert await refused(call) == (grpc.StatusCode.FAILED_PRECONDITION, "ROOM_FULL", {"seats": "4"})


async def test_a_wrong_credential_between_services_is_not_the_players_fault(rig: Rig) -> None:
    await rig.authority()
    channel = await rig.matchmaking()
    ana = await sign_in(channel)
    rig.rooms.refuse = Refused("BAD_TOKEN")
    call = MatchmakingServiceStub(channel).CreateRoom(wish(), metadata=ana.metadata)
    assert (await refused(call))[:2] == (grpc.StatusCode.INTERNAL, "INTERNAL")


def _with_option(key: str, **value: Any) -> pb.CreateRoomRequest:
    request = wish()
    request.ruleset.options[key].CopyFrom(rules_pb2.OptionValue(**value))
    return request


BAD = {
    "no ruleset": (pb.CreateRoomRequest(request_id=b"a" * 16), "INVALID_FIELD", "field", "ruleset"),
    "no preset": (wish(preset=""), "INVALID_FIELD", "field", "ruleset.preset"),
    "unknown preset": (wish(preset="bridge"), "UNKNOWN_RULESET", "value", "bridge"),
    "unknown option": (
        _with_option("colour.of.the.table", flag=True),
        "UNKNOWN_OPTION",
        "option",
        "colour.of.the.table",
    ),
    "no request id": (
        pb.CreateRoomRequest(ruleset=rules_pb2.Ruleset(preset=PRESET)),
        "INVALID_FIELD",
        "field",
        "request_id",
    ),
    "short request id": (wish(b"abc"), "INVALID_FIELD", "field", "request_id"),
    "too short turns": (wish(turn_seconds=4), "INVALID_FIELD", "field", "settings.turn_seconds"),
    "too many seats": (wish(seats=11), "INVALID_FIELD", "field", "settings.seats"),
    "seats below the ruleset": (wish(seats=1), "INVALID_FIELD", "field", "settings.seats"),
    "unknown visibility": (wish(visibility=77), "INVALID_FIELD", "field", "settings.visibility"),
    "long title": (wish(title="x" * 41), "INVALID_FIELD", "field", "settings.title"),
}


@pytest.mark.parametrize(("request_", "expected", "key", "value"), BAD.values(), ids=BAD.keys())
async def test_a_bad_wish_is_refused_by_name_and_makes_no_room(
    rig: Rig, request_: pb.CreateRoomRequest, expected: str, key: str, value: str
) -> None:
    await rig.authority()
    channel = await rig.matchmaking()
    ana = await sign_in(channel)
    code, reason, metadata = await refused(MatchmakingServiceStub(channel).CreateRoom(request_, metadata=ana.metadata))
    assert (code, reason, metadata[key]) == (INVALID_ARGUMENT, expected, value)
    assert metadata["expected"]
    assert not rig.rooms.asked


async def test_a_code_leads_to_its_room_at_every_process_at_once(rig: Rig) -> None:
    await rig.authority()
    channels = [await rig.matchmaking() for _ in range(2)]
    ana, ben = await sign_in(channels[0], "Ana"), await sign_in(channels[1], "Ben")
    made = await MatchmakingServiceStub(channels[0]).CreateRoom(wish(), metadata=ana.metadata)
    for turn in range(40):
        stub = MatchmakingServiceStub(channels[turn % 2])
        joined = await stub.JoinRoom(pb.JoinRoomRequest(invite_code=made.invite_code), metadata=ben.metadata)
        assert (joined.room_id, joined.seat) == (made.room_id, 1)
    assert rig.rooms.asked[-1].invite_generation == 1
    assert rig.rooms.asked[-1].person.display_name == "Ben"


async def test_a_code_is_read_as_people_write_it(rig: Rig) -> None:
    await rig.authority()
    channel = await rig.matchmaking()
    ana = await sign_in(channel)
    stub = MatchmakingServiceStub(channel)
    made = await stub.CreateRoom(wish(), metadata=ana.metadata)
    code = made.invite_code
    lookalikes = code.replace("1", "l").replace("0", "o").lower()
    for written in (f" {code[:5]}-{code[5:]} ", code.lower(), lookalikes):
        joined = await stub.JoinRoom(pb.JoinRoomRequest(invite_code=written), metadata=ana.metadata)
        assert joined.room_id == made.room_id


async def test_codes_that_lead_nowhere_are_refused_alike(rig: Rig) -> None:
    await rig.authority()
    channel = await rig.matchmaking()
    ana = await sign_in(channel)
    stub = MatchmakingServiceStub(channel)
    made = await stub.CreateRoom(wish(), metadata=ana.metadata)
    code = made.invite_code
    other = "Z" if code[-1] != "Z" else "Y"
    for wrong in (code[:-1] + other, code[:-1], code + "0", "", "UUUUUUUUUU", "x" * 500, "é" * 10):
        call = stub.JoinRoom(pb.JoinRoomRequest(invite_code=wrong), metadata=ana.metadata)
        assert await refused(call) == (NOT_FOUND, "ROOM_NOT_FOUND", {})
    rig.rooms.generation = 2
    withdrawn = stub.JoinRoom(pb.JoinRoomRequest(invite_code=code), metadata=ana.metadata)
    assert await refused(withdrawn) == (NOT_FOUND, "ROOM_NOT_FOUND", {})


async def test_a_room_is_joined_by_its_id(rig: Rig) -> None:
    await rig.authority()
    channel = await rig.matchmaking()
    ana, ben = await sign_in(channel, "Ana"), await sign_in(channel, "Ben")
    stub = MatchmakingServiceStub(channel)
    made = await stub.CreateRoom(wish(), metadata=ana.metadata)
    joined = await stub.JoinRoom(pb.JoinRoomRequest(room_id=made.room_id, seat=1), metadata=ben.metadata)
    assert (joined.room_id, joined.seat) == (made.room_id, 1)
    asked = rig.rooms.asked[-1]
    assert (asked.person.seat, asked.invite_generation) == (1, 1)
    assert (await refused(stub.JoinRoom(pb.JoinRoomRequest(), metadata=ben.metadata)))[2]["field"] == "room"
    bad = stub.JoinRoom(pb.JoinRoomRequest(room_id="a b"), metadata=ben.metadata)
    assert (await refused(bad))[2]["field"] == "room_id"
    missing = stub.JoinRoom(pb.JoinRoomRequest(room_id="r_none"), metadata=ben.metadata)
    assert await refused(missing) == (NOT_FOUND, "ROOM_NOT_FOUND", {})


async def test_a_new_name_is_taken_into_the_next_room(rig: Rig) -> None:
    from maumau.v1 import identity_pb2
    from maumau.v1.identity_pb2_grpc import IdentityServiceStub

    await rig.authority()
    channel = await rig.matchmaking()
    ana = await sign_in(channel, "Ana")
    rename = identity_pb2.SetDisplayNameRequest(display_name="Ana Lívia")
    await IdentityServiceStub(channel).SetDisplayName(rename, metadata=ana.metadata)
    made = await MatchmakingServiceStub(channel).CreateRoom(wish(), metadata=ana.metadata)
    assert rig.rooms.rooms[made.room_id].people[0].display_name == "Ana Lívia"


async def _list(rig: Rig, rooms: list[Listed]) -> None:
    """Puts rooms on the list as the authority's commits do."""
    store = open_store(rig.settings)
    for room in rooms:
        key = store.pipelines.keys.partition(partition_of(RoomId(room.room_id))).open
        await store.pipelines.writes.command("HSET", key, room.room_id, msgspec.msgpack.encode(room))
    await store.aclose()


def _listed(number: int, **changed: Any) -> Listed:
    fields: dict[str, Any] = {"preset": PRESET, "options": "{}", "label": PRESET, "title": "", "seats": 4}
    fields |= {"free_seats": 3, "people": 1, "created_ms": 1_000 + number, **changed}
    return Listed(room_id=f"r_{number:03}", **fields)


async def test_the_room_list_is_newest_first_and_pages_meet_without_gap_or_repeat(rig: Rig) -> None:
    await _list(rig, [_listed(number, created_ms=1_000 + number // 2) for number in range(25)])
    channel = await rig.matchmaking()
    ana = await sign_in(channel)
    stub, pages, token = MatchmakingServiceStub(channel), list[str](), ""
    while True:
        page = await stub.ListRooms(pb.ListRoomsRequest(page_size=4, page_token=token), metadata=ana.metadata)
        pages += [room.room_id for room in page.rooms]
        token = page.next_page_token
        if not token:
            break
    whole = await stub.ListRooms(pb.ListRoomsRequest(page_size=100), metadata=ana.metadata)
    assert pages == [room.room_id for room in whole.rooms]
    assert len(set(pages)) == 25
    made = [room.created.ToMilliseconds() for room in whole.rooms]
    assert made == sorted(made, reverse=True)


async def test_the_room_list_can_be_narrowed(rig: Rig) -> None:
    await _list(rig, [_listed(1), _listed(2, free_seats=0), _listed(3, preset="elsewhere")])
    channel = await rig.matchmaking()
    ana = await sign_in(channel)
    stub = MatchmakingServiceStub(channel)
    for request, expected in (
        (pb.ListRoomsRequest(), ["r_003", "r_002", "r_001"]),
        (pb.ListRoomsRequest(joinable=True), ["r_003", "r_001"]),
        (pb.ListRoomsRequest(preset=PRESET), ["r_002", "r_001"]),
    ):
        found = await stub.ListRooms(request, metadata=ana.metadata)
        assert [room.room_id for room in found.rooms] == expected


async def test_a_line_that_cannot_be_read_hides_no_other(rig: Rig) -> None:
    await _list(rig, [_listed(1)])
    store = open_store(rig.settings)
    await store.pipelines.writes.command("HSET", store.pipelines.keys.partition(0).open, "r_x", b"\xc1")
    page = await Directory(store.rooms).page(pb.ListRoomsRequest())
    await store.aclose()
    assert [room.room_id for room in page.rooms] == ["r_001"]


async def test_a_bad_page_is_refused(rig: Rig) -> None:
    channel = await rig.matchmaking()
    ana = await sign_in(channel)
    stub = MatchmakingServiceStub(channel)
    for token in ("x", "AAAA", "é", "a" * 5_000):
        call = stub.ListRooms(pb.ListRoomsRequest(page_token=token), metadata=ana.metadata)
        assert (await refused(call))[:2] == (INVALID_ARGUMENT, "BAD_PAGE_TOKEN")
    for size in (-1, 101):
        call = stub.ListRooms(pb.ListRoomsRequest(page_size=size), metadata=ana.metadata)
        assert (await refused(call))[2]["field"] == "page_size"


async def test_one_reading_of_the_list_serves_all_who_ask_within_a_second(rig: Rig) -> None:
    clock = [0.0]
    store = open_store(rig.settings)
    directory = Directory(store.rooms, lambda: clock[0])
    await _list(rig, [_listed(1)])
    pages = await asyncio.gather(*(directory.page(pb.ListRoomsRequest()) for _ in range(10)))
    assert [len(page.rooms) for page in pages] == [1] * 10
    await _list(rig, [_listed(2)])
    assert len((await directory.page(pb.ListRoomsRequest())).rooms) == 1
    clock[0] += 1
    assert len((await directory.page(pb.ListRoomsRequest())).rooms) == 2
    await store.aclose()


def test_codes_are_ten_characters_of_fifty_bits_and_follow_room_and_generation(rig_invites: Invites) -> None:
    codes = {rig_invites.code(f"r_{number}", generation) for number in range(500) for generation in (1, 2)}
    assert len(codes) == 1_000
    assert {len(code) for code in codes} == {10}
    assert set("".join(codes)) == set(ALPHABET)
    assert all(normal_code(code) == code for code in codes)
    assert rig_invites.fits(rig_invites.code("r_1", 2), "r_1", 2)
    assert not rig_invites.fits(rig_invites.code("r_1", 2), "r_1", 1)


@pytest.fixture
def rig_invites(rig: Rig) -> Invites:
    return Invites(rig.settings)
