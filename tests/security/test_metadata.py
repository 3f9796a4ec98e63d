"""Metadata that no client library would send: refused like any other, and never written down."""

from __future__ import annotations

import socket
import time

import pytest

from services.local.stack import Stack
from tests.security.test_hostile import HEADERS, PREFACE, SETTINGS, frame

SECRET = b"wLq8sYtT"
"""Part of what stands for a token."""


def _literal(name: bytes, value: bytes) -> bytes:
    return b"\x00" + bytes((len(name),)) + name + bytes((len(value),)) + value


def answer_to(address: str, authorization: bytes) -> bytes:
    """What comes back for a call with this header, to the end of the stream."""
    headers = {
        b":method": b"POST",
        b":scheme": b"http",
        b":path": b"/maumau.v1.GameAuthorityService/ListMyRooms",
        b":authority": b"cards",
        b"content-type": b"application/grpc",
        b"te": b"trailers",
        b"authorization": authorization,
    }
    block = b"".join(_literal(name, value) for name, value in headers.items())
    host, _, port = address.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=10) as opened:
        opened.sendall(PREFACE + frame(SETTINGS, 0, 0) + frame(HEADERS, 4, 1, block) + frame(0, 1, 1, bytes(5)))
        answer, end = b"", time.monotonic() + 10
        while b"session token is not valid" not in answer and time.monotonic() < end:
            received = opened.recv(65_536)
            if not received:
                break
            answer += received
    return answer


@pytest.mark.parametrize("odd", [b"\xff\xfe", b"\xc3\x28", b"\xe2\x82\xac"], ids=["no text", "half a letter", "a sign"])
def test_a_token_that_is_no_text_is_refused_and_comes_into_no_log(stack: Stack, odd: bytes) -> None:
    for process in (process for process in stack.processes if process.service == "game-authority"):
        assert b"session token is not valid" in answer_to(process.address, b"Bearer " + SECRET + odd)
        log = stack[process.name].log()
        assert "ListMyRooms" in log
        assert SECRET.decode() not in log
