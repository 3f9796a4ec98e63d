"""Limits over three processes: what is let through is the limit, what is refused says when to come back, codes cannot
be guessed, and nobody can pretend to be somebody else."""

from __future__ import annotations

import asyncio
import os
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import grpc
import maumau
import pytest
from google.rpc import error_details_pb2
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from grpc_status import rpc_status
from maumau.v1 import authority_pb2, identity_pb2, identity_pb2_grpc, matchmaking_pb2, matchmaking_pb2_grpc, rules_pb2
from maumau.v1.actions_pb2 import Action
from maumau.v1.authority_pb2_grpc import GameAuthorityServiceStub
from structlog.testing import capture_logs

from services.local.stack import Stack
from services.runtime.addresses import ClientAddresses
from services.runtime.limits import ACT, CODE, LIMITS, SIGN_IN, STREAM, Limits, read_rate
from services.runtime.settings import Settings
from services.store.assembly import Store
from services.store.connect import StoreSettings
from services.store.errors import OutOfMemory, StoreUnavailable
from services.store.limits import LimitStore
from services.wire.errors import Refusal
from tests.e2e.calls import Guest, channel_to, next_message, reason_of, sign_in
from tests.e2e.eventually import eventually
from tests.e2e.stacks import options
from tests.faults.meters import watching
from tests.security.length import scaled
from tests.services.rig import Rig, refused
from tests.services.rig import sign_in as sign_in_at

RATE, BURST = 20, 20
LIMITED = ("sign_in", "read", "create", "code_address", "tool")
TIMES_OVER = 10
PROCESSES = 3
OF_A_PLAYER, OF_AN_ADDRESS = 3, 5
CREATED = "1/min burst 10"


def wait_of(error: grpc.aio.AioRpcError) -> float:
    """Seconds that a refusal asks to wait; fails where it does not say."""
    status = rpc_status.from_call(error)
    assert status is not None
    for detail in status.details:
        if detail.Is(error_details_pb2.RetryInfo.DESCRIPTOR):
            retry = error_details_pb2.RetryInfo.FromString(detail.value)
            return float(retry.retry_delay.ToTimedelta().total_seconds())
    raise AssertionError("a refusal for a limit without RetryInfo")


async def outcome(call: Awaitable[Any]) -> str:
    """OK or the reason of the refusal."""
    try:
        await call
    except grpc.aio.AioRpcError as error:
        reason = reason_of(error)[0]
        if reason == "RATE_LIMITED" and wait_of(error) <= 0:
            return "a wait that is none"
        return reason
    return "OK"


class Spell(NamedTuple):
    """The moments of a flood, in seconds: its first call, and each answer in order. More of them if all is slow."""

    began: float
    answers: list[float]

    @property
    def lasted(self) -> float:
        """From the first call to the last answer."""
        return self.answers[-1] - self.began


async def flood(make: Callable[[int], Awaitable[Any]], seconds: float) -> tuple[Counter[str], Spell]:
    """Ten times as many calls as allowed, evenly, once every process has answered one; how they ended, and when."""
    outcomes, spell = Counter[str](), Spell(time.monotonic(), [])

    async def one(number: int) -> None:
        outcomes[await outcome(make(number))] += 1
        spell.answers.append(time.monotonic())

    for number in range(PROCESSES):
        await one(number)
    began = time.monotonic()
    async with asyncio.TaskGroup() as calls:
        for number in range(round(RATE * TIMES_OVER * seconds)):
            await asyncio.sleep(max(0.0, began + number / (RATE * TIMES_OVER) - time.monotonic()))
            calls.create_task(one(PROCESSES + number))
    return outcomes, spell


def at_least(spell: Spell) -> float:
    """What one bucket lets through that is asked when the answers came: nothing is gained while nobody asks."""
    passed, full, before = 0, float(BURST), spell.began
    for answered in spell.answers:
        full, before = min(BURST, full + RATE * (answered - before)), answered
        if full >= 1:
            passed, full = passed + 1, full - 1
    return 0.95 * passed


def at_most(spell: Spell) -> float:
    return 1.05 * (BURST + RATE * spell.lasted)


