"""Everybody sees and does only what is theirs: every RPC as every other identity, generated from the descriptors.

A request names what it is about in fields whose names end in `_id`. Each such name stands in `NAMED`, with what it
means to somebody whom it does not concern; a new RPC with a new name fails until it is decided.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any, Final

import grpc
import pytest
from google.protobuf import descriptor_pool, message_factory
from google.protobuf.message import Message
from maumau.v1 import actions_pb2, identity_pb2, matchmaking_pb2, rules_pb2, scoring_pb2

from services.local.stack import Stack
from services.runtime.auth import operator_credential, service_credential
from services.runtime.health import HEALTH
from services.runtime.limits import METHODS as LIMITED
from services.runtime.policy import POLICY, Access
from services.runtime.reflection import V1, V1ALPHA
from services.runtime.routes import load_contract
from services.runtime.server import TOOLS
from services.runtime.settings import Settings
from tests.services.world import AUTHORITY, IDENTITY, MATCHMAKING, METHODS, SCORING, Caller, Refused, World, new_id

load_contract("maumau.internal.v1")
Action = actions_pb2.Action

CLOSED: Final = "to others it is as if it did not exist"
OPEN: Final = "anybody may ask"
OWN: Final = "a number that the caller chose"
NAMED: Final = {
    "room_id": CLOSED,
    "ticket_id": CLOSED,
    "party_id": CLOSED,
    "player_id": OPEN,
    "with_player_id": OPEN,
    "match_id": OPEN,
    "pool_id": OPEN,
    "season_id": OPEN,
    "request_id": OWN,
}
INTERNAL_SERVICES: Final = (
    *("RoomControlService", "RatingLookupService", "ResultIntakeService"),
    *("OperatorService", "ProcessService"),
)
NOT_OFFERED: Final = "NOT_AVAILABLE_YET"
BY_ROOM_ID: Final = {
    MATCHMAKING + "JoinRoom": "a room's id invites, as its code does: nobody can guess it",
}


def _fields(message: Any) -> Iterator[Any]:
    """All fields that name something, also in the first message of a stream."""
    for field in message.fields:
        if field.name.endswith("_id"):
            yield field
        if field.name == "open" and field.message_type is not None:
            yield from _fields(field.message_type)


FIELDS: Final = {path: {field.name for field in _fields(method.input_type)} for path, method in METHODS.items()}
OF_ROOMS: Final = sorted(path for path, names in FIELDS.items() if "room_id" in names and path not in BY_ROOM_ID)
OF_TICKETS: Final = sorted(path for path, names in FIELDS.items() if "ticket_id" in names)


def request(path: str, **values: Any) -> Message:
    """A request that is well formed and names these things."""
    message: Any = message_factory.GetMessageClass(METHODS[path].input_type)()
    target = message.open if "open" in message.DESCRIPTOR.fields_by_name else message
    names = target.DESCRIPTOR.fields_by_name
    for name, value in values.items():
        setattr(target, name, value)
    if "request_id" in names:
        target.request_id = new_id()
    if "action" in names:
        target.action.CopyFrom(Action(set_ready=Action.SetReady(ready=True)))
    if "text" in names:
        target.text = "hello"
    if "reason" in names:
        target.reason = 1
        target.player_id = "p_somebody"
    filled: Message = message
    return filled


def refusal(call: Callable[[], Any]) -> Refused:
    with pytest.raises(grpc.RpcError) as caught:
        call()
    return Refused(caught.value)


@pytest.fixture(scope="module")
def ida(world: World) -> Caller:
    """Somebody who had a seat in `waiting` and left it."""
    player = sign_in(world, "Ida")
    player.join(world.waiting)
    player.act(world.waiting, Action(leave_seat=Action.LeaveSeat()))
    return player


def sign_in(world: World, name: str) -> Caller:
    answer = Caller(world.channel).call(
        IDENTITY + "SignInAsGuest", identity_pb2.SignInAsGuestRequest(display_name=name)
    )
    return Caller(world.channel, answer.session.token, answer.session.player_id)


def test_every_rpc_has_a_policy_and_a_limit_and_no_line_is_left_over() -> None:
    pool = descriptor_pool.Default()
    internal = {
        f"/maumau.internal.v1.{service}/{method.name}"
        for service in INTERNAL_SERVICES
        for method in pool.FindServiceByName(f"maumau.internal.v1.{service}").methods
    }
    assert set(POLICY) == set(METHODS) | internal
    tools = {
        f"/{name}/{method.name}"
        for name, described in {HEALTH: HEALTH, V1: V1ALPHA, V1ALPHA: V1ALPHA}.items()
        for method in pool.FindServiceByName(described).methods
    }
    assert set(LIMITED) == set(METHODS) | tools
    assert {path.split("/")[1] for path in tools} == TOOLS, "these alone are open without a policy"


def test_everything_that_requests_can_name_is_decided() -> None:
    assert {name for names in FIELDS.values() for name in names} <= set(NAMED)
    assert all(NAMED[name] != CLOSED or name in ("room_id", "ticket_id", "party_id") for name in NAMED)


@pytest.mark.parametrize("path", OF_ROOMS)
@pytest.mark.parametrize("who", ["eve", "ida"])
def test_a_hidden_room_is_no_room_to_a_stranger_and_to_one_who_left(
    world: World, ida: Caller, path: str, who: str
) -> None:
    caller = {"eve": world.eve, "ida": ida}[who]
    hidden = world.playing if who == "eve" else world.waiting
    answers = [refusal(lambda: caller.call(path, request(path, room_id=room))) for room in (hidden, "r_nowhere")]  # noqa: B023
    assert answers[0].status == answers[1].status
    assert answers[0].reason in ("ROOM_NOT_FOUND", NOT_OFFERED)


ODD: Final[dict[str, dict[str, Any]]] = {
    "a resume token": {"resume_token": b"x"},
    "a resume token of the right length": {"resume_token": bytes(21)},
    "a page token": {"page_token": "AAAA"},
    "a version": {"version": 1_000_000},
    "another version": {"since_version": 1_000_000, "wait_milliseconds": 2_000},
    "a match": {"match_id": "m_1"},
    "an action without its card": {"action": Action(play=Action.Play())},
    "an action with too long a contribution": {"action": Action(set_ready=Action.SetReady(contribution=bytes(40)))},
    "a text": {"text": ""},
    "a request id": {"request_id": b"x"},
}
"""Fields that some requests about a room have, with values that are wrong, or right for another room."""


@pytest.mark.parametrize("path", OF_ROOMS)
@pytest.mark.parametrize("odd", ODD)
def test_what_is_wrong_with_a_request_does_not_tell_a_hidden_room_from_none(world: World, path: str, odd: str) -> None:
    asked: list[Any] = [request(path, room_id=room) for room in (world.playing, "r_nowhere")]
    for message in asked:
        target = message.open if "open" in message.DESCRIPTOR.fields_by_name else message
        for name, value in ODD[odd].items():
            if name not in target.DESCRIPTOR.fields_by_name:
                return
            if isinstance(value, Message):
                getattr(target, name).CopyFrom(value)
            else:
                setattr(target, name, value)
    answers = [refusal(lambda: world.eve.call(path, message)) for message in asked]  # noqa: B023
    assert answers[0].status == answers[1].status


@pytest.mark.parametrize("path", OF_ROOMS)
def test_the_same_requests_of_a_player_of_the_room_are_served(world: World, path: str) -> None:
    """The control of the one above."""
    served = ("", NOT_OFFERED, "MATCH_NOT_FOUND")  # nothing has been played there
    assert _reason(lambda: world.bo.call(path, request(path, room_id=world.waiting))) in served


def _reason(call: Callable[[], Any]) -> str:
    try:
        call()
    except grpc.RpcError as error:
        return str(Refused(error).reason)
    return ""


def test_no_history_leads_a_stranger_to_a_hidden_room(world: World) -> None:
    """Matches of all players may be looked up, and a room's id invites."""
    rooms = {}
    for public in (False, True):
        host, guest = (sign_in(world, name) for name in ("Host", "Guest"))
        room = host.create(2, public=public)
        guest.join(room)
        guest.act(room, Action(set_ready=Action.SetReady(ready=True)))
        host.act(room, Action(start=Action.Start()))
        guest.act(room, Action(leave_seat=Action.LeaveSeat()))
        [record] = _history(host, host.id)
        assert record.room_id == room
        rooms[room] = (public, _history(world.eve, host.id)[0].room_id)
    assert all(seen == (room if public else "") for room, (public, seen) in rooms.items())


