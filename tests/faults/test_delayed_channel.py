"""Two authorities that hear of each other 200 ms late: whoever acts on what he saw is never refused for that.

Each client watches at one process and acts at the other, and names the version that it saw. Its control is a process
whose cached state may refuse.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import grpc
import maumau
import pytest
from maumau.follower import Follower
from maumau.v1 import authority_pb2_grpc, room_pb2

from services.local.stack import Stack
from services.runtime.routes import GAME_AUTHORITY, MATCHMAKING
from tests.e2e.calls import Guest, channel_to, sign_in
from tests.e2e.stacks import with_authority
from tests.faults.acting import act
from tests.faults.checker import Kind
from tests.faults.history import History, Outcome
from tests.faults.record import Promise
from tests.faults.rig import Rig, started
from tests.faults.scale import PATIENCE, count

pytestmark = PATIENCE

DELAY_SECONDS = 0.2
ROOMS = count(6, 20, 40)
LAST_VERSION = count(30, 100, 300)
"""Where people stop. They take turns, each waiting for the other's action to reach the process he watches."""


class SplitPlayer:
    """Somebody who watches at one process and acts at the other."""

    def __init__(self, guest: Guest, watching: grpc.aio.Channel, acting: grpc.aio.Channel, history: History) -> None:
        self.guest, self.history = guest, history
        self.watching = authority_pb2_grpc.GameAuthorityServiceStub(watching)
        self.acting = authority_pb2_grpc.GameAuthorityServiceStub(acting)
        self.follower = Follower()
        self.changed = asyncio.Event()
        self.chance = random.Random(guest.id)
        self.refusals: list[str] = []

    @property
    def view(self) -> room_pb2.RoomView:
        assert self.follower.view is not None
        return self.follower.view

    async def follow(self, room: str) -> None:
        """Takes in what the watched process sends, until cancelled."""
        async for message in self.guest.watch(room, at=self.watching):
            match message.WhichOneof("message"):
                case "snapshot":
                    self.follower.take_snapshot(message.snapshot)
                case "update":
                    self.follower.take_update(message.update)
            self.changed.set()
            self.changed = asyncio.Event()

    async def sees(self, condition: Callable[[room_pb2.RoomView], object]) -> None:
        """Returns when the condition holds for what this player sees."""
        async with asyncio.timeout(30):
            while self.follower.view is None or not condition(self.view):
                await self.changed.wait()

    async def act(self, action: maumau.actions.Action) -> bool:
        """Acts at the other process; whether it was accepted."""
        view = self.view
        outcome, reason = await act(self.history, self.guest, view.room_id, action, view.version, at=self.acting)
        if outcome is Outcome.REFUSED:
            self.refusals.append(reason)
        return outcome is Outcome.ACCEPTED

    async def play(self) -> None:
        """Plays whenever it sees that it is its turn, until the match is over or long enough."""
        while not _is_over(self.view):
            await self.sees(lambda view: _is_over(view) or _is_due(view))
            if _is_over(self.view):
                return
            seen = self.view.version
            if await self.act(self.chance.choice(list(self.view.legal.actions))):
                await self.sees(lambda view: view.version > seen)  # noqa: B023 - awaited at once


def _is_over(view: room_pb2.RoomView) -> bool:
    return view.version >= LAST_VERSION or view.HasField("outcome")


def _is_due(view: room_pb2.RoomView) -> bool:
    return view.shedding.turn == view.own_seat and bool(view.legal.actions)


@contextlib.asynccontextmanager
async def playing(stack: Stack, history: History) -> AsyncIterator[list[tuple[SplitPlayer, SplitPlayer]]]:
    """Pairs in rooms whose matches have started."""
    matchmaking, first, second, *_ = (*stack.addresses(MATCHMAKING), *stack.addresses(GAME_AUTHORITY))
    async with channel_to(matchmaking) as lobby, channel_to(first) as one, channel_to(second) as other:
        pairs = []
        for number in range(ROOMS):
            ana = SplitPlayer(await sign_in(lobby, f"Ana {number}", rooms=one), one, other, history)
            bo = SplitPlayer(await sign_in(lobby, f"Bo {number}", rooms=other), other, one, history)
            pairs.append((ana, bo))
        following = [task for pair in await asyncio.gather(*map(_start, pairs)) for task in pair]
        yield pairs
        for task in following:
            task.cancel()
        await asyncio.gather(*following, return_exceptions=True)


async def _start(pair: tuple[SplitPlayer, SplitPlayer]) -> list[asyncio.Task[None]]:
    ana, bo = pair
    room = await ana.guest.create_room(2)
    await bo.guest.join(room)
    tasks = [asyncio.create_task(player.follow(room)) for player in pair]
    for player in pair:
        await player.sees(lambda view: all(seat.player_id for seat in view.seats))
        while not await player.act(maumau.actions.set_ready(True)):
            await player.sees(lambda view: True)
    await ana.sees(lambda view: all(seat.ready for seat in view.seats))
    while not await ana.act(maumau.actions.start()):
        pass
    for player in pair:
        await player.sees(lambda view: view.HasField("shedding"))
    return tasks


@pytest.mark.shows("P4")
async def test_nobody_is_refused_for_what_his_process_has_not_heard_yet(
    rig: Rig, history: History, promise: Promise
) -> None:
    rig.proxy.channel_delay_seconds = DELAY_SECONDS
    async with playing(rig.stack, history) as pairs:
        await asyncio.gather(*(player.play() for pair in pairs for player in pair))
    assert [player.refusals for pair in pairs for player in pair] == [[]] * (2 * ROOMS)
    assert history.accepted > ROOMS * LAST_VERSION // 2
    assert rig.proxy.delayed > history.accepted
    assert await rig.findings({ana.view.room_id for ana, _ in pairs}, history) == []
    promise("P4", f"0 of {history.accepted:,} honest actions refused with the channel {DELAY_SECONDS:g} s late")


@pytest.mark.control("P4")
async def test_control_caches_that_may_refuse_are_found_out(tmp_path: Path, history: History, promise: Promise) -> None:
    with started(tmp_path, modules=with_authority("tests.faults.refusing_caches"), envoy=False) as rig:
        rig.proxy.channel_delay_seconds = DELAY_SECONDS
        async with playing(rig.stack, history) as pairs:
            acting = [asyncio.create_task(player.play()) for pair in pairs for player in pair]
            first = asyncio.create_task(_first_refusal(pairs))
            await asyncio.wait([first], timeout=30)
            for task in (*acting, first):
                task.cancel()
            await asyncio.gather(*acting, first, return_exceptions=True)
        rooms = {ana.view.room_id for ana, _ in pairs}
        found = await rig.findings(rooms, history)
    refused = sum(len(player.refusals) for pair in pairs for player in pair)
    assert refused > 0
    assert Kind.UNORDERED in {finding.kind for finding in found}
    promise("P4", f"{refused} honest actions refused by caches that may refuse; the histories fit no order")


async def _first_refusal(pairs: list[tuple[SplitPlayer, SplitPlayer]]) -> None:
    players = [player for pair in pairs for player in pair]
    while not any(player.refusals for player in players):
        await asyncio.wait([asyncio.create_task(player.changed.wait()) for player in players], timeout=0.1)