def expect_the_limit(outcomes: Counter[str], spell: Spell, ahead: int = 0) -> None:
    """`ahead`: what processes that charge afterwards may let through too early when the machine is slow."""
    low, high = at_least(spell), at_most(spell) + ahead
    print(f"let through {outcomes['OK']} of {outcomes.total()}; {low:.0f} to {high:.0f} may be")
    assert low <= outcomes["OK"] <= high


@pytest.fixture(scope="module")
def limited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """Three authorities, and a limit for each class."""
    environ = {"MAUMAU_RATE_LIMITS": "true", "MAUMAU_LIMIT_ACT": f"{RATE}/s burst {BURST}"}
    environ["MAUMAU_LIMIT_SIGN_IN"] = f"{RATE}/s burst {BURST}"
    environ["MAUMAU_LIMIT_CREATE"] = CREATED
    environ |= {"MAUMAU_PLAYER_STREAMS": str(OF_A_PLAYER), "MAUMAU_ADDRESS_STREAMS": str(OF_AN_ADDRESS)}
    with Stack(options(tmp_path_factory.mktemp("stack"), authorities=PROCESSES, environ=environ)) as stack:
        yield stack


@pytest.fixture
async def edge(limited: Stack) -> AsyncIterator[grpc.aio.Channel]:
    async with channel_to(limited.address) as channel:
        yield channel


async def patient_sign_in(channel: grpc.aio.Channel, name: str) -> Guest:
    """Signs in, waiting as long as asked."""
    while True:
        try:
            return await sign_in(channel, name)
        except grpc.aio.AioRpcError as error:
            await asyncio.sleep(wait_of(error))


async def test_one_player_acts_at_three_processes_within_one_limit(limited: Stack, edge: grpc.aio.Channel) -> None:
    ana = await patient_sign_in(edge, "Ana")
    room = await ana.create_room(2)
    channels = [grpc.aio.insecure_channel(address) for address in limited.addresses("game-authority")]
    stubs = [GameAuthorityServiceStub(channel) for channel in channels]

    def act(number: int) -> Awaitable[Any]:
        ready = maumau.actions.set_ready(number % 2 == 0)
        return ana.act(room, ready, 0, at=stubs[number % PROCESSES], request_id=os.urandom(16))

    outcomes, spell = await flood(act, scaled(5, 30))
    assert outcomes["RATE_LIMITED"] + outcomes["OK"] == sum(outcomes.values()), outcomes
    expect_the_limit(outcomes, spell, ahead=BURST)
    for channel in channels:
        await channel.close()


async def test_actions_beside_the_game_have_the_limit_of_rooms_and_seats_so_that_nobody_ends_a_match_by_versions(
    edge: grpc.aio.Channel,
) -> None:
    ana = await patient_sign_in(edge, "Ana")
    room = await ana.create_room(2)
    for _ in range(9):
        await ana.act(room, Action(rotate_invite=Action.RotateInvite()), 0)
    for beside in (Action(rotate_invite=Action.RotateInvite()), Action(leave_seat=Action.LeaveSeat())):
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await ana.act(room, beside, 0)
        reason, metadata = reason_of(refused.value)
        assert (reason, metadata["limit"]) == ("RATE_LIMITED", f"create: {CREATED}")
    await ana.act(room, maumau.actions.set_ready(True), 0)


async def test_acts_on_a_stream_are_limited_like_others(edge: grpc.aio.Channel) -> None:
    ana = await patient_sign_in(edge, "Ana")
    room = await ana.create_room(2)
    call: Any = await ana.play(room)
    limited_ones: list[Any] = []
    while not limited_ones:  # a machine so slow that it does no more than it may is asked again
        began = time.monotonic()
        for number in range(5 * BURST):
            act = {"request_id": os.urandom(16), "version": 0, "action": maumau.actions.set_ready(number % 2 == 0)}
            await call.write(_play_request(act))
        answers = await _answers(call, 5 * BURST)
        limited_ones = [answer.refusal for answer in answers if answer.refusal.reason == "RATE_LIMITED"]
        assert len(answers) - len(limited_ones) <= 1.05 * (BURST + RATE * (time.monotonic() - began))
    assert all(refusal.retry_after_milliseconds > 0 for refusal in limited_ones)
    assert all(refusal.metadata["limit"] == f"act: {RATE}/s burst {BURST}" for refusal in limited_ones)
    call.cancel()


