"""Single calls of guests, written down like those of the SDK's rooms."""

from __future__ import annotations

from typing import Final

import grpc
import maumau
from maumau.v1 import actions_pb2, authority_pb2_grpc

from tests.e2e.calls import Duel, Guest, reason_of
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


async def accepted(
    history: History,
    guest: Guest,
    room: str,
    action: actions_pb2.Action,
    version: int = 0,
    *,
    at: authority_pb2_grpc.GameAuthorityServiceStub | None = None,
) -> int:
    """One `Act` that nothing stands in the way of; the version that it made."""
    number = history.begin(guest.id, guest.id, room, action, version)
    answer = await guest.act(room, action, version, at=at)
    history.end(number, Outcome.ACCEPTED, answer.version)
    return answer.version


def ready(number: int) -> actions_pb2.Action:
    """The action that may be repeated for ever before a match begins: now ready, now not."""
    return maumau.actions.set_ready(number % 2 == 0)


async def start(history: History, pair: Duel) -> None:
    """Both are ready and the host starts the match."""
    for guest in (pair.ana, pair.bo):
        await accepted(history, guest, pair.room, maumau.actions.set_ready(True))
    await accepted(history, pair.ana, pair.room, maumau.actions.start())


async def turn(history: History, pair: Duel) -> int:
    """Who is on turn lays a card, or draws; the version that it made."""
    guest, _, view = await pair.on_turn()
    return await accepted(history, guest, pair.room, view.legal.actions[0], view.version)
