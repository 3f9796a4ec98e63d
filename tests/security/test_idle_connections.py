"""Whoever takes all connections that Envoy has, and does nothing with them, keeps others out for a short time only."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import urllib.request
from pathlib import Path

import grpc
import pytest

from services.local import envoy
from services.local.stack import Stack
from tests.e2e.calls import channel_to, sign_in
from tests.e2e.eventually import eventually
from tests.e2e.stacks import options

CONNECTIONS = 30


def ready(stack: Stack) -> int:
    with urllib.request.urlopen(f"http://127.0.0.1:{stack.edge.operations_port}/ready", timeout=5) as answer:
        return int(answer.status)


@pytest.mark.parametrize(
    "preface", [b"", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0"], ids=["silent", "HTTP/2"]
)
async def test_idle_connections_give_up_their_places(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, preface: bytes
) -> None:
    monkeypatch.setattr(envoy, "IDLE_SECONDS", 3)
    monkeypatch.setenv("MAUMAU_MAX_REQUESTS", str(CONNECTIONS))
    with Stack(options(tmp_path, authorities=1)) as stack:
        host, _, port = stack.address.rpartition(":")
        with contextlib.ExitStack() as held:

            def take_all_places() -> None:
                for _ in range(CONNECTIONS):
                    held.enter_context(socket.create_connection((host, int(port)), timeout=10)).sendall(preface)

            async def served() -> bool:
                try:
                    async with channel_to(stack.address) as channel:
                        return bool((await sign_in(channel, "Ana")).token)
                except grpc.aio.AioRpcError:
                    return False

            async def kept_out() -> bool:
                """Again where the call was taken in before one of the others, or after the first of them had to go."""
                take_all_places()
                return not await served()

            await eventually(kept_out, "the control: all places are taken")
            assert await asyncio.to_thread(ready, stack) == 200, "and yet Envoy does not look dead to who restarts it"
            await eventually(served, "idle connections were closed")
