"""TLS for clients and mutual TLS between services, by configuration, with certificates made here."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from maumau.internal.v1 import room_control_pb2
from maumau.internal.v1.room_control_pb2_grpc import RoomControlServiceStub
from maumau.v1 import matchmaking_pb2
from maumau.v1.matchmaking_pb2_grpc import MatchmakingServiceStub

from services.local.stack import Stack
from services.runtime.auth import service_credential
from services.runtime.settings import Settings
from tests.e2e.calls import LIMIT_SECONDS, Guest, sign_in
from tests.e2e.stacks import complaints, options
from tests.maumauctl.running import Command
from tests.security.certificates import Authority
from tests.services.rig import refused

OURS, THEIRS = Authority("ours"), Authority("theirs")


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tls")
    OURS.issue(folder / "public")
    OURS.issue(folder / "internal")
    THEIRS.issue(folder / "stranger")
    return folder


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory, folders: Path) -> Iterator[Stack]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MAUMAU_PUBLIC_TLS_DIR", str(folders / "public"))
        patch.setenv("MAUMAU_INTERNAL_TLS_DIR", str(folders / "internal"))
        with Stack(options(tmp_path_factory.mktemp("stack"), authorities=1)) as running:
            yield running
            assert [line for line in complaints(running) if "Handshake failed" not in line] == []


async def test_a_client_plays_over_tls_while_the_services_speak_mutual_tls(stack: Stack) -> None:
    async with grpc.aio.secure_channel(stack.address, grpc.ssl_channel_credentials(OURS.pem)) as channel:
        ana: Guest = await sign_in(channel, "Ana")
        room = await ana.create_room(2)  # matchmaking asks the authority for it
        assert (await ana.get_room(room)).room.version == 1
        stream: Any = ana.watch(room)
        assert (await stream.read()).HasField("snapshot")
        stream.cancel()


async def test_a_client_that_trusts_another_authority_does_not_talk_to_this_server(stack: Stack) -> None:
    async with grpc.aio.secure_channel(stack.address, grpc.ssl_channel_credentials(THEIRS.pem)) as channel:
        assert await _failure(channel) is grpc.StatusCode.UNAVAILABLE


async def test_nobody_is_served_without_tls(stack: Stack) -> None:
    for address in (stack.address, _internal(stack)):
        async with grpc.aio.insecure_channel(address) as channel:
            assert await _failure(channel) is grpc.StatusCode.UNAVAILABLE


async def _failure(channel: grpc.aio.Channel) -> grpc.StatusCode:
    """How a call fails that anybody may make."""
    call = MatchmakingServiceStub(channel).GetServerInfo(matchmaking_pb2.GetServerInfoRequest(), timeout=LIMIT_SECONDS)
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    return caught.value.code()


def _internal(stack: Stack) -> str:
    return f"127.0.0.1:{stack.process('game-authority-1').internal_port}"


def _credentials(folder: Path | None) -> grpc.ChannelCredentials:
    if folder is None:
        return grpc.ssl_channel_credentials(OURS.pem)
    return grpc.ssl_channel_credentials(OURS.pem, (folder / "tls.key").read_bytes(), (folder / "tls.crt").read_bytes())


@pytest.mark.parametrize("certificate", [None, "stranger"])
async def test_the_internal_port_takes_only_certificates_of_its_authority_even_with_the_secret(
    stack: Stack, folders: Path, certificate: str | None
) -> None:
    shown = service_credential(Settings(keys_dir=stack.var_dir / "keys"))
    credentials = _credentials(None if certificate is None else folders / certificate)
    async with grpc.aio.secure_channel(_internal(stack), credentials) as channel:
        call = RoomControlServiceStub(channel).GetRoomSummary(
            room_control_pb2.GetRoomSummaryRequest(room_id="r_1"), metadata=(shown,), timeout=LIMIT_SECONDS
        )
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await call
        assert caught.value.code() is grpc.StatusCode.UNAVAILABLE


async def test_a_certificate_without_the_secret_is_not_enough(stack: Stack, folders: Path) -> None:
    async with grpc.aio.secure_channel(_internal(stack), _credentials(folders / "internal")) as channel:
        request = room_control_pb2.GetRoomSummaryRequest(room_id="r_1")
        stub = RoomControlServiceStub(channel)
        assert (await refused(stub.GetRoomSummary(request, timeout=LIMIT_SECONDS)))[1] == "NOT_SIGNED_IN"
        shown = service_credential(Settings(keys_dir=stack.var_dir / "keys"))
        call = stub.GetRoomSummary(request, metadata=(shown,), timeout=LIMIT_SECONDS)
        assert (await refused(call))[1] == "ROOM_NOT_FOUND"


def test_the_operators_command_speaks_mutual_tls_and_nothing_less(stack: Stack, folders: Path) -> None:
    """It finds the server by the folder of `make run`; the certificate is named by the same setting as everywhere."""
    ours = Command({"MAUMAU_VAR_DIR": str(stack.var_dir), "MAUMAU_INTERNAL_TLS_DIR": str(folders / "internal")})
    assert ours.done("bans") == []
    assert {line["state"] for line in ours.done("processes")} == {"serving"}
    for wrong in ({}, {"MAUMAU_INTERNAL_TLS_DIR": str(folders / "stranger")}):
        without = Command({"MAUMAU_VAR_DIR": str(stack.var_dir), "MAUMAU_INTERNAL_TLS_DIR": None, **wrong})
        assert without("bans").code == 3


async def test_without_a_proxy_the_services_serve_tls_themselves(
    tmp_path: Path, folders: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MAUMAU_PUBLIC_TLS_DIR", str(folders / "public"))
    with Stack(options(tmp_path, authorities=1, envoy=False)) as stack:
        async with grpc.aio.secure_channel(stack.address, grpc.ssl_channel_credentials(OURS.pem)) as channel:
            assert (await sign_in(channel, "Ana")).token


def test_the_command_line_reaches_a_server_by_https(stack: Stack, folders: Path) -> None:
    roots = {"GRPC_DEFAULT_SSL_ROOTS_FILE_PATH": str(folders / "public" / "ca.crt")}
    command = [f"{sys.prefix}/bin/maumau", "info", "--address", f"https://{stack.address}"]
    seen = subprocess.run(command, env={**os.environ, **roots}, capture_output=True, text=True, timeout=60)
    assert (seen.returncode, "mau-mau-32" in seen.stdout) == (0, True), seen.stdout + seen.stderr
