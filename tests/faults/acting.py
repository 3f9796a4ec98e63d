"""Single calls of guests, written down like those of the SDK's rooms."""

from __future__ import annotations

import asyncio
import itertools
import os
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


class Insistent:
    """Somebody who acts without a pause in a room whose match has not begun, `at` an authority that may be changed:
    each request is repeated until its answer is OK, as clients do. With `doubts` it is sent once more after that, and
    `differing` are the pairs of versions that were not the same."""

    PATIENCE_SECONDS: Final = 3.0
    PAUSE_SECONDS: Final = 0.02

    def __init__(
        self,
        history: History,
        pair: Duel,
        at: authority_pb2_grpc.GameAuthorityServiceStub | None = None,
        *,
        doubts: bool = False,
    ) -> None:
        self.at, self.room = at, pair.room
        self.repeated = 0
        self.differing = list[tuple[int, int]]()
        self._history, self._guest = history, pair.ana
        self._doubts, self._stop = doubts, False

    async def run(self) -> None:
        """Until `stop`, and until the last request has its answer."""
        for number in itertools.count():
            if self._stop:
                return
            await self._act(ready(number))

    def stop(self) -> None:
        self._stop = True

    async def _act(self, action: actions_pb2.Action) -> None:
        request_id = os.urandom(16)
        written = self._history.begin(self._guest.id, self._guest.id, self.room, action, 0)
        version = await self._answered(action, request_id)
        self._history.end(written, Outcome.ACCEPTED, version)
        if self._doubts:
            again = await self._answered(action, request_id)
            self.differing += [(version, again)] * (again != version)

    async def _answered(self, action: actions_pb2.Action, request_id: bytes) -> int:
        while True:
            try:
                answer = await self._guest.act(
                    self.room, action, 0, request_id=request_id, at=self.at, timeout=self.PATIENCE_SECONDS
                )
            except grpc.aio.AioRpcError:
                self.repeated += 1
                await asyncio.sleep(self.PAUSE_SECONDS)
            else:
                return answer.version


async def start(history: History, pair: Duel) -> None:
    """Both are ready and the host starts the match."""
    for guest in (pair.ana, pair.bo):
        await accepted(history, guest, pair.room, maumau.actions.set_ready(True))
    await accepted(history, pair.ana, pair.room, maumau.actions.start())


async def turn(history: History, pair: Duel) -> int:
    """Who is on turn lays a card, or draws; the version that it made."""
    guest, _, view = await pair.on_turn()
    return await accepted(history, guest, pair.room, view.legal.actions[0], view.version)
