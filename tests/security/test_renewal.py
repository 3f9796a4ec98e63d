"""Certificates that are renewed while a server runs: new connections see them, open calls go on, rubbish stays out."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest
from structlog.testing import capture_logs

from services.runtime.channels import internal_channel
from services.runtime.key_folder import prepare_key_folder
from services.runtime.server import INTERNAL_MESSAGE_BYTES, ServerPort
from services.runtime.settings import Settings
from services.runtime.tls import internal_credentials, public_credentials
from tests.security.certificates import Authority

LIMIT_SECONDS = 20
BEFORE, AFTER = Authority("before"), Authority("after")
FILES = ("tls.crt", "tls.key", "ca.crt")


class Counting:
    """Counts to two, the second time when it is let."""

    def __init__(self) -> None:
        self.go_on = asyncio.Event()

    async def count(self, request: bytes, context: Any) -> AsyncIterator[bytes]:
        yield b"one"
        await self.go_on.wait()
        yield b"two"

    async def echo(self, request: bytes, context: Any) -> bytes:
        return request

    def register(self, counting: Counting, server: grpc.aio.Server) -> None:
        handlers: dict[str, Any] = {
            "Count": grpc.unary_stream_rpc_method_handler(counting.count, bytes, bytes),
            "Echo": grpc.unary_unary_rpc_method_handler(counting.echo, bytes, bytes),
        }
        server.add_registered_method_handlers("test.Counting", handlers)


@asynccontextmanager
async def serving(credentials: grpc.ServerCredentials | None, number: int = 0) -> AsyncIterator[tuple[int, Counting]]:
    port, counting = ServerPort(Settings(), INTERNAL_MESSAGE_BYTES), Counting()
    port.add(counting.register, counting)
    number = await port.start("127.0.0.1", number, credentials)
    try:
        yield number, counting
    finally:
        await port.stop(0)


def renew(folder: Path, authority: Authority, *, files: tuple[str, ...] = FILES, whole: Path | None = None) -> Path:
    """Puts files of a new certificate into a folder, each in one step as whoever renews them does; the folder they
    come from, to go on with."""
    whole = whole or authority.issue(folder.parent / f"{folder.name}-renewed")
    for file in files:
        (draft := folder / f".{file}").write_bytes((whole / file).read_bytes())
        draft.replace(folder / file)
    return whole


def trusting(authority: Authority, folder: Path | None = None) -> grpc.ChannelCredentials:
    shown = () if folder is None else tuple((folder / file).read_bytes() for file in ("tls.key", "tls.crt"))
    return grpc.ssl_channel_credentials(authority.pem, *shown)


def called(channel: grpc.aio.Channel, name: str, request: bytes = b"", *, wait: bool = False) -> Any:
    kind: Any = channel.unary_unary if name == "Echo" else channel.unary_stream
    return kind(f"/test.Counting/{name}", bytes, bytes)(request, timeout=LIMIT_SECONDS, wait_for_ready=wait)


async def echoed(port: int, credentials: grpc.ChannelCredentials) -> bool:
    """Whether somebody who connects now is served."""
    async with grpc.aio.secure_channel(f"127.0.0.1:{port}", credentials) as channel:
        try:
            return bool(await called(channel, "Echo", b"heard"))
        except grpc.aio.AioRpcError as error:
            if error.code() is grpc.StatusCode.UNAVAILABLE:
                return False
            raise


@pytest.mark.parametrize("mutual", [False, True])
async def test_who_connects_sees_the_renewed_certificate_while_an_open_stream_goes_on(
    tmp_path: Path, mutual: bool
) -> None:
    folder = BEFORE.issue(tmp_path / "tls")
    old = trusting(BEFORE, folder if mutual else None)
    credentials = (internal_credentials if mutual else public_credentials)(folder)
    async with (
        serving(credentials) as (port, counting),
        grpc.aio.secure_channel(f"127.0.0.1:{port}", old) as channel,
    ):
        stream = called(channel, "Count")
        assert await stream.read() == b"one"
        whole = renew(folder, AFTER)
        assert await echoed(port, trusting(AFTER, whole if mutual else None))
        assert not await echoed(port, trusting(BEFORE))
        if mutual:  # what the new authority has not signed is worth nothing any more
            assert not await echoed(port, trusting(AFTER, BEFORE.issue(tmp_path / "stale")))
        counting.go_on.set()
        assert await stream.read() == b"two"


@pytest.mark.parametrize("torn", ["halves of two", "half a file", "no key"])
async def test_what_does_not_belong_together_is_told_once_and_the_last_certificate_stays(
    tmp_path: Path, torn: str
) -> None:
    folder = BEFORE.issue(tmp_path / "tls")
    async with serving(public_credentials(folder)) as (port, _):
        assert await echoed(port, trusting(BEFORE))
        whole = renew(folder, AFTER, files=("tls.crt",))
        if torn == "half a file":
            (folder / "tls.crt").write_bytes((whole / "tls.crt").read_bytes()[:100])
        elif torn == "no key":
            (folder / "tls.key").unlink()
        with capture_logs() as told:
            for _ in range(3):
                assert await echoed(port, trusting(BEFORE))
        warned = [line for line in told if line["log_level"] != "info"]
        assert [line["log_level"] for line in warned] == ["warning"]
        assert str(folder) in warned[0]["error"]
        renew(folder, AFTER, whole=whole)
        assert await echoed(port, trusting(AFTER))


async def test_a_service_calls_on_with_its_renewed_certificate(tmp_path: Path) -> None:
    """The other one is started again with certificates of another authority: the old channel would never get in."""
    folder, keys = BEFORE.issue(tmp_path / "tls"), tmp_path / "keys"
    prepare_key_folder(keys)
    settings = Settings(keys_dir=keys, internal_tls_dir=folder)
    async with serving(internal_credentials(folder)) as (port, counting):
        channel = internal_channel(settings, f"127.0.0.1:{port}")
        assert await called(channel, "Echo", b"1") == b"1"
        stream = called(channel, "Count")
        assert await stream.read() == b"one"
        renew(folder, AFTER)
        assert await called(channel, "Echo", b"2") == b"2"
        counting.go_on.set()
        assert await stream.read() == b"two"
    async with serving(internal_credentials(folder), port):
        assert await called(channel, "Echo", b"3", wait=True) == b"3"
    await channel.close()