async def _answers(call: Any, number: int) -> list[Any]:
    answers: list[Any] = []
    while len(answers) < number:
        message = await next_message(call)
        if message.HasField("answer"):
            answers.append(message.answer)
    return answers


async def test_open_streams_of_a_player_and_of_an_address_are_limited_until_others_end(
    limited: Stack, edge: grpc.aio.Channel
) -> None:
    async with channel_to(limited.addresses("game-authority")[0]) as channel:
        guests = [await patient_sign_in(edge, name) for name in ("Ana", "Bo", "Cy")]
        rooms = {guest: await guest.create_room(2) for guest in guests}
        at = GameAuthorityServiceStub(channel)
        opened: list[Any] = []
        await eventually(lambda: watching(limited, "game-authority-1") == 0, "streams of other tests have ended")

        async def watch(guest: Guest) -> None:
            opened.append(guest.watch(rooms[guest], at=at))
            await opened[-1].read()

        async def refusal(guest: Guest) -> str:
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await watch(guest)
            assert wait_of(caught.value) > 0
            return f"{reason_of(caught.value)[0]}, {reason_of(caught.value)[1]['limit']}"

        ana, bo, cy = guests
        for guest in [ana] * OF_A_PLAYER + [bo] * (OF_AN_ADDRESS - OF_A_PLAYER):
            await watch(guest)
        assert await refusal(ana) == f"RATE_LIMITED, open streams of one address: {OF_AN_ADDRESS}"
        opened[-2].cancel()  # of Bo; that it has ended shows at the process a moment later
        await eventually(lambda: watching(limited, "game-authority-1") == OF_AN_ADDRESS - 1, "a stream has ended")
        assert await refusal(ana) == f"RATE_LIMITED, open streams of one player: {OF_A_PLAYER}"
        await watch(cy)
        assert await refusal(bo) == f"RATE_LIMITED, open streams of one address: {OF_AN_ADDRESS}"


def _play_request(act: dict[str, Any]) -> Any:
    return authority_pb2.PlayRequest(act=authority_pb2.PlayRequest.Act(**act))


@pytest.fixture
async def three(rig: Rig) -> list[grpc.aio.Channel]:
    """Three matchmaking processes with limits."""
    limits = {f"limit_{name}": f"{RATE}/s burst {BURST}" for name in LIMITED}
    rig.settings = rig.settings.model_copy(update={"rate_limits": True, **limits})
    await rig.authority()
    return [await rig.matchmaking() for _ in range(PROCESSES)]


async def test_one_client_makes_guests_at_three_processes_within_one_limit(three: list[grpc.aio.Channel]) -> None:
    stubs = [identity_pb2_grpc.IdentityServiceStub(channel) for channel in three]

    def make(number: int) -> Awaitable[Any]:
        return stubs[number % PROCESSES].SignInAsGuest(identity_pb2.SignInAsGuestRequest(), timeout=10)

    outcomes, spell = await flood(make, scaled(4, 30))
    assert set(outcomes) == {"OK", "RATE_LIMITED"}
    expect_the_limit(outcomes, spell)


async def test_health_checks_of_one_client_at_three_processes_are_within_one_limit(
    three: list[grpc.aio.Channel],
) -> None:
    stubs = [health_pb2_grpc.HealthStub(channel) for channel in three]

    async def check(number: int) -> Any:
        return await stubs[number % PROCESSES].Check(health_pb2.HealthCheckRequest(), timeout=10)

    outcomes, spell = await flood(check, scaled(4, 30))
    assert set(outcomes) == {"OK", "RATE_LIMITED"}
    expect_the_limit(outcomes, spell)


async def test_each_question_on_a_stream_of_reflection_counts(three: list[grpc.aio.Channel]) -> None:
    call: Any = reflection_pb2_grpc.ServerReflectionStub(three[0]).ServerReflectionInfo()

    async def ask() -> None:
        await call.write(reflection_pb2.ServerReflectionRequest(list_services=""))
        assert (await call.read()).HasField("list_services_response")

    async def ask_on() -> None:
        while True:
            await ask()

    await ask()
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await ask_on()
    assert reason_of(caught.value)[0] == "RATE_LIMITED"
    assert wait_of(caught.value) > 0


