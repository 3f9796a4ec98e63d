"""Everything that a client can get wrong: code, reason and metadata of each, and that nothing has changed.

The requests go over the wire to a running server. What every method must refuse is generated from the contract; the
rest is a table.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import grpc
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from maumau.v1 import (
    actions_pb2,
    authority_pb2,
    errors_pb2,
)

from services.local.stack import Stack
from services.runtime.policy import POLICY, Access
from services.wire.errors import CATALOGUE
from tests.e2e.stacks import complaints, options
from tests.services.refused_calls import DRAW, ROWS
from tests.services.world import (
    AUTHORITY,
    CALLED,
    IDENTITY,
    METHODS,
    Caller,
    Refused,
    World,
)

Action = actions_pb2.Action


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with Stack(options(tmp_path_factory.mktemp("stack"), authorities=1)) as stack:
        with grpc.insecure_channel(stack.address) as channel:
            yield World(channel)
        assert complaints(stack) == []


def refusal(call: Callable[[], Any]) -> Refused:
    """How a call is refused. Every refusal is one of the catalogue, and its sentence is for people."""
    with pytest.raises(grpc.RpcError) as caught:
        call()
    refused = Refused(caught.value)
    known = CATALOGUE[refused.reason]
    assert refused.code is known.code
    assert set(refused.metadata) <= set(known.metadata)
    assert refused.sentence.startswith(known.sentence)
    return refused


# What every method refuses.

NEEDS_SESSION = [path for path in METHODS if POLICY[path] is Access.PLAYER]
UNARY = [path for path, method in METHODS.items() if not method.client_streaming]


def foreign_token() -> str:
    """A session of somebody else's server: well formed, signed with a key that this one does not have."""
    claims = {"iss": "maumau", "aud": "maumau", "sub": "p_ana", "exp": 4_000_000_000, "iat": 1, "name": "Ana"}
    return jwt.encode(claims, Ed25519PrivateKey.generate(), "EdDSA", {"kid": "1"})


TOKENS = {
    "no token": (None, "NOT_SIGNED_IN"),
    "an empty token": ("", "BAD_TOKEN"),
    "no token of ours": (foreign_token(), "BAD_TOKEN"),
    "nonsense": ("a.b.c", "BAD_TOKEN"),
}


@pytest.mark.parametrize("token", TOKENS)
@pytest.mark.parametrize("path", NEEDS_SESSION)
def test_a_call_that_needs_a_session_is_refused_without_a_good_one(world: World, path: str, token: str) -> None:
    given, reason = TOKENS[token]
    refused = refusal(lambda: Caller(world.channel, given).call(path, b""))
    assert (refused.reason, refused.metadata) == (reason, {})
    assert refused.code is grpc.StatusCode.UNAUTHENTICATED


@pytest.mark.parametrize("path", UNARY)
def test_bytes_that_are_no_message_are_unreadable(world: World, path: str) -> None:
    refused = refusal(lambda: world.ana.call(path, b"\xff\xff\xff"))
    assert (refused.code, refused.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "UNREADABLE")


@pytest.mark.parametrize("path", METHODS)
def test_a_message_beyond_the_limit_is_refused_with_the_limit(world: World, path: str) -> None:
    refused = refusal(lambda: world.ana.call(path, bytes(66_000)))
    assert (refused.reason, refused.metadata) == ("MESSAGE_TOO_LARGE", {"limit_bytes": "65536"})


@pytest.mark.parametrize("path", METHODS)
def test_an_empty_request_is_answered_or_refused_with_a_reason(world: World, path: str) -> None:
    caller = world.ana if path != IDENTITY + "SignOut" else world.nobody
    try:
        caller.call(path, b"")
    except grpc.RpcError as error:
        refused = Refused(error)
        assert refused.reason in CATALOGUE
        assert refused.code not in (grpc.StatusCode.INTERNAL, grpc.StatusCode.UNKNOWN)
    assert world.is_unchanged()


# The table (`refused_calls`).

CONTRACT = Path(__file__).parents[2] / "protos" / "maumau" / "v1"
COMMENTS = {
    name: comment
    for file in CONTRACT.glob("*.proto")
    for comment, name in re.findall(r"((?:^ *//[^\n]*\n)+) *rpc (\w+)\(", file.read_text(), re.MULTILINE)
}
ROOMS, RULESETS, RULES = range(300, 400), range(400, 500), range(1000, 2000)


def listed(path: str) -> set[str]:
    """The reasons that the comment of an RPC lists, with those that it names in words."""
    comment = COMMENTS[path.rpartition("/")[2]]
    found = set(re.findall(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+", comment))
    numbers = {name.removeprefix("ERROR_REASON_"): number for name, number in errors_pb2.ErrorReason.items()}
    if "reasons of rooms, rulesets and" in comment:
        found |= {name for name, number in numbers.items() if number in (*ROOMS, *RULESETS, *RULES)}
    if "ruleset of `CreateRoom`" in comment:
        found |= {name for name, number in numbers.items() if number in RULESETS}
    if "as `Act`" in comment:
        found |= listed("Act") | listed("Watch")
    return found


@pytest.mark.parametrize("name", ROWS)
def test_a_bad_input_gets_its_reason_and_changes_nothing(world: World, name: str) -> None:
    row = ROWS[name]
    refused = refusal(lambda: row.call(world))
    assert refused.reason in listed(CALLED[-1]), "the comment of the method lists it"
    assert refused.reason == row.reason
    assert {**refused.metadata, **row.metadata} == refused.metadata
    if refused.reason == "INVALID_FIELD":
        assert refused.fields == [refused.metadata["field"]]
        assert refused.metadata["expected"]
    assert world.is_unchanged()


def test_the_same_request_again_is_answered_with_the_same_version_and_changes_nothing(world: World) -> None:
    ready = Action(set_ready=Action.SetReady(ready=True))
    assert world.ana.act(world.alone, ready, request_id=world.repeated).version == 2
    assert world.is_unchanged()


HIDDEN: dict[str, Any] = {
    "Act": authority_pb2.ActRequest(request_id=b"x" * 16, action=DRAW),
    "GetRoom": authority_pb2.GetRoomRequest(),
    "Watch": authority_pb2.WatchRequest(),
    "SendChat": authority_pb2.SendChatRequest(request_id=b"x" * 16, text="hello"),
    "ReportPlayer": authority_pb2.ReportPlayerRequest(
        request_id=b"x" * 16, player_id="p", reason=authority_pb2.REPORT_REASON_SPAM
    ),
}


@pytest.mark.parametrize("method", HIDDEN)
def test_a_hidden_room_and_none_at_all_are_refused_byte_for_byte_alike(world: World, method: str) -> None:
    request = HIDDEN[method]
    answers = []
    for room in (world.playing, "r_unknown"):
        request.room_id = room
        answers.append(refusal(lambda: world.eve.call(AUTHORITY + method, request)).status)
    assert answers[0] == answers[1]


def test_internal_calls_do_not_exist_on_the_public_address(world: World) -> None:
    channel: Any = world.channel
    call = channel.unary_unary("/maumau.internal.v1.RoomControlService/CreateRoom", None, None)
    with pytest.raises(grpc.RpcError) as caught:
        call(b"", metadata=world.ana.metadata, timeout=10)
    assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED
