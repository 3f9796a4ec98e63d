"""The command as an operator runs it, and people whom it concerns."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import grpc
import pytest
from maumau.v1 import actions_pb2, authority_pb2, identity_pb2
from typer.testing import CliRunner

from services.local.stack import Stack
from services.maumauctl.__main__ import app
from tests.services.world import AUTHORITY, IDENTITY, Caller, Refused, new_id

Action = actions_pb2.Action
PATIENCE_SECONDS = 60.0


class Ran(NamedTuple):
    """Exit code and what was written."""

    code: int
    out: str
    err: str

    @property
    def reason(self) -> str:
        """Why it was refused, in the first word after the command's name."""
        return self.err.removeprefix("maumauctl: ").partition(":")[0]


class Command:
    """`maumauctl` with an environment of its own on top of the present one; None takes a variable away."""

    def __init__(self, environ: Mapping[str, str | None]) -> None:
        self.environ = dict(environ)

    def __call__(self, *words: str) -> Ran:
        ran = CliRunner().invoke(app, list(words), env=self.environ, prog_name="maumauctl")
        if ran.exception is not None and not isinstance(ran.exception, SystemExit):
            raise ran.exception
        return Ran(ran.exit_code, ran.stdout, ran.stderr)

    def done(self, *words: str) -> Any:
        """What it says in JSON, having done what was asked."""
        ran = self("--json", *words)
        assert ran.code == 0, ran
        return json.loads(ran.out)

    def refused(self, *words: str) -> str:
        """The reason why it did not."""
        ran = self(*words)
        assert (ran.code, ran.out) == (1, ""), ran
        return ran.reason


def sign_in(channel: grpc.Channel, name: str) -> Caller:
    answer = Caller(channel).call(IDENTITY + "SignInAsGuest", identity_pb2.SignInAsGuestRequest(display_name=name))
    return Caller(channel, answer.session.token, answer.session.player_id)


def duel(ana: Caller, bo: Caller, *, started: bool = True) -> str:
    """A room of both, in which a match runs."""
    room = ana.create(2)
    bo.join(room)
    if started:
        bo.act(room, Action(set_ready=Action.SetReady(ready=True)))
        ana.act(room, Action(start=Action.Start()))
    return room


def chat(who: Caller, room: str, text: str = "hello") -> str:
    """Sends a text; the reason why it was refused, or nothing."""
    request = authority_pb2.SendChatRequest(room_id=room, text=text, request_id=new_id())
    return reason_of(lambda: who.call(AUTHORITY + "SendChat", request))


def reason_of(call: Callable[[], Any]) -> str:
    try:
        call()
    except grpc.RpcError as error:
        return str(Refused(error).reason)
    return ""


def eventually(met: Callable[[], bool], what: str) -> None:
    """Waits until it holds."""
    end = time.monotonic() + PATIENCE_SECONDS
    while not met():
        assert time.monotonic() < end, f"not within {PATIENCE_SECONDS:g} s: {what}"
        time.sleep(0.05)


def audited(stack: Stack, action: str) -> list[dict[str, Any]]:
    """What the services wrote down of operators' actions of this name, the oldest first."""
    found = []
    for process in stack.processes:
        lines = (json.loads(line) for line in stack[process.name].log().splitlines())
        found += [line for line in lines if line["event"] == "operator" and line["action"] == action]
    return sorted(found, key=lambda line: str(line["time"]))


def watched(caller: Caller, room: str, at: grpc.Channel | None = None) -> Any:
    """A stream of the room, open until it is cancelled; its first message has come."""
    channel: Any = at or caller._channel
    request = authority_pb2.WatchRequest(room_id=room).SerializeToString()
    call = channel.unary_stream(AUTHORITY + "Watch", None, authority_pb2.WatchResponse.FromString)(
        request, metadata=caller.metadata, timeout=60
    )
    assert next(call).HasField("snapshot")
    return call


def heard(call: Any, kind: str) -> Any:
    """The next message of this kind."""
    for message in call:
        if message.WhichOneof("message") == kind:
            return getattr(message, kind)
    return pytest.fail(f"the stream ended without {kind}")