async def test_probes_of_the_internal_port_and_a_process_that_stops_are_not_limited(
    rig: Rig, three: list[grpc.aio.Channel]
) -> None:
    process, alive = rig.runtimes[-1], health_pb2.HealthCheckRequest(service="liveness")
    async with grpc.aio.insecure_channel(f"127.0.0.1:{process.internal.number}") as channel:
        probe = health_pb2_grpc.HealthStub(channel)
        answers = [await probe.Check(alive, timeout=10) for _ in range(5 * BURST)]
    assert {answer.status for answer in answers} == {health_pb2.HealthCheckResponse.SERVING}
    process.public.refuse_new_calls()
    answer = await health_pb2_grpc.HealthStub(three[-1]).Check(alive, timeout=10)
    assert answer.status == health_pb2.HealthCheckResponse.SERVING, "it says so itself, whatever else it refuses"


async def test_many_guests_of_one_client_try_codes_within_one_limit(three: list[grpc.aio.Channel]) -> None:
    guests = [await sign_in_at(three[0]) for _ in range(BURST)]
    stubs = [matchmaking_pb2_grpc.MatchmakingServiceStub(channel) for channel in three]

    def guess(number: int) -> Awaitable[Any]:
        request = matchmaking_pb2.JoinRoomRequest(invite_code=f"{number:010}")
        metadata = guests[number % len(guests)].metadata
        return stubs[number % PROCESSES].JoinRoom(request, metadata=metadata, timeout=10)

    outcomes, spell = await flood(guess, scaled(4, 30))
    assert set(outcomes) <= {"ROOM_NOT_FOUND", "RATE_LIMITED"}
    assert outcomes["ROOM_NOT_FOUND"] <= at_most(spell)


@pytest.mark.parametrize("shared", [True, False], ids=["asked each time", "charged afterwards"])
async def test_who_waits_as_long_as_asked_is_let_through_and_not_much_earlier(rig: Rig, shared: bool) -> None:
    rate = "1/s burst 5"
    rig.settings = rig.settings.model_copy(update={"rate_limits": True, "limit_create": rate, "limit_read": rate})
    channel = await rig.matchmaking()
    ana, identity = await sign_in_at(channel), identity_pb2_grpc.IdentityServiceStub(channel)

    def call() -> Awaitable[Any]:
        if shared:
            return identity.SetDisplayName(
                identity_pb2.SetDisplayNameRequest(display_name="Ana"), metadata=ana.metadata
            )
        return identity.GetPlayer(identity_pb2.GetPlayerRequest(), metadata=ana.metadata)

    for _ in range(3):
        while await outcome(call()) == "OK":
            pass
        await asyncio.gather(*(task for task in asyncio.all_tasks() if "Limits._tell" in repr(task.get_coro())))
        sent = time.monotonic()
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await call()
        asked, answered = wait_of(caught.value), time.monotonic()
        waited, tried = 0.0, answered
        while await outcome(call()) != "OK":
            waited, tried = tried - answered, time.monotonic()
        assert waited <= 1.1 * asked + 0.03, "who had waited so long was refused"
        assert time.monotonic() - sent >= 0.9 * asked - 0.03


# Invite codes.


