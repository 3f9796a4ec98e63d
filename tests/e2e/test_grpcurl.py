"""The whole way with nothing but grpcurl and the server's own reflection, through the public address."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from services.local.stack import Stack

LIMIT_SECONDS = "20"
BOT: dict[str, Any] = {"add_bot": {"level": "BOT_LEVEL_HEURISTIC"}}
LOBBY: tuple[dict[str, Any], ...] = (BOT, BOT, {"set_ready": {"ready": True}}, {"start": {}})


def grpcurl_program() -> str:
    """Beside the interpreter, or on the path."""
    beside = Path(sys.executable).parent / "grpcurl"
    found = str(beside) if beside.exists() else shutil.which("grpcurl")
    assert found, "grpcurl is part of the development tools"
    return found


def as_json(text: str) -> list[dict[str, Any]]:
    """The messages that grpcurl wrote, one after the other."""
    decoder, found, place = json.JSONDecoder(), [], 0
    while place < len(text.rstrip()):
        message, place = decoder.raw_decode(text, place)
        found.append(message)
        place += len(text[place:]) - len(text[place:].lstrip())
    return found


class Grpcurl:
    """Runs the program against one address."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.token = ""

    def words(self, *words: str, message: dict[str, Any] | None = None) -> list[str]:
        session = ["-H", f"authorization: Bearer {self.token}"] if self.token else []
        sent = [] if message is None else ["-d", json.dumps(message)]
        return [grpcurl_program(), "-plaintext", "-max-time", LIMIT_SECONDS, *session, *sent, self.address, *words]

    def run(self, *words: str, message: dict[str, Any] | None = None) -> str:
        command = self.words(*words, message=message)
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{' '.join(command)}\n{done.stderr}"
        return done.stdout

    def call(self, method: str, **message: Any) -> dict[str, Any]:
        """One unary call; the one answer."""
        (answer,) = as_json(self.run(method, message=message))
        return answer


@pytest.fixture
def grpcurl(stack: Stack) -> Grpcurl:
    return Grpcurl(stack.address)


def test_reflection_lists_every_public_service_and_no_internal_one(grpcurl: Grpcurl) -> None:
    listed = grpcurl.run("list").split()
    assert {
        "maumau.v1.GameAuthorityService",
        "maumau.v1.IdentityService",
        "maumau.v1.MatchmakingService",
        "maumau.v1.ScoringService",
        "grpc.health.v1.Health",
    } <= set(listed)
    assert not any("internal" in name for name in listed)
    assert "maumau.v1.GameAuthorityService.Watch" in grpcurl.run("list", "maumau.v1.GameAuthorityService")


def test_reflection_describes_calls_and_messages(grpcurl: Grpcurl) -> None:
    service = grpcurl.run("describe", "maumau.v1.GameAuthorityService")
    assert "rpc Act ( .maumau.v1.ActRequest ) returns ( .maumau.v1.ActResponse );" in service
    assert "bytes request_id = 2;" in grpcurl.run("describe", "maumau.v1.ActRequest")


class WatchingGrpcurl:
    """A `Watch` that runs beside the test, message by message."""

    def __init__(self, grpcurl: Grpcurl, room: str) -> None:
        words = grpcurl.words("maumau.v1.GameAuthorityService/Watch", message={"room_id": room})
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)

    def messages(self) -> Iterator[dict[str, Any]]:
        """As they come; the program writes each over several lines."""
        assert self.process.stdout is not None
        text = ""
        for line in self.process.stdout:
            text += line
            if line == "}\n":
                yield json.loads(text)
                text = ""

    def close(self) -> None:
        self.process.terminate()
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()


def request_id() -> str:
    return base64.b64encode(os.urandom(16)).decode()


def test_a_match_can_be_played_with_grpcurl_alone(grpcurl: Grpcurl) -> None:
    signed_in = grpcurl.call("maumau.v1.IdentityService/SignInAsGuest", display_name="Curl")
    grpcurl.token = signed_in["session"]["token"]
    made = grpcurl.call(
        "maumau.v1.MatchmakingService/CreateRoom",
        ruleset={"preset": "mau-mau-32"},
        settings={"seats": 3},
        request_id=request_id(),
    )
    room = made["room_id"]

    def act(action: dict[str, Any], version: int = 0) -> dict[str, Any]:
        call = {"room_id": room, "request_id": request_id(), "version": version, "action": action}
        return grpcurl.call("maumau.v1.GameAuthorityService/Act", **call)

    watching = WatchingGrpcurl(grpcurl, room)
    try:
        messages = watching.messages()
        first = next(messages)["snapshot"]
        version = int(first["room"]["version"])
        for action in LOBBY:
            version = int(act(action, version)["version"])
        view = grpcurl.call("maumau.v1.GameAuthorityService/GetRoom", room_id=room)
        assert view["snapshot"]["room"]["state"] == "ROOM_STATE_PLAYING"
        played = 0
        last = int(first["room"]["version"])
        for message in messages:
            if "update" not in message:
                continue
            update = message["update"]
            assert int(update["version"]) == last + 1
            last = int(update["version"])
            legal = update.get("legal", {}).get("actions", [])
            if legal and last >= version:
                version = int(act(legal[0], last)["version"])
                played += 1
            if played == 2:
                break
        assert version > last, "the second action made a version of its own"
    finally:
        watching.close()


async def test_play_takes_actions_and_gives_events_and_answers(grpcurl: Grpcurl) -> None:
    """The two-way stream, fed through standard input."""
    signed_in = grpcurl.call("maumau.v1.IdentityService/SignInAsGuest", display_name="Curl")
    grpcurl.token = signed_in["session"]["token"]
    room = grpcurl.call(
        "maumau.v1.MatchmakingService/CreateRoom", ruleset={"preset": "mau-mau-32"}, request_id=request_id()
    )["room_id"]
    act = {"act": {"request_id": request_id(), "version": 1, "action": {"set_ready": {"ready": True}}}}
    words = grpcurl.words("maumau.v1.GameAuthorityService/Play")
    words[1:1] = ["-d", "@"]
    process = await asyncio.create_subprocess_exec(*words, stdin=-1, stdout=-1)
    sent = json.dumps({"open": {"room_id": room}}) + json.dumps(act)
    out, _ = await process.communicate(sent.encode())
    snapshot, made = as_json(out.decode())
    assert snapshot["snapshot"]["room"]["room_id"] == room
    assert made["update"]["version"] == made["answer"]["version"] == "2"
