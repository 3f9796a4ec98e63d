"""Every reason of the catalogue: raised by the server or kept for what is not offered yet, named by a test, and told on
the generated page."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

import grpc
import pytest
from maumau.v1 import authority_pb2
from maumau.v1.authority_pb2_grpc import GameAuthorityServiceStub

from services.local.stack import Stack
from services.runtime.reference import errors_page
from services.wire.errors import CATALOGUE
from tests.e2e.calls import channel_to, next_message, reason_of, sign_in
from tests.e2e.stacks import options

ROOT: Final = Path(__file__).parents[2]
KEPT: Final = {
    "ALREADY_SEATED": "whoever takes another seat moves there",
    "BOT_LEVEL_NOT_OFFERED": "every level is offered",
    "DEADLINE_PASSED": "gRPC itself ends the call; a service says OUTCOME_UNKNOWN a moment before",
}
"""Reasons that nothing raises, and why they stand in the catalogue nevertheless."""


def _named_in(*folders: str, pattern: str = "*.py") -> set[str]:
    texts = [path.read_text() for folder in folders for path in (ROOT / folder).rglob(pattern)]
    words = {word for text in texts for word in re.findall(r"\b[A-Z][A-Z_0-9]{3,}\b", text)}
    return words & set(CATALOGUE)


def test_every_reason_is_raised_somewhere_or_known_to_be_kept() -> None:
    assert set(CATALOGUE) - _named_in("services") == set(KEPT)


def test_every_reason_that_can_come_is_named_by_a_test() -> None:
    assert set(CATALOGUE) - set(KEPT) - _named_in("tests") - _named_in("tests", pattern="*.yaml") == set()


def test_the_page_is_what_the_catalogue_gives() -> None:
    assert (ROOT / "docs" / "errors.md").read_text() == errors_page(), "run `make docs`"


async def test_a_reader_too_slow_is_told_where_to_go_on(tmp_path: Path) -> None:
    environ = {"MAUMAU_STREAM_QUEUE_BYTES": "65536"}
    with Stack(options(tmp_path, authorities=1, environ=environ)) as stack:
        async with channel_to(stack.address) as channel:
            ana = await sign_in(channel, "Ana")
            room = await ana.create_room(2)
            narrow = [("grpc.http2.bdp_probe", 0), ("grpc.use_local_subchannel_pool", 1)]
            async with grpc.aio.insecure_channel(stack.address, options=narrow) as slow:
                stub = GameAuthorityServiceStub(slow)
                reader = stub.Watch(authority_pb2.WatchRequest(room_id=room), metadata=ana.metadata(room))
                await next_message(reader)
                for number in range(1_000):
                    chat = authority_pb2.SendChatRequest(
                        room_id=room, text="🂡" * 300, request_id=number.to_bytes(16, "big")
                    )
                    await ana.rooms.SendChat(chat, metadata=ana.metadata(room), timeout=20)
                with pytest.raises(grpc.aio.AioRpcError) as caught:
                    await _read_to_the_end(reader)
                reason, metadata = reason_of(caught.value)
                assert reason == "TOO_SLOW"
                assert metadata["resume_token"]


async def _read_to_the_end(call: Any) -> None:
    while await next_message(call) is not grpc.aio.EOF:
        pass
