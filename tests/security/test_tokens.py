"""No forged, foreign, replayed or outdated token is taken, by any RPC of the contract; keys rotate under load."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc
import jwt
import pytest
from maumau.v1 import authority_pb2, identity_pb2

from services.local.stack import Stack
from services.runtime.key_folder import SESSION_KEYS
from services.runtime.key_rotation import SPREAD_SECONDS, KeyRotation
from services.runtime.policy import POLICY, Access
from tests.e2e.calls import Guest, channel_to, reason_of, sign_in
from tests.e2e.eventually import eventually
from tests.e2e.stacks import options
from tests.security.forging import FORGERIES, Workshop
from tests.services.world import IDENTITY, METHODS, Caller, Refused, World

GUARDED = [path for path in METHODS if POLICY[path] is Access.PLAYER]


@pytest.fixture(scope="module")
def shop(stack: Stack, world: World) -> Workshop:
    answer = Caller(world.channel).call(IDENTITY + "SignInAsGuest", identity_pb2.SignInAsGuestRequest())
    return Workshop(stack.var_dir / "keys", answer.session.token, answer.session.refresh_token)


def test_there_are_forty_forgeries() -> None:
    assert len(FORGERIES) >= 40


@pytest.mark.parametrize("forgery", FORGERIES)
def test_no_rpc_takes_a_forged_token(world: World, shop: Workshop, forgery: str) -> None:
    token = FORGERIES[forgery](shop)
    for path in GUARDED:
        with pytest.raises(grpc.RpcError) as caught:
            Caller(world.channel, token).call(path, b"")
        refused = Refused(caught.value)
        assert refused.code is grpc.StatusCode.UNAUTHENTICATED, path
        expected = "TOKEN_EXPIRED" if forgery.startswith("over ") else "BAD_TOKEN"
        assert refused.reason == expected, path


@pytest.mark.parametrize("path", GUARDED)
def test_the_untouched_token_is_taken_by_every_rpc(world: World, shop: Workshop, path: str) -> None:
    """The control of the forgeries."""
    if path.endswith("SignOut"):
        return
    assert _code(lambda: Caller(world.channel, shop.signed()).call(path, b"")) is not grpc.StatusCode.UNAUTHENTICATED


def _code(call: Callable[[], Any]) -> grpc.StatusCode:
    try:
        call()
    except grpc.RpcError as error:
        return Refused(error).code
    return grpc.StatusCode.OK


def test_two_credentials_at_once_are_none(world: World, shop: Workshop) -> None:
    stub: Any = world.channel
    twice = (("authorization", f"Bearer {shop.good}"), ("authorization", f"Bearer {shop.good}"))
    with pytest.raises(grpc.RpcError) as caught:
        stub.unary_unary(IDENTITY + "GetPlayer")(b"", metadata=twice, timeout=10)
    assert Refused(caught.value).reason == "BAD_TOKEN"


async def _reads(guest: Guest, enough: asyncio.Event, failures: list[str], counted: list[int]) -> None:
    """Reads, as fast as it gets answers."""
    while not enough.is_set():
        try:
            await guest.rooms.ListMyRooms(authority_pb2.ListMyRoomsRequest(), metadata=guest.metadata(), timeout=10)
            counted.append(1)
        except grpc.aio.AioRpcError as error:
            failures.append(f"{error.code()}: {error.details()}")


async def test_keys_rotate_under_load_without_a_failed_call(tmp_path: Path) -> None:
    with Stack(options(tmp_path)) as stack:
        folder = stack.keys_dir / SESSION_KEYS
        failures: list[str] = []
        counted: list[int] = []
        async with channel_to(stack.address) as channel:

            async def newcomer_with(kid: str) -> bool:
                guest = await sign_in(channel, "New")
                await guest.rooms.ListMyRooms(authority_pb2.ListMyRoomsRequest(), metadata=guest.metadata())
                return bool(jwt.get_unverified_header(guest.token)["kid"] == kid)

            old = [await sign_in(channel, f"Old {number}") for number in range(4)]
            enough = asyncio.Event()
            load = [asyncio.create_task(_reads(guest, enough, failures, counted)) for guest in old]
            rotation = KeyRotation(stack.keys_dir)
            kid, private = rotation.publish()
            await asyncio.sleep(SPREAD_SECONDS)
            await eventually(lambda: len(counted) > 100, "the old tokens are read with")
            rotation.sign_with(kid, private)
            await eventually(lambda: newcomer_with(kid), "tokens under the new key")
            until_then = len(counted)
            await eventually(lambda: len(counted) > until_then + 100, "the old tokens are read with on")
            enough.set()
            await asyncio.gather(*load)
            assert failures == []
            (folder / "1.pem").unlink()
            outdated = old[0]

            async def refused() -> bool:
                try:
                    await outdated.rooms.ListMyRooms(
                        authority_pb2.ListMyRoomsRequest(), metadata=outdated.metadata(), timeout=10
                    )
                except grpc.aio.AioRpcError as error:
                    return error.code() is grpc.StatusCode.UNAUTHENTICATED
                return False

            await eventually(refused, "tokens under the withdrawn key are refused")
            assert await newcomer_with(kid)


async def test_a_stream_that_is_refused_at_once_tells_its_reason_to_a_client_that_opens_it(stack: Stack) -> None:
    """grpc.aio reports INTERNAL where a write meets the end of its call, so the server takes the opening message
    before it refuses."""

    async def refused(channel: grpc.aio.Channel) -> str:
        bad = (("authorization", "Bearer bad"),)
        play: Any = channel.stream_stream("/maumau.v1.GameAuthorityService/Play")
        call = play(iter([b""]), metadata=bad, timeout=20)
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await call.read()
        return reason_of(caught.value)[0]

    async with channel_to(stack.address) as channel:
        reasons = [reason for _ in range(20) for reason in await asyncio.gather(*(refused(channel) for _ in range(30)))]
    assert set(reasons) <= {"BAD_TOKEN", "RATE_LIMITED"}
