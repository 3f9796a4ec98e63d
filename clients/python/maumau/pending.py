"""Actions on their way: each keeps its request id until its answer, however often it has to be sent.

The server knows the last few accepted ids of a player again. So an action goes out only while fewer than that follow on
the oldest one without an answer: sent again, whichever it was, it cannot take effect twice.
"""

from __future__ import annotations

import asyncio
import itertools
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from maumau.errors import MaumauError
from maumau.v1 import actions_pb2, authority_pb2

REMEMBERED: Final = 8
"""Accepted request ids of a player that a room knows again; `Act` in authority.proto says so."""


@dataclass(slots=True)
class PendingAct:
    """An action without an answer. `version` is what it was decided on, `number` counts the room's actions, `way` is
    what it was sent by last."""

    action: actions_pb2.Action
    version: int
    number: int
    answer: asyncio.Future[int]
    request_id: bytes = field(default_factory=lambda: os.urandom(16))
    way: object = None

    def play_request(self) -> authority_pb2.PlayRequest:
        act = authority_pb2.PlayRequest.Act(request_id=self.request_id, version=self.version, action=self.action)
        return authority_pb2.PlayRequest(act=act)

    def act_request(self, room_id: str) -> authority_pb2.ActRequest:
        return authority_pb2.ActRequest(
            room_id=room_id, request_id=self.request_id, version=self.version, action=self.action
        )


class PendingActs:
    """The actions of one room that wait for their answers, oldest first."""

    def __init__(self) -> None:
        self._acts: dict[bytes, PendingAct] = {}
        self._numbers = itertools.count()

    def __iter__(self) -> Iterator[PendingAct]:
        return iter(list(self._acts.values()))

    def __len__(self) -> int:
        return len(self._acts)

    def add(self, action: actions_pb2.Action, version: int) -> PendingAct:
        act = PendingAct(action, version, next(self._numbers), asyncio.get_running_loop().create_future())
        self._acts[act.request_id] = act
        return act

    def due(self, way: object) -> Iterator[PendingAct]:
        """Those that may go out now and were not sent by `way` yet, oldest first."""
        waiting = [act for act in self if not act.answer.done()]
        for act in itertools.takewhile(lambda act: act.number < waiting[0].number + REMEMBERED, waiting):
            if act.way is not way:
                act.way = way
                yield act

    def find(self, request_id: bytes) -> PendingAct | None:
        return self._acts.get(request_id)

    def drop(self, act: PendingAct) -> None:
        self._acts.pop(act.request_id, None)

    def fail_all(self, error: MaumauError) -> None:
        """No answer will come for any of them."""
        for act in self:
            if not act.answer.done():
                act.answer.set_exception(error)
        self._acts.clear()
