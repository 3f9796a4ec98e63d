"""What a caller sees of the harness around every RPC, over real sockets."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Iterator
from io import BytesIO
from typing import Any

import grpc
import msgspec
import pytest
import structlog
from google.protobuf import descriptor_pool
from google.rpc import error_details_pb2
from grpc_reflection.v1alpha import reflection_pb2
from grpc_reflection.v1alpha.reflection_pb2_grpc import ServerReflectionStub
from grpc_status.rpc_status import aio as rich_status
from maumau.internal.v1 import room_control_pb2
from maumau.v1 import authority_pb2 as authority
from maumau.v1 import scoring_pb2 as scoring
from maumau.v1.authority_pb2_grpc import GameAuthorityServiceStub
from maumau.v1.scoring_pb2_grpc import ScoringServiceStub
from prometheus_client import REGISTRY

from services.rules.cards import parse_card
from services.rules.reasons import IllegalAction, Reason
from services.runtime import calls
from services.runtime.calls import Method
from services.runtime.errors import Refused, translates
from services.runtime.logs import bind, configure_logs, log
from services.runtime.server import ServerPort
from tests.services.serving import Serving, free_port_settings, serving


@pytest.fixture
def written() -> Iterator[BytesIO]:
    """What is logged, as a process writes it; other tests see logs as they saw them before."""
    structured, plain = structlog.get_config(), (logging.root.handlers[:], logging.root.level)
    stream = BytesIO()
    configure_logs("fake", stream=stream)
    yield stream
    structlog.configure(**structured)
    logging.root.handlers[:] = plain[0]
    logging.root.setLevel(plain[1])


async def refusal(call: Any, wait: Any = None) -> tuple[grpc.StatusCode, str, list[Any]]:
    """Code, reason and all details of a call that is refused when it, or `wait`, is awaited."""
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await (call if wait is None else wait)
    status = await rich_status.from_call(call)
    info = error_details_pb2.ErrorInfo()
    assert status is not None
    assert status.details[0].Unpack(info)
    assert info.domain == "maumau"
    return caught.value.code(), info.reason, list(status.details)


def get_rating(served: Serving, player: str = "ana", **options: Any) -> Any:
    return ScoringServiceStub(served.channel).GetRating(scoring.GetRatingRequest(player_id=player), **options)


def raw(served: Serving, path: str, request: bytes) -> Any:
    """A unary call of plain bytes."""
    multicallable: Any = served.channel.unary_unary(path)
    return multicallable(request)


def handled(method: str, code: str) -> float:
    service = "maumau.v1.ScoringService"
    labels = {"grpc_type": "unary", "grpc_service": service, "grpc_method": method, "grpc_code": code}
    return REGISTRY.get_sample_value("grpc_server_handled_total", labels) or 0.0


async def test_an_exception_that_knows_its_status_reaches_the_caller_with_its_reason() -> None:
    async with serving() as served:
        served.probe.fails_with = Refused("STORE_UNAVAILABLE")
        code, reason, details = await refusal(get_rating(served))
    assert (code, reason) == (grpc.StatusCode.UNAVAILABLE, "STORE_UNAVAILABLE")
    assert any(detail.Is(error_details_pb2.RetryInfo.DESCRIPTOR) for detail in details)


async def test_a_refusal_of_the_rules_reaches_the_caller_with_its_reason() -> None:
    async with serving() as served:
        served.probe.fails_with = IllegalAction(Reason.NOT_YOUR_TURN, turn=1)
        code, reason, _ = await refusal(get_rating(served))
    assert (code, reason) == (grpc.StatusCode.FAILED_PRECONDITION, "NOT_YOUR_TURN")


async def test_an_exception_of_another_layer_is_told_as_declared() -> None:
    class LostError(Exception):
        pass

    translates(LostError, lambda _: Refused("OUTCOME_UNKNOWN").to_status())
    async with serving() as served:
        served.probe.fails_with = LostError()
        assert (await refusal(get_rating(served)))[1] == "OUTCOME_UNKNOWN"


async def test_an_unforeseen_exception_is_told_without_details_and_logged_with_its_traceback(written: BytesIO) -> None:
    async with serving() as served:
        served.probe.fails_with = RuntimeError("secret words")
        call = get_rating(served)
        code, reason, _ = await refusal(call)
        assert (code, reason) == (grpc.StatusCode.INTERNAL, "INTERNAL")
        assert "secret" not in (await call.details())
    failed = next(line for line in map(msgspec.json.decode, written.getvalue().splitlines()) if "exception" in line)
    assert failed["level"] == "error"
    assert "RuntimeError: secret words" in failed["exception"]


async def test_a_request_that_is_no_protobuf_is_unreadable_not_internal() -> None:
    async with serving() as served:
        call = raw(served, "/maumau.v1.ScoringService/GetRating", b"\xff\xff\xff")
        code, reason, _ = await refusal(call)
    assert (code, reason) == (grpc.StatusCode.INVALID_ARGUMENT, "UNREADABLE")


async def test_a_method_that_no_service_has_is_refused_with_a_reason() -> None:
    async with serving() as served:
        call = raw(served, "/maumau.v1.ScoringService/Steal", b"")
        assert (await refusal(call))[:2] == (grpc.StatusCode.UNIMPLEMENTED, "UNKNOWN_METHOD")


async def test_a_method_of_the_contract_that_is_not_offered_yet_says_so() -> None:
    async with serving() as served:
        call = ScoringServiceStub(served.channel).GetRank(scoring.GetRankRequest())
        assert (await refusal(call))[:2] == (grpc.StatusCode.UNIMPLEMENTED, "NOT_AVAILABLE_YET")


@pytest.fixture
def early(monkeypatch: pytest.MonkeyPatch) -> float:
    """A deadline in seconds. The answer leaves 20 s before it, after half a second: a busy machine has a long way."""
    monkeypatch.setattr(calls, "DEADLINE_MARGIN_SECONDS", 20.0)
    return 20.5


async def test_a_call_is_answered_before_its_own_deadline_when_the_service_hangs(early: float) -> None:
    async with serving() as served:
        code, reason, _ = await refusal(get_rating(served, "waits", timeout=early))
    assert (code, reason) == (grpc.StatusCode.UNAVAILABLE, "OUTCOME_UNKNOWN")


async def test_a_call_without_a_deadline_ends_at_the_servers_limit() -> None:
    async with serving(call_limit_seconds=0.1) as served:
        assert (await refusal(get_rating(served, "waits")))[1] == "OUTCOME_UNKNOWN"


async def test_a_message_above_the_limit_is_refused_with_the_limit() -> None:
    async with serving(max_message_bytes=1024) as served:
        code, reason = (await refusal(get_rating(served, "x" * 2048)))[:2]
    assert (code, reason) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "MESSAGE_TOO_LARGE")


async def test_a_message_far_above_the_limit_is_not_even_read() -> None:
    async with serving(max_message_bytes=1024) as served:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await get_rating(served, "x" * 8192)
    assert caught.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED


async def test_a_guard_refuses_before_the_handler_and_lets_health_through() -> None:
    async def refuse(method: Any, context: Any) -> None:
        raise Refused("NOT_SIGNED_IN")

    async with serving() as served:
        served.runtime.public.guard(refuse)
        assert (await refusal(get_rating(served)))[1] == "NOT_SIGNED_IN"
        assert not served.probe.entered.is_set()
        assert await raw(served, "/grpc.health.v1.Health/Check", b"") == b"\x08\x01"


async def test_what_a_guard_binds_is_in_the_calls_log_line_and_in_no_other(written: BytesIO) -> None:
    async def bind_room(method: Any, context: Any) -> None:
        bind(room=dict(context.invocation_metadata()).get("x-maumau-room"))

    async with serving() as served:
        served.runtime.public.guard(bind_room)
        await get_rating(served, metadata=[("x-maumau-room", "r1")])
        await get_rating(served)
    lines = [line for line in map(msgspec.json.decode, written.getvalue().splitlines()) if line["event"] == "call"]
    assert [line.get("room") for line in lines] == ["r1", None]
    assert {"time", "level", "event", "service", "method", "code", "ms"} <= lines[0].keys()


async def test_a_stream_carries_messages_and_encoded_ones_alike_and_ends_with_its_error() -> None:
    async with serving() as served:
        served.probe.fails_with = Refused("STALE", version=1, began=2, subject="turn")
        call = GameAuthorityServiceStub(served.channel).Watch(authority.WatchRequest())
        received = [await call.read(), await call.read()]
        served.probe.hold.set()
        assert received == [authority.WatchResponse()] * 2
        code, reason, _ = await refusal(call, call.read())
    assert (code, reason) == (grpc.StatusCode.ABORTED, "STALE")


async def test_a_stream_whose_client_leaves_is_closed_and_counted_as_gone() -> None:
    async with serving() as served:
        call = GameAuthorityServiceStub(served.channel).Watch(authority.WatchRequest())
        await call.read()
        await served.probe.entered.wait()
        assert REGISTRY.get_sample_value("maumau_open_streams", {"grpc_method": "Watch"}) == 1
        call.cancel()
        async with asyncio.timeout(10):
            await served.probe.left.wait()
        assert REGISTRY.get_sample_value("maumau_open_streams", {"grpc_method": "Watch"}) == 0


async def test_a_two_way_stream_answers_each_message_and_counts_both_ways() -> None:
    labels = {
        "grpc_type": "bidi_stream",
        "grpc_service": "maumau.v1.GameAuthorityService",
        "grpc_method": "Play",
    }
    before = REGISTRY.get_sample_value("grpc_server_msg_sent_total", labels) or 0.0
    async with serving() as served:
        call = GameAuthorityServiceStub(served.channel).Play()
        for _ in range(3):
            await call.write(authority.PlayRequest())
            assert await call.read() == authority.PlayResponse()
        await call.done_writing()
        assert await call.read() == grpc.aio.EOF
    assert REGISTRY.get_sample_value("grpc_server_msg_sent_total", labels) == before + 3


async def test_calls_are_counted_by_code() -> None:
    before = handled("GetRating", "OK"), handled("GetRating", "ABORTED")
    async with serving() as served:
        await get_rating(served)
        served.probe.fails_with = Refused("STALE", version=1, began=2, subject="turn")
        await refusal(get_rating(served))
    assert (handled("GetRating", "OK"), handled("GetRating", "ABORTED")) == (before[0] + 1, before[1] + 1)


def test_a_streaming_handler_that_is_no_async_generator_is_refused_at_the_start() -> None:
    class Written:
        async def Watch(self, request: Any, context: Any) -> None:  # noqa: N802
            await context.write(b"")

    def register(servicer: Any, server: Any) -> None:
        server.add_registered_method_handlers("x.Y", {"Watch": grpc.unary_stream_rpc_method_handler(servicer.Watch)})

    async def add() -> None:
        ServerPort(free_port_settings(), 1_024).add(register, Written())

    with pytest.raises(TypeError, match="async generator"):
        asyncio.run(add())


async def test_the_public_port_describes_all_public_services_and_nothing_internal() -> None:
    internal = room_control_pb2.DESCRIPTOR.services_by_name["RoomControlService"].full_name
    assert descriptor_pool.Default().FindServiceByName(internal)
    asked = [
        reflection_pb2.ServerReflectionRequest(list_services=""),
        reflection_pb2.ServerReflectionRequest(file_containing_symbol="maumau.v1.GameAuthorityService"),
        reflection_pb2.ServerReflectionRequest(file_containing_symbol=internal),
        reflection_pb2.ServerReflectionRequest(file_by_filename=room_control_pb2.DESCRIPTOR.name),
    ]
    async with serving() as served:
        answers = [a async for a in ServerReflectionStub(served.channel).ServerReflectionInfo(iter(asked))]
    names = {service.name for service in answers[0].list_services_response.service}
    assert {"maumau.v1.MatchmakingService", "maumau.v1.IdentityService", "maumau.v1.ScoringService"} <= names
    assert not any("internal" in name for name in names)
    assert answers[1].HasField("file_descriptor_response")
    assert answers[2].HasField("error_response")
    assert answers[3].HasField("error_response")


def test_a_card_never_shows_its_face_in_a_log_line(written: BytesIO) -> None:
    card = parse_card("7S")
    log.info("dealt", card=card, cards=[card], sentence=f"played {card!r}")
    line = msgspec.json.decode(written.getvalue())
    assert line["cards"] == repr([card])
    assert b"7S" not in written.getvalue()


async def test_a_call_is_answered_before_its_own_deadline_when_what_stands_before_its_handler_hangs(
    early: float,
) -> None:
    async def hang(method: Method, context: Any) -> None:
        await asyncio.Event().wait()

    async with serving() as served:
        served.runtime.public.guard(hang)
        code, reason, details = await refusal(get_rating(served, timeout=early))
    assert (code, reason) == (grpc.StatusCode.UNAVAILABLE, "OUTCOME_UNKNOWN")
    assert any(detail.Is(error_details_pb2.RetryInfo.DESCRIPTOR) for detail in details)


async def test_long_polls_count_among_what_is_open_and_other_calls_do_not() -> None:
    held: list[str] = []

    @contextlib.contextmanager
    def hold(method: Method, context: Any) -> Iterator[None]:
        held.append(method.name)
        yield
        held.append("let go")

    async with serving() as served:
        served.runtime.public.hold(hold)
        await get_rating(served)
        await GameAuthorityServiceStub(served.channel).GetRoom(authority.GetRoomRequest())
    assert held == ["GetRoom", "let go"]
