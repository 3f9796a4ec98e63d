"""protos/README.md: its dialogue is one that the contract allows, its names are names of the contract."""

from __future__ import annotations

import re
from itertools import pairwise

import grpc
import pytest
from google.protobuf import descriptor_pool
from google.protobuf.json_format import ParseError
from maumau.v1 import authority_pb2, errors_pb2, room_pb2

from services.local.stack import Stack
from services.runtime.routes import load_contract
from tests.docs.dialogue import PAGE, Said, laid_out, page_with, read, record

TEXT = PAGE.read_text()
PlayRequest = authority_pb2.PlayRequest
PlayResponse = authority_pb2.PlayResponse


@pytest.fixture(scope="module")
def dialogue() -> list[Said]:
    return list(read(TEXT))


def check(dialogue: list[Said]) -> None:
    """What the page says of versions, answers and legal actions holds in the dialogue."""
    versions = list[int]()
    asked = dict[bytes, authority_pb2.PlayRequest.Act]()
    legal = list[str]()
    for said in (each.message for each in dialogue):
        if isinstance(said, PlayRequest) and said.HasField("act"):
            asked[said.act.request_id] = said.act
            if versions and said.act.action.WhichOneof("action") in ("play", "draw", "pass"):
                assert str(said.act.action) in legal
        elif isinstance(said, PlayResponse) and said.HasField("snapshot"):
            versions.append(said.snapshot.room.version)
        elif isinstance(said, PlayResponse) and said.HasField("update"):
            versions.append(said.update.version)
            if said.update.HasField("legal"):
                legal = [str(action) for action in said.update.legal.actions]
        if isinstance(said, PlayResponse) and said.HasField("answer"):
            del asked[said.answer.request_id]
            assert said.answer.HasField("refusal") or said.answer.version == versions[-1]
    assert all(later == earlier + 1 for earlier, later in pairwise(versions))
    assert asked == {}


def test_every_message_of_the_dialogue_is_one_of_the_contract(dialogue: list[Said]) -> None:
    assert {type(said.message).__name__ for said in dialogue if said.by_client} == {
        "SignInAsGuestRequest",
        "CreateRoomRequest",
        "PlayRequest",
    }
    shown = TEXT.partition("## The dialogue of one match\n")[2]
    assert all(said.written() in shown for said in dialogue)
    assert shown.count("\n→ ") + shown.count("\n← ") == len(dialogue)


def test_the_dialogue_is_of_one_whole_match_and_keeps_the_promises_of_the_page(dialogue: list[Said]) -> None:
    check(dialogue)
    responses = [each.message for each in dialogue if isinstance(each.message, PlayResponse)]
    kinds = {response.WhichOneof("message") for response in responses}
    assert kinds == {"snapshot", "update", "bookmark", None}, "an answer without news is a refusal"
    assert all(r.HasField("answer") for r in responses if r.WhichOneof("message") is None)
    assert any(r.HasField("answer") and r.HasField("update") for r in responses)
    events = [event.WhichOneof("event") for response in responses for event in response.update.events]
    assert events.count("match_started") == events.count("match_ended") == 1
    resumed = [each.message.open.resume_token for each in dialogue if isinstance(each.message, PlayRequest)]
    assert any(resumed)


async def test_a_match_recorded_now_reads_like_the_one_on_the_page(stack: Stack) -> None:
    chapters = await record(stack.address)
    said = [each for _, messages in chapters for each in messages]
    check(said)
    sentences = [sentence for sentence, _ in chapters]
    assert all(sentence in TEXT for sentence in sentences)
    assert list(read(page_with(chapters, ""))) == list(
        read("```text\n" + "\n".join(s.written() for s in said) + "\n```\n")
    )


def test_a_message_that_the_contract_does_not_know_is_noticed() -> None:
    with pytest.raises(ParseError, match="no_such_field"):
        list(read('```text\n→ PlayRequest\n{"open": {"no_such_field": 1}}\n```\n'))


def test_long_json_is_broken_where_it_does_not_fit() -> None:
    assert laid_out({"a": [1, 2], "b": {}}) == '{"a": [1, 2], "b": {}}'
    long = {"a": ["x" * 60, "y" * 60], "b": 1}
    assert laid_out(long).splitlines() == [
        "{",
        '  "a": [',
        f'    "{"x" * 60}",',
        f'    "{"y" * 60}"',
        "  ],",
        '  "b": 1',
        "}",
    ]


def reasons_of(page: str) -> set[str]:
    """Every reason-like name in code style."""
    return set(re.findall(r"`([A-Z]+(?:_[A-Z]+)+)`", page))


def test_reasons_on_the_page_are_in_the_contract() -> None:
    names = {
        *(name.removeprefix("ERROR_REASON_") for name, _ in errors_pb2.ErrorReason.items()),
        *(name.removeprefix("GO_AWAY_REASON_") for name, _ in room_pb2.GoAwayReason.items()),
        *(name.removeprefix("SNAPSHOT_REASON_") for name, _ in room_pb2.SnapshotReason.items()),
        *(code.name for code in grpc.StatusCode),
    }
    assert reasons_of(TEXT) - names == set()


def test_calls_on_the_page_are_in_the_contract() -> None:
    load_contract()
    contract = descriptor_pool.Default()
    for service, method in re.findall(r"`(\w+Service)/(\w+)`", TEXT):
        found = contract.FindServiceByName(f"maumau.v1.{service}")
        assert method in found.methods_by_name, f"{service}/{method}"