def _history(asking: Caller, player: str) -> list[Any]:
    """A player's matches, once there are some."""
    end = time.monotonic() + 20
    while time.monotonic() < end:
        listed = asking.call(SCORING + "ListMatches", scoring_pb2.ListMatchesRequest(player_id=player))
        if listed.matches:
            return list(listed.matches)
        time.sleep(0.05)
    raise AssertionError("the match did not come to the history")


@pytest.mark.parametrize("path", OF_TICKETS)
def test_a_ticket_of_somebody_else_is_no_ticket(world: World, path: str) -> None:
    wish = matchmaking_pb2.TicketRequest(ruleset=rules_pb2.Ruleset(preset="uno"), seats=4)
    owner = sign_in(world, "Owner")
    made = owner.call(MATCHMAKING + "CreateTicket", matchmaking_pb2.CreateTicketRequest(request=wish))
    ticket = made.ticket.ticket_id
    assert owner.call(MATCHMAKING + "GetTicket", request(MATCHMAKING + "GetTicket", ticket_id=ticket))
    answers = [refusal(lambda: world.eve.call(path, request(path, ticket_id=each))) for each in (ticket, "t_none")]  # noqa: B023
    assert answers[0].status == answers[1].status
    assert answers[0].reason == "TICKET_NOT_FOUND"


def test_a_spectator_sees_a_public_room_and_can_do_nothing_in_it(world: World) -> None:
    seen = world.eve.view(world.full)
    assert not seen.HasField("own_seat")
    for action in (Action(start=Action.Start()), Action(leave_seat=Action.LeaveSeat())):
        assert refusal(lambda: world.eve.act(world.full, action)).reason == "NOT_SEATED"  # noqa: B023


def test_a_player_cannot_act_for_the_seat_on_turn(world: World) -> None:
    before = world.turn.view(world.playing).version
    draw = Action(draw=Action.Draw())
    assert refusal(lambda: world.other.act(world.playing, draw)).reason == "NOT_YOUR_TURN"
    assert world.turn.view(world.playing).version == before


def test_no_action_names_the_seat_that_acts() -> None:
    """The seat comes from the session. A field `seat` in an action is whom it is about."""
    about_others = {"accuse", "add_bot", "mute", "remove_seat", "take_seat"}
    naming = {
        field.name
        for field in Action.DESCRIPTOR.fields
        if field.message_type is not None and "seat" in field.message_type.fields_by_name
    }
    assert naming <= about_others


@pytest.mark.parametrize("path", [AUTHORITY + "Watch", AUTHORITY + "GetRoom", AUTHORITY + "Play"])
def test_an_account_with_a_seat_never_gets_a_spectators_view(world: World, path: str) -> None:
    for player, seat in ((world.ana, 0), (world.bo, 1)):
        answer = player.call(path, request(path, room_id=world.full))
        assert answer.snapshot.room.HasField("own_seat")
        assert answer.snapshot.room.own_seat == seat


# Between services.

INTERNAL: Final = sorted(path for path, access in POLICY.items() if access in (Access.SERVICE, Access.OPERATOR))


@pytest.mark.parametrize("path", INTERNAL)
def test_no_internal_rpc_exists_on_a_public_port(stack: Stack, world: World, path: str) -> None:
    settings = Settings(keys_dir=stack.var_dir / "keys")
    addresses = [stack.address, *(process.address for process in stack.processes)]
    for shown in (world.ana.metadata, (service_credential(settings),), (operator_credential(settings),)):
        for address in addresses:
            assert _code(address, path, shown)[0] is grpc.StatusCode.UNIMPLEMENTED


@pytest.mark.parametrize("path", INTERNAL)
def test_internal_rpcs_take_only_the_credential_meant_for_them(stack: Stack, world: World, path: str) -> None:
    settings = Settings(keys_dir=stack.var_dir / "keys")
    shown = {Access.SERVICE: service_credential(settings), Access.OPERATOR: operator_credential(settings)}
    meant = shown.pop(POLICY[path])
    [other] = shown.values()
    serving = [p for p in stack.processes if _code(_internal(p), path, (meant,))[1] != "UNKNOWN_METHOD"]
    assert serving
    for process in serving:
        for wrong in ((other,), world.ana.metadata, ((meant[0], meant[1][:-1]),), ((meant[0], meant[1] + "0"),)):
            assert _code(_internal(process), path, wrong)[1] == "BAD_TOKEN"
        assert _code(_internal(process), path, ())[1] == "NOT_SIGNED_IN"
        assert _code(_internal(process), path, (meant,))[0] is not grpc.StatusCode.UNAUTHENTICATED


def test_players_calls_do_not_exist_on_an_internal_port(stack: Stack, world: World) -> None:
    for process in stack.processes:
        for path in METHODS:
            assert _code(_internal(process), path, world.ana.metadata)[1] == "UNKNOWN_METHOD"


def _internal(process: Any) -> str:
    return f"127.0.0.1:{process.internal_port}"


def _code(address: str, path: str, metadata: Any) -> tuple[grpc.StatusCode, str]:
    """Code and reason of a call with an empty request."""
    with grpc.insecure_channel(address) as opened:
        channel: Any = opened
        try:
            for _ in channel.stream_stream(path)(iter([b""]), metadata=metadata, timeout=10):
                pass
        except grpc.RpcError as error:
            known: Any = error
            explained = "grpc-status-details-bin" in dict(known.trailing_metadata() or ())
            return known.code(), Refused(known).reason if explained else ""
    return grpc.StatusCode.OK, ""
