"""Hostile traffic beside people who play: nothing breaks, nothing is INTERNAL, memory stays bounded, and the others
play on."""

from __future__ import annotations

import asyncio
import contextlib
import math
import random
import socket
import struct
import time
from collections import Counter
from pathlib import Path
from typing import Any

import grpc
import maumau
import pytest
from google.protobuf import message_factory
from google.protobuf.message import Message
from grpc_health.v1.health_pb2 import HealthCheckRequest
from grpc_health.v1.health_pb2_grpc import HealthStub
from maumau.v1 import rules_pb2
from maumau.v1.actions_pb2 import Action

from services.local.stack import Stack
from services.store.assembly import Store
from services.store.connect import StoreSettings
from services.store.keys import PlayerId
from tests.e2e.calls import LIMIT_SECONDS, channel_to, duel, next_message, reason_of, sign_in
from tests.e2e.stacks import complaints, options
from tests.security.bystanders import ROUNDS, Beside, beside
from tests.security.flooder import evenly, flooder
from tests.security.length import LONG, scaled
from tests.services.world import METHODS

BROKEN = ("INTERNAL", "UNKNOWN", "DATA_LOSS")
FUZZERS = 20
FUZZED_A_SECOND = 400


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A stack with the limits that a server has by itself, but for guests from this one address."""
    environ = {"MAUMAU_RATE_LIMITS": "true", "MAUMAU_LIMIT_SIGN_IN": "100/s burst 1000"}
    with Stack(options(tmp_path_factory.mktemp("stack"), environ=environ)) as stack:
        yield stack
        assert complaints(stack) == []


def expect_at_most(times: float, met: Beside) -> None:
    """Asserted with LONG=1 alone: a short run has too few acts for a p99."""
    assert not LONG or met.ratio <= max(times, met.noise)


def memory_kb(stack: Stack) -> dict[str, int]:
    found = {}
    for name in (*(process.name for process in stack.processes), "envoy"):
        status = Path(f"/proc/{stack[name].pid}/status").read_text()
        found[name] = int(status.split("VmRSS:")[1].split()[0])
    return found


def unharmed(stack: Stack, pids: dict[str, int | None]) -> None:
    assert {name: stack[name].pid for name in pids} == pids, "a process ended"


def pids_of(stack: Stack) -> dict[str, int | None]:
    return {name: stack[name].pid for name in stack.children}


# Requests that nobody who means well would send.


def _mutated(rng: random.Random, message: bytes) -> bytes:
    raw = bytearray(message)
    for _ in range(rng.randint(1, 4)):
        kind = rng.randrange(4)
        at = rng.randrange(len(raw) + 1)
        if kind == 0 or not raw:
            raw[at:at] = rng.randbytes(rng.randint(1, 8))
        elif kind == 1:
            del raw[at : at + rng.randint(1, 4)]
        elif kind == 2:
            raw[at % len(raw)] ^= 1 << rng.randrange(8)
        else:
            raw += raw[: rng.randint(0, 64)]
    return bytes(raw[:60_000])


def _filled(rng: random.Random, kind: Any, room: str, depth: int = 0) -> Message:
    """A message of this kind with odd values in it."""
    message: Message = message_factory.GetMessageClass(kind)()
    for field in kind.fields:
        if rng.random() < 0.4:
            continue
        if field.name == "room_id":
            setattr(message, field.name, room)
        elif field.name == "request_id":
            setattr(message, field.name, rng.randbytes(16))
        elif field.message_type is not None:
            if depth < 4 and not field.is_repeated:
                getattr(message, field.name).CopyFrom(_filled(rng, field.message_type, room, depth + 1))
        elif not field.is_repeated:
            with contextlib.suppress(ValueError, TypeError):
                setattr(message, field.name, _odd(rng, field))
    return message


def _odd(rng: random.Random, field: Any) -> Any:
    if field.type == field.TYPE_STRING:
        return rng.choice(["", "x" * 5_000, "\u202e\u0000\uffff", "../../etc/passwd", "r_" + "a" * 20, "🂡" * 50])
    if field.type == field.TYPE_BYTES:
        return rng.randbytes(rng.choice([0, 1, 16, 32, 1_000]))
    if field.type == field.TYPE_BOOL:
        return rng.random() < 0.5
    if field.type in (field.TYPE_DOUBLE, field.TYPE_FLOAT):
        return rng.choice([0.0, -1.0, 1e308, float("inf"), float("nan")])
    return rng.choice([0, 1, -1, 3, 99, 2**31 - 1, -(2**31), 2**63 - 1, -(2**63)])


async def _send(channel: Any, path: str, raw: bytes, metadata: Any, seconds: float = LIMIT_SECONDS) -> str:
    """How a call ends: its code, and for a refusal whether a reason came with it. A stream of which nothing has come
    after `seconds` ends by its deadline."""
    method = METHODS[path]
    try:
        if method.server_streaming:
            kind = channel.stream_stream if method.client_streaming else channel.unary_stream
            call: Any = kind(path)(iter([raw]) if method.client_streaming else raw, metadata=metadata, timeout=seconds)
            await call.read()
            call.cancel()
        else:
            await channel.unary_unary(path)(raw, metadata=metadata, timeout=LIMIT_SECONDS)
    except grpc.aio.AioRpcError as error:
        explained = bool(reason_of(error)[0])
        return f"{error.code().name}{'' if explained else ' without a reason'}"
    return "OK"


@pytest.mark.parametrize("limits", [False, True], ids=["without limits", "with limits"])
async def test_fuzzed_requests_are_answered_with_a_reason_and_never_break_anything(
    stack: Stack, guarded: Stack, limits: bool
) -> None:
    target = guarded if limits else stack
    rng = random.Random(7)
    pids, before = pids_of(target), memory_kb(target)
    paths = [path for path in METHODS if not path.endswith(("SignOut", "SignInAsGuest"))]
    found: Counter[str] = Counter()
    async with channel_to(target.address) as channel:
        guest = await sign_in(channel, "Eve")
        room = await guest.create_room(2)

        async def fuzz(place: int, number: int) -> None:
            began = time.monotonic() + place / FUZZED_A_SECOND  # evenly, not all at one moment
            for done in range(number):
                await asyncio.sleep(max(0.0, began + done * FUZZERS / FUZZED_A_SECOND - time.monotonic()))
                path = rng.choice(paths)
                raw = _filled(rng, METHODS[path].input_type, room).SerializeToString()
                raw = rng.choice([raw, _mutated(rng, raw), rng.randbytes(rng.randint(0, 200))])
                found[await _send(channel, path, raw, guest.metadata(room), seconds=2)] += 1

        async def attack(_: int) -> None:
            number = math.ceil(scaled(1_500, 100_000) / FUZZERS / ROUNDS)
            await asyncio.gather(*(fuzz(place, number) for place in range(FUZZERS)))

        met = await beside(target, attack)
    print(f"{sum(found.values())} fuzzed requests: {dict(found)}; memory {before} -> {memory_kb(target)}")
    assert not [code for code in found if code.startswith(BROKEN)]
    assert not [code for code in found if code.endswith("without a reason") and not code.startswith("DEADLINE")]
    unharmed(target, pids)
    assert all(memory_kb(target)[name] - kb < 60_000 for name, kb in before.items())
    expect_at_most(2, met)


async def test_messages_beyond_all_limits_are_refused(stack: Stack) -> None:
    pids = pids_of(stack)
    async with channel_to(stack.address) as channel:
        guest = await sign_in(channel, "Eve")
        for size in (65_537, 200_000, 5_000_000):
            for path in (path for path in METHODS if path.endswith(("/Act", "/Watch", "/CreateRoom"))):
                ended = await _send(channel, path, bytes(size), guest.metadata())
                assert ended.split()[0] == "RESOURCE_EXHAUSTED", (size, path, ended)
    unharmed(stack, pids)


async def test_what_is_said_of_an_endless_name_breaks_nobodys_streams(stack: Stack) -> None:
    """Words in an answer are a header. One above 60 kB made Envoy drop the connection behind it, with all streams on
    it."""
    async with channel_to(stack.address) as channel, channel_to(stack.address) as eves_channel:
        pair, eve = await duel(channel), await sign_in(eves_channel, "Eve")
        watching = [pair.bo.watch(pair.room) for _ in range(4)]
        for stream in watching:
            await next_message(stream)
        named = rules_pb2.Ruleset(preset="uno", options={"x" * 40_000: rules_pb2.OptionValue()})
        change = Action(change_options=Action.ChangeOptions(ruleset=named))
        for _ in range(4):
            with pytest.raises(grpc.aio.AioRpcError) as refused:
                await eve.act(pair.room, change, 0)
            assert reason_of(refused.value)[0] == "INVALID_FIELD"
            with pytest.raises(grpc.aio.AioRpcError) as unknown:
                await HealthStub(eves_channel).Check(HealthCheckRequest(service="é" * 30_000), timeout=LIMIT_SECONDS)
            assert unknown.value.code() is grpc.StatusCode.NOT_FOUND
        await pair.ana.act(pair.room, maumau.actions.set_ready(True), 0)
        for stream in watching:
            while not (await next_message(stream)).HasField("update"):
                pass
            stream.cancel()


async def test_metadata_bombs_are_refused_and_a_small_call_still_works(stack: Stack) -> None:
    pids = pids_of(stack)
    async with channel_to(stack.address) as channel:
        guest = await sign_in(channel, "Eve")
        bombs = [
            (("x-bomb", "x" * 20_000),),
            (("x-bomb", "x" * 1_000_000),),
            tuple((f"x-bomb-{number}", "x") for number in range(500)),
            (("authorization", "Bearer " + "x" * 7_000),),
            (("x-maumau-room", "x" * 7_000),),
        ]
        for bomb in bombs:
            path = "/maumau.v1.IdentityService/GetPlayer"
            ended = await _send(channel, path, b"", (*guest.metadata(), *bomb))
            assert ended == "OK" or ended.split()[0] in (
                *("RESOURCE_EXHAUSTED", "INTERNAL", "UNKNOWN", "UNAVAILABLE", "UNAUTHENTICATED"),
            ), ended
            assert await guest.create_room(2)
    unharmed(stack, pids)


# Below gRPC.

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RST, SETTINGS, PING, CONTINUATION = 0, 1, 3, 4, 6, 9


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    return struct.pack(">I", len(payload))[1:] + bytes((kind, flags)) + struct.pack(">I", stream) + payload


def _literal(name: bytes, value: bytes) -> bytes:
    return b"\x00" + bytes((len(name),)) + name + bytes((len(value),)) + value


CALL = b"".join(
    _literal(name, value)
    for name, value in (
        (b":method", b"POST"),
        (b":scheme", b"http"),
        (b":path", b"/maumau.v1.MatchmakingService/GetServerInfo"),
        (b":authority", b"cards"),
        (b"content-type", b"application/grpc"),
        (b"te", b"trailers"),
    )
)


def _connect(address: str) -> socket.socket:
    host, _, port = address.rpartition(":")
    opened = socket.create_connection((host, int(port)), timeout=10)
    opened.sendall(PREFACE + frame(SETTINGS, 0, 0))
    return opened


RESETS_A_CONNECTION, RESETS_A_SECOND = 500, 1_000


def passed_on(stack: Stack) -> int:
    """Calls that Envoy has sent to matchmaking."""
    series = 'envoy_cluster_upstream_rq_total{envoy_cluster_name="matchmaking"} '
    lines = stack.metrics("envoy").splitlines()
    return sum(int(line.removeprefix(series)) for line in lines if line.startswith(series))


def rapid_resets(address: str, connections: int) -> int:
    """Makes whole calls and resets each at once. How many of the connections the server has closed for it."""
    resets = [
        frame(HEADERS, 4, stream, CALL) + frame(DATA, 1, stream, bytes(5)) + frame(RST, 0, stream, struct.pack(">I", 8))
        for stream in range(1, 2 * RESETS_A_CONNECTION, 2)
    ]
    closed = 0
    began = time.monotonic()
    for number in range(connections):
        time.sleep(max(0.0, began + number * RESETS_A_CONNECTION / RESETS_A_SECOND - time.monotonic()))
        with _connect(address) as opened:
            try:
                opened.sendall(b"".join(resets))
                while opened.recv(65_536):
                    pass
                closed += 1
            except TimeoutError:
                pass
            except OSError:
                closed += 1
    return closed


async def test_rapid_resets_close_the_connection_and_hurt_nobody(guarded: Stack) -> None:
    pids, connections = pids_of(guarded), scaled(4, 12)
    closed: list[int] = []

    async def attack(_: int) -> None:
        closed.append(await asyncio.to_thread(rapid_resets, guarded.address, connections))

    before = passed_on(guarded)
    expect_at_most(2, await beside(guarded, attack))
    met = (passed_on(guarded) - before) / connections / ROUNDS
    print(f"{met:.0f} of {RESETS_A_CONNECTION} calls of a connection reached a service;", end=" ")
    print(f"{connections * RESETS_A_CONNECTION} resets on {connections} connections a round, closed {closed}")
    assert closed == [connections] * ROUNDS
    assert met <= RESETS_A_CONNECTION / 10
    unharmed(guarded, pids)


def nonsense(address: str) -> None:
    """Bytes that are no HTTP/2, frames out of order, headers without an end, and pings without end."""
    host, _, port = address.rpartition(":")
    rng = random.Random(3)
    beginnings = [
        rng.randbytes(2_000),
        b"GET / HTTP/1.1\r\n" + b"x: y\r\n" * 5_000,
        PREFACE + rng.randbytes(2_000),
        PREFACE + frame(SETTINGS, 0, 0) + frame(CONTINUATION, 4, 1, b"x" * 100),
        PREFACE
        + frame(SETTINGS, 0, 0)
        + frame(HEADERS, 0, 1, CALL)
        + frame(CONTINUATION, 0, 1, b"\x00" * 16_000) * 200,
        PREFACE + frame(SETTINGS, 0, 0) + frame(PING, 0, 0, bytes(8)) * 20_000,
        PREFACE + frame(SETTINGS, 0, 0) * 5_000,
        PREFACE + frame(SETTINGS, 0, 0) + frame(HEADERS, 4, 1, CALL) + frame(0, 0, 1, b"\x00\xff\xff\xff\xff"),
    ]
    for beginning in beginnings:
        with contextlib.suppress(OSError), socket.create_connection((host, int(port)), timeout=5) as opened:
            opened.sendall(beginning)
            opened.settimeout(0.2)
            opened.recv(100_000)


async def test_nonsense_below_grpc_hurts_nobody(guarded: Stack) -> None:
    """The processes' own ports, which nobody but Envoy should reach, stand it as well; megabytes of pings or headers
    hold one up for a tenth of a second there."""
    pids, before = pids_of(guarded), memory_kb(guarded)

    async def attack(_: int) -> None:
        await asyncio.to_thread(nonsense, guarded.address)

    met = await beside(guarded, attack)
    for process in guarded.processes:
        await asyncio.to_thread(nonsense, process.address)
    async with channel_to(guarded.address) as channel:
        assert await (await sign_in(channel, "Late")).create_room(2)
    unharmed(guarded, pids)
    assert all(memory_kb(guarded)[name] - kb < 60_000 for name, kb in before.items())
    expect_at_most(2, met)


async def test_half_open_connections_keep_nobody_out(guarded: Stack) -> None:
    pids = pids_of(guarded)
    opened: list[socket.socket] = []

    async def attack(_: int) -> None:
        host, port = guarded.address.rsplit(":", 1)
        for number in range(scaled(200, 2_000) // ROUNDS):
            opened.append(socket.create_connection((host, int(port)), timeout=10))
            if number % 2:
                opened[-1].sendall(PREFACE + frame(SETTINGS, 0, 0) + frame(HEADERS, 4, 1, CALL))
            await asyncio.sleep(0.005)

    try:
        expect_at_most(2, await beside(guarded, attack))
        async with channel_to(guarded.address) as channel:
            assert await (await sign_in(channel, "Late")).create_room(2)
    finally:
        for each in opened:
            each.close()
    unharmed(guarded, pids)


HAMMERED_A_SECOND = 1_000


async def test_a_player_far_above_the_limits_does_not_hurt_a_match_beside(guarded: Stack) -> None:
    """Who floods is a process of its own that stands behind all others (nice 19), so that what is measured is what the
    server does for the flood, not what making its calls costs the two cores that both have here."""
    outcomes: Counter[str] = Counter()
    async with flooder(guarded.address) as flood:

        async def attack(_: int) -> None:
            outcomes.update(await flood(scaled(2, 4)))

        expect_at_most(1.2, await beside(guarded, attack))
    print(f"beside a match: {dict(outcomes)}")
    assert set(outcomes) == {"OK", "RATE_LIMITED"}


async def test_hammered_health_checks_and_reflection_do_not_hurt_a_match_beside(guarded: Stack) -> None:
    outcomes: Counter[str] = Counter()
    check = "/grpc.health.v1.Health/Check", b""
    describe = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", b"\x3a\x00"
    async with channel_to(guarded.address) as channel:
        raw_calls: Any = channel

        async def one(number: int) -> None:
            path, raw = describe if number % 10 == 0 else check
            try:
                if path == check[0]:
                    await raw_calls.unary_unary(path)(raw, timeout=2 * LIMIT_SECONDS)
                else:
                    await raw_calls.stream_stream(path)(iter([raw]), timeout=2 * LIMIT_SECONDS).read()
                outcomes["OK"] += 1
            except grpc.aio.AioRpcError as error:
                outcomes[reason_of(error)[0] or repr(error)] += 1

        async def attack(_: int) -> None:
            await evenly(one, HAMMERED_A_SECOND, scaled(1, 4))

        expect_at_most(2, await beside(guarded, attack))
    print(f"health and reflection: {dict(outcomes)}")
    assert set(outcomes) == {"OK", "RATE_LIMITED"}


def test_every_message_of_the_contract_can_be_fuzzed() -> None:
    """The fuzzer knows every kind of request there is."""
    rng = random.Random(1)
    for path, method in METHODS.items():
        filled = [_filled(rng, method.input_type, "r_1").SerializeToString() for _ in range(50)]
        assert any(filled) or not method.input_type.fields, path


async def test_seats_asked_for_in_rooms_that_do_not_exist_come_on_no_list(stack: Stack) -> None:
    """A list of a million made-up rooms would be read at once by a single `ListMyRooms`."""
    async with channel_to(stack.address) as channel, Store(StoreSettings(url=stack.redis_url)) as store:
        eve = await sign_in(channel, "Eve")
        for number in range(5):
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await eve.act(f"r_made_up_{number}", maumau.actions.take_seat(), 0)
            assert reason_of(caught.value)[0] == "ROOM_NOT_FOUND"
        assert await store.rooms.player_rooms(PlayerId(eve.id)) == []
        room = await eve.create_room(2)
        assert await store.rooms.player_rooms(PlayerId(eve.id)) == [room]
