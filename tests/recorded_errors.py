"""Every error that any test receives is kept, and the run fails where one has no reason of the catalogue.

A promise of the contract (`docs/errors.md`): whatever a service refuses carries an ErrorInfo with a reason of
`errors.proto` and its metadata, the field where one is wrong, and when to try again where that helps. Tests look at the
reasons they ask for; this looks at all the others, of clients that block and of those that do not. What gRPC, the
client's own library or Envoy end by themselves (a lost connection, a passed deadline, a cancelled call, a path that
leads to no service) comes from no service and has none; those are known by their code and text. The run's last lines
show the count of each kind.
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
from grpc import _channel

from services.wire.errors import CATALOGUE, DOMAIN

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
        ("UNIMPLEMENTED", r"^$"),  # Envoy's, where no route is; a service names the method
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


HANDED_OVER: Final = "errors received"
STAND_INS: Final = "tests/clients/"
"""Tests whose server is a stand-in, which ends calls as no service does."""


NOT_ALWAYS: Final = frozenset({("TOKEN_EXPIRED", "resume_token"), ("MUTED", "until")})
"""Metadata that belong to some refusals of a reason only: those of a stream, those of the operator."""


class Received(NamedTuple):
    """One error as its caller saw it; no `reason` where there was no ErrorInfo. `lacks` says what belongs to the reason
    and did not come."""

    code: str
    reason: str
    text: str
    lacks: str = ""

    @property
    def known(self) -> bool:
        if self.reason:
            return self.reason in CATALOGUE and CATALOGUE[self.reason].code.name == self.code and not self.lacks
        return any(self.code == code and text.search(self.text) for code, text in NOT_OF_A_SERVICE)


def received(code: grpc.StatusCode, trailing: Any, text: str | None) -> Received:
    shown = " ".join((text or "").split())[:100]
    info, retry, fields = (error_details_pb2.ErrorInfo(), error_details_pb2.RetryInfo(), error_details_pb2.BadRequest())
    for key, value in trailing or ():
        if key == DETAILS_KEY:
            for detail in status_pb2.Status.FromString(value).details:
                any(detail.Unpack(kind) for kind in (info, retry, fields))
    return Received(code.name, info.reason, shown, _lacks(code, info, retry, fields) if info.reason else "")


def _lacks(code: grpc.StatusCode, info: Any, retry: Any, fields: Any) -> str:
    if info.reason not in CATALOGUE:
        return "a place in the catalogue"
    absent = set(CATALOGUE[info.reason].metadata) - set(info.metadata)
    missing = sorted(key for key in absent if (info.reason, key) not in NOT_ALWAYS)
    if info.domain != DOMAIN:
        missing.append("the domain")
    again = code is grpc.StatusCode.UNAVAILABLE or info.reason in ("RATE_LIMITED", "SERVER_FULL")
    if again and retry.retry_delay.ToNanoseconds() <= 0:
        missing.append("when to try again")
    if info.reason == "INVALID_FIELD" and not any(
        wrong.field and wrong.description for wrong in fields.field_violations
    ):
        missing.append("the wrong field")
    return ", ".join(missing)


class Recorder:
    """The plugin: listens at the places where gRPC's clients make an error."""

    def __init__(self) -> None:
        self.seen: Counter[Received] = Counter()
        self.first: dict[Received, str] = {}

    # Where a run is spread over processes each hands over what it saw at its end, and the one that spread it judges.

    def handed_over(self) -> list[tuple[Any, ...]]:
        """All that was seen, in plain values."""
        return [(*each, count, self.first[each]) for each, count in self.seen.items()]

    def pytest_testnodedown(self, node: Any, error: object) -> None:
        for *each, count, first in getattr(node, "workeroutput", {}).get(HANDED_OVER, ()):
            self.seen[Received(*each)] += count
            self.first.setdefault(Received(*each), first)

    @pytest.hookimpl(wrapper=True)
    def pytest_sessionstart(self, session: pytest.Session) -> Iterator[None]:
        made = grpc.aio.AioRpcError.__init__

        def listening(error: Any, code: Any, initial: Any, trailing: Any, *rest: Any, **named: Any) -> None:
            made(error, code, initial, trailing, *rest, **named)
            if sys._getframe(1).f_globals["__name__"].startswith("grpc."):  # not one that a test made by hand
                self._saw(received(code, trailing, error.details()))

        grpc.aio.AioRpcError.__init__ = listening  # type: ignore[method-assign, assignment]
        self._listen_to_blocking_calls()
        yield

    def _listen_to_blocking_calls(self) -> None:
        made, following = _channel._InactiveRpcError.__init__, _channel._MultiThreadedRendezvous._next

        def listening(error: Any, *given: Any) -> None:
            made(error, *given)
            self._saw(received(error.code(), error.trailing_metadata(), error.details()))

        def reading(call: Any) -> Any:
            try:
                return following(call)
            except grpc.RpcError:
                self._saw(received(call.code(), call.trailing_metadata(), call.details()))
                raise

        _channel._InactiveRpcError.__init__ = listening  # type: ignore[assignment, method-assign]
        _channel._MultiThreadedRendezvous._next = reading  # type: ignore[assignment, method-assign]

    def _saw(self, each: Received) -> None:
        test = os.environ.get("PYTEST_CURRENT_TEST", "between tests")
        if not test.startswith(STAND_INS):
            self.seen[each] += 1
            self.first.setdefault(each, test)

    @property
    def unknown(self) -> list[Received]:
        return sorted(each for each in self.seen if not each.known)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if hasattr(session.config, "workeroutput"):
            session.config.workeroutput[HANDED_OVER] = self.handed_over()
        elif self.unknown and session.exitstatus == pytest.ExitCode.OK:
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
            lacks = f" without {each.lacks}" if each.lacks else ""
            told = (
                f"{self.seen[each]} times {each.code} {each.reason} {each.text!r}{lacks}, first in {self.first[each]}"
            )
            terminalreporter.line(f"  unexplained: {told}")
