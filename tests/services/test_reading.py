"""What a client has begun on a `Play` stream is carried out though it hangs up; what it sends then is not taken."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

from maumau.v1.authority_pb2 import PlayRequest

from services.game_authority.outlet import Outlet
from services.game_authority.reading import LIMITED_A_SECOND, LIMITED_AT_ONCE, Readers, Reading

ACT = PlayRequest(act=PlayRequest.Act(request_id=bytes(16)))


class Game:
    """A game in which an action takes until `go` is set."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.go = asyncio.Event()
        self.done = 0
        self.readers = Readers(self._act, self._nobody, self._free)
        self.stream: Any = SimpleNamespace(viewer=SimpleNamespace(outlet=Outlet()), closed_by_client=False)

    async def _act(self, _: object, __: object, ___: object) -> int:
        self.begun.set()
        await self.go.wait()
        self.done += 1
        return self.done

    async def _nobody(self, _: str) -> Any:
        raise AssertionError

    async def _free(self) -> None:
        return None


async def sent(*requests: PlayRequest) -> AsyncIterator[PlayRequest]:
    """These, and nothing more."""
    for request in requests:
        yield request
    await asyncio.Event().wait()


async def test_an_action_that_was_begun_is_carried_out_though_its_stream_ends() -> None:
    game = Game()
    reading = game.readers.start(game.stream, sent(ACT, ACT))
    await game.begun.wait()
    await reading.stop()
    assert game.done == 0
    game.go.set()
    await asyncio.wait_for(reading.task, 10)
    assert game.done == 1


async def test_a_stream_that_ends_does_not_wait_for_its_client() -> None:
    game = Game()
    game.go.set()
    reading = game.readers.start(game.stream, sent(ACT))
    await anext(game.stream.viewer.outlet)  # the answer
    await asyncio.wait_for(reading.stop(), 10)
    assert reading.task.cancelled()
    assert not game.stream.closed_by_client


async def test_a_client_that_is_done_ends_its_stream() -> None:
    game = Game()
    game.go.set()

    async def all_of_it() -> AsyncIterator[PlayRequest]:
        yield ACT

    await game.readers.start(game.stream, all_of_it()).task
    answers = [message async for message in game.stream.viewer.outlet]
    assert len(answers) == 1
    assert game.stream.closed_by_client


async def test_a_client_far_above_its_limit_is_read_no_faster_than_it_can_be_refused_without_harm() -> None:
    reading, began = Reading(), time.monotonic()
    for _ in range(LIMITED_AT_ONCE):
        await reading.limited()
    for _ in range(LIMITED_A_SECOND // 10):
        await reading.limited()
    assert time.monotonic() - began >= 0.09, "no sooner; how much later does not matter"
