"""Single calls of guests, written down like those of the SDK's rooms."""

from __future__ import annotations

from typing import Final

import grpc
from maumau.v1 import actions_pb2, authority_pb2_grpc

from tests.e2e.calls import Guest, reason_of
from tests.faults.history import History, Outcome

UNDECIDED: Final = ("OUTCOME_UNKNOWN", "DEADLINE_PASSED", "INTERNAL", "")
"""Reasons that leave open whether the action was accepted; all others say that it was not."""


async def act(
    history: History,
    guest: Guest,
    room: str,
    action: actions_pb2.Action,
    version: int,
    *,
    request_id: bytes = b"",
    at: authority_pb2_grpc.GameAuthorityServiceStub | None = None,
) -> tuple[Outcome, str]:
    """One `Act`; what came of it, and the reason of a refusal."""
    number = history.begin(guest.id, guest.id, room, action, version)
    try:
        answer = await guest.act(room, action, version, request_id=request_id, at=at)
    except grpc.aio.AioRpcError as error:
        reason = reason_of(error)[0]
        outcome = Outcome.UNKNOWN if reason in UNDECIDED else Outcome.REFUSED
        history.end(number, outcome, reason=reason)
        return outcome, reason
    history.end(number, Outcome.ACCEPTED, answer.version)
    return Outcome.ACCEPTED, ""
