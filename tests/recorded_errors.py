"""Every error that any test receives is kept, and the run fails where one has no reason of the catalogue.

A promise of the contract (`docs/errors.md`): whatever a service refuses carries an ErrorInfo with a reason of
`errors.proto`. Tests look at the reasons they ask for; this looks at all the others. What gRPC, the client's own
library or Envoy end by themselves (a lost connection, a passed deadline, a cancelled call) comes from no service and
has none; those are known by their code and text. The run's last lines show the count of each kind.
"""

from __future__ import annotations

import os
import re
import sys
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import grpc
import pytest
from google.rpc import error_details_pb2, status_pb2

from services.wire.errors import CATALOGUE

DETAILS_KEY: Final = "grpc-status-details-bin"

NOT_OF_A_SERVICE: Final = tuple(
    (code, re.compile(text))
    for code, text in (
        (
            "UNAVAILABLE",
            r"failed to connect|Socket closed|[Cc]onnection|GOAWAY|upstream|no healthy|[Rr]eset|Broken pipe",
        ),
        ("UNAVAILABLE", r"Stream removed|Cancelling all calls|Channel closed|recvmsg|sendmsg|keepalive|ping"),
        ("CANCELLED", r".*"),
        ("DEADLINE_EXCEEDED", r"Deadline Exceeded|timeout"),
        ("UNKNOWN", r"Stream removed"),
        ("INTERNAL", r"Received RST_STREAM"),  # what is refused below gRPC, headers of a megabyte for instance
        (
            "INTERNAL",
            r"Internal error from Core",
        ),  # of grpc.aio's client, whose batch failed as the connection was lost
        ("NOT_FOUND", r"is not served here"),  # of grpc.health.v1, which names the code
        ("RESOURCE_EXHAUSTED", r"larger than max|metadata|Header|overflow"),
    )
)
"""Codes and texts with which gRPC, its client or Envoy end a call on their own."""


STAND_INS: Final = "tests/clients/"
"""Tests whose server is a stand-in, which ends calls as no service does."""


class Received(NamedTuple):
    """One error as its caller saw it; no `reason` where there was no ErrorInfo."""

    code: str
    reason: str
    text: str

    @property
    def known(self) -> bool:
        if self.reason:
            return self.reason in CATALOGUE and CATALOGUE[self.reason].code.name == self.code
        return any(self.code == code and text.search(self.text) for code, text in NOT_OF_A_SERVICE)


def received(code: grpc.StatusCode, trailing: Any, text: str | None) -> Received:
    return Received(code.name, _reason(trailing), " ".join((text or "").split())[:100])


def _reason(trailing: Any) -> str:
    info = error_details_pb2.ErrorInfo()
    for key, value in trailing or ():
        if key == DETAILS_KEY:
            for detail in status_pb2.Status.FromString(value).details:
                if detail.Unpack(info):
                    return str(info.reason)
    return ""


class Recorder:
    """The plugin: listens at the one place where grpc.aio makes an error."""

    def __init__(self) -> None:
        self.seen: Counter[Received] = Counter()
        self.first: dict[Received, str] = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_sessionstart(self, session: pytest.Session) -> Iterator[None]:
        made = grpc.aio.AioRpcError.__init__

        def listening(error: Any, code: Any, initial: Any, trailing: Any, *rest: Any, **named: Any) -> None:
            made(error, code, initial, trailing, *rest, **named)
            if sys._getframe(1).f_globals["__name__"].startswith("grpc."):  # not one that a test made by hand
                self._saw(received(code, trailing, error.details()))

        grpc.aio.AioRpcError.__init__ = listening  # type: ignore[method-assign, assignment]
        yield

    def _saw(self, each: Received) -> None:
        test = os.environ.get("PYTEST_CURRENT_TEST", "between tests")
        if not test.startswith(STAND_INS):
            self.seen[each] += 1
            self.first.setdefault(each, test)

    @property
    def unknown(self) -> list[Received]:
        return sorted(each for each in self.seen if not each.known)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.unknown and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if not self.seen:
            return
        explained = sum(count for each, count in self.seen.items() if each.reason)
        reasons = {each.reason for each in self.seen if each.reason}
        unexplained = sum(self.seen[each] for each in self.unknown)
        terminalreporter.line(
            f"errors received: {sum(self.seen.values())}, {explained} with one of {len(reasons)} reasons, "
            f"{unexplained} unexplained"
        )
        for each in self.unknown:
            told = f"{self.seen[each]} times {each.code} {each.reason} {each.text!r}, first in {self.first[each]}"
            terminalreporter.line(f"  unexplained: {told}")