async def test_no_guess_hits_one_of_a_thousand_live_codes(rig: Rig) -> None:
    """Limits are off here: what protects the codes is that there are 2^50."""
    await rig.authority()
    channels = [await rig.matchmaking() for _ in range(2)]
    stubs = [matchmaking_pb2_grpc.MatchmakingServiceStub(channel) for channel in channels]
    ana = await sign_in_at(channels[0])
    live = scaled(50, 1_000)
    codes = set()
    for _ in range(live):
        request = matchmaking_pb2.CreateRoomRequest(ruleset=rules_pb2.Ruleset(preset="uno"), request_id=os.urandom(16))
        codes.add((await stubs[0].CreateRoom(request, metadata=ana.metadata)).invite_code)
    assert len(codes) == live
    assert (
        await outcome(stubs[1].JoinRoom(matchmaking_pb2.JoinRoomRequest(invite_code=min(codes)), metadata=ana.metadata))
        == "OK"
    )

    async def guesses(turn: int, number: int) -> Counter[str]:
        found: Counter[str] = Counter()
        for _ in range(number):
            code = int.from_bytes(os.urandom(7), "big") >> 6
            text = "".join("0123456789ABCDEFGHJKMNPQRSTVWXYZ"[code >> shift & 31] for shift in range(45, -1, -5))
            request = matchmaking_pb2.JoinRoomRequest(invite_code=text)
            found[await outcome(stubs[turn % 2].JoinRoom(request, metadata=ana.metadata, timeout=10))] += 1
        return found

    total = scaled(2_000, 100_000)
    found = sum(await asyncio.gather(*(guesses(turn, total // 16) for turn in range(16))), Counter())
    print(f"{sum(found.values())} guesses at {live} live codes: {dict(found)}")
    assert set(found) == {"ROOM_NOT_FOUND"}


async def test_codes_that_are_wrong_withdrawn_and_no_codes_cost_the_same(rig: Rig) -> None:
    rig.settings = rig.settings.model_copy(update={"rate_limits": True, "limit_code": "1/h burst 3"})
    await rig.authority()
    channel = await rig.matchmaking()
    ana, stub = await sign_in_at(channel), matchmaking_pb2_grpc.MatchmakingServiceStub(channel)
    made = await stub.CreateRoom(
        matchmaking_pb2.CreateRoomRequest(ruleset=rules_pb2.Ruleset(preset="uno"), request_id=os.urandom(16)),
        metadata=ana.metadata,
    )
    for code in ("0000000000", "no code", ""):
        call = stub.JoinRoom(matchmaking_pb2.JoinRoomRequest(invite_code=code), metadata=ana.metadata)
        assert (await refused(call))[1] == "ROOM_NOT_FOUND"
    call = stub.JoinRoom(matchmaking_pb2.JoinRoomRequest(invite_code=made.invite_code), metadata=ana.metadata)
    assert (await refused(call))[1] == "RATE_LIMITED", "also for the right one: no way to tell"


# Who is calling from where.


async def test_a_forged_forwarding_header_makes_nobody_somebody_else(limited: Stack, edge: grpc.aio.Channel) -> None:
    stub = identity_pb2_grpc.IdentityServiceStub(edge)

    def make(number: int) -> Awaitable[Any]:
        forged = (
            ("x-forwarded-for", f"198.51.100.{number % 250}"),
            ("x-envoy-external-address", f"198.51.100.{number}"),
        )
        return stub.SignInAsGuest(identity_pb2.SignInAsGuestRequest(), metadata=forged, timeout=10)

    outcomes, spell = await flood(make, 3)
    assert set(outcomes) == {"OK", "RATE_LIMITED"}
    assert outcomes["OK"] <= at_most(spell)


ADDRESSES: list[tuple[str, list[str], str]] = [
    ("ipv4:203.0.113.7:5000", [], "203.0.113.7"),
    ("ipv4:203.0.113.7:5000", ["198.51.100.1"], "203.0.113.7"),
    ("ipv4:127.0.0.1:5000", [], "127.0.0.1"),
    ("ipv4:127.0.0.1:5000", ["198.51.100.1"], "198.51.100.1"),
    ("ipv4:127.0.0.1:5000", ["1.2.3.4, 198.51.100.1"], "198.51.100.1"),
    ("ipv4:127.0.0.1:5000", ["1.2.3.4", "5.6.7.8,198.51.100.1"], "198.51.100.1"),
    ("ipv4:127.0.0.1:5000", ["nonsense"], "127.0.0.1"),
    ("ipv6:%5B::1%5D:5000", ["2001:db8:1:2:3:4:5:6"], "2001:db8:1:2::/64"),
    ("ipv6:[2001:db8:1:2::9]:5000", [], "2001:db8:1:2::/64"),
    ("ipv6:[::ffff:203.0.113.7]:5000", [], "203.0.113.7"),
    ("unix:/tmp/socket", ["198.51.100.1"], "unknown"),
    ("", [], "unknown"),
]


@pytest.mark.parametrize(("peer", "headers", "address"), ADDRESSES)
def test_only_the_entry_that_a_trusted_proxy_wrote_is_believed(peer: str, headers: list[str], address: str) -> None:
    assert ClientAddresses(Settings()).of(_context(peer, headers)) == address


def test_behind_two_proxies_the_first_ones_entry_counts() -> None:
    addresses = ClientAddresses(Settings(trusted_hops=2))
    assert addresses.of(_context("ipv4:127.0.0.1:1", ["1.2.3.4, 198.51.100.1, 192.0.2.9"])) == "198.51.100.1"


def _context(peer: str, headers: list[str]) -> Any:
    metadata = tuple(("x-forwarded-for", value) for value in headers)
    return SimpleNamespace(peer=lambda: peer, invocation_metadata=lambda: metadata)


# What limits cost, and what they do without Redis.


class CountedStore(LimitStore):
    """Counts how often Redis is asked."""

    asked = 0

    async def charge(self, *args: Any, **named: Any) -> Any:
        self.asked += 1
        return await super().charge(*args, **named)


@pytest.fixture
async def store(rig: Rig) -> AsyncIterator[Store]:
    async with Store(StoreSettings(url=rig.settings.redis_url, prefix=rig.settings.redis_prefix)) as opened:
        yield opened


@pytest.mark.parametrize("limit", LIMITS, ids=lambda limit: limit.name)
async def test_a_flood_is_refused_without_asking_redis(store: Store, limit: Any) -> None:
    counted = CountedStore(store.pipelines)
    settings = Settings().model_copy(update={f"limit_{limit.name}": "1/min burst 20"})
    limits = Limits(settings, counted)
    refusals = 0
    for _ in range(2_000):
        try:
            await limits.charge(limit)
        except Refusal:
            refusals += 1
    assert refusals == 1_980
    assert counted.asked <= 20


class LostStore(LimitStore):
    def __init__(self, store: Store, fault: Exception) -> None:
        super().__init__(store.pipelines)
        self.fault = fault

    async def charge(self, *args: Any, **named: Any) -> Any:
        raise self.fault


@pytest.mark.parametrize("fault", [StoreUnavailable("away", maybe_applied=False), OutOfMemory("full")], ids=str)
async def test_without_redis_or_with_a_full_one_acts_are_limited_by_each_process_and_guesses_refused(
    store: Store, fault: Exception
) -> None:
    rates = {"limit_act": "1/min burst 5", "limit_stream": "1/min burst 5"}
    limits = Limits(Settings().model_copy(update=rates), LostStore(store, fault))
    for limit in (ACT, STREAM):
        for _ in range(5):
            await limits.charge(limit)
        with pytest.raises(Refusal, match="RATE_LIMITED"):
            await limits.charge(limit)
    for guess in (CODE, SIGN_IN):
        with pytest.raises(type(fault)):
            await limits.charge(guess)


@pytest.mark.parametrize("text", ["20 burst 5", "20/s", "20/day burst 5", "20/s burst 0", "0/s burst 5", "x/s burst 5"])
def test_a_rate_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"burst|convert"):
        read_rate(text)


async def test_bad_tokens_are_limited_per_address_and_good_ones_are_not(rig: Rig, tmp_path: Path) -> None:
    rig.settings = rig.settings.model_copy(update={"rate_limits": True, "limit_bad_token": "1/h burst 5"})
    channel = await rig.matchmaking()
    ana, identity = await sign_in_at(channel), identity_pb2_grpc.IdentityServiceStub(channel)
    bad = (("authorization", "Bearer nonsense"),)
    with capture_logs() as told:
        calls = [await refused(identity.GetPlayer(identity_pb2.GetPlayerRequest(), metadata=bad)) for _ in range(8)]
    assert [reason for _, reason, _ in calls] == ["BAD_TOKEN"] * 5 + ["RATE_LIMITED"] * 3
    lines = [line for line in told if line["event"] == "call" and line["log_level"] != "debug"]
    assert [line["reason"] for line in lines] == ["BAD_TOKEN"] * 5, "a flood fills no log"
    assert await identity.GetPlayer(identity_pb2.GetPlayerRequest(), metadata=ana.metadata)
