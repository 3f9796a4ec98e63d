"""Redis freezes under load: every call ends in time and says so, nothing is accepted, and afterwards play goes on.

Controls: an authority whose calls are not bounded by their deadlines, and one that answers before it commits.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from pathlib import Path
from typing import NamedTuple

import grpc
import pytest
from google.rpc import error_details_pb2
from grpc_status import rpc_status
from maumau.v1 import authority_pb2, matchmaking_pb2, room_pb2, scoring_pb2, scoring_pb2_grpc

from tests.e2e.calls import Duel, Guest, channel_to, duel
from tests.e2e.eventually import eventually
from tests.e2e.stacks import with_authority
from tests.faults.acting import start
from tests.faults.history import History, Outcome
from tests.faults.record import Promise
from tests.faults.rig import Rig, started
from tests.faults.scale import PATIENCE, SIZE, SIZES, count

pytestmark = PATIENCE

ROOMS = count(2, 20, 50)
FROZEN_SECONDS = count(2, 30, 30)
SMOKE = SIZES[0] == SIZE
DEADLINES = (0.7, 1.2) if SMOKE else (0.7, 1.5, 3.0, 6.0)
"""Seconds; below and above the time that a command of Redis may take."""
LATE_SECONDS = 0.1
BETWEEN_CALLS_SECONDS = 0.25


class Ended(NamedTuple):
    """How one call went: when it was made (monotonic), its deadline, how long it took, its status, and whether that
    says when to try again."""

    what: str
    began: float
    deadline: float
    took: float
    code: grpc.StatusCode
    retry_info: bool

    @property
    def ended(self) -> float:
        return self.began + self.took

    def is_late(self) -> bool:
        gave_up = self.code in (grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.CANCELLED)
        return gave_up or self.took > self.deadline + LATE_SECONDS

    def says_so(self) -> bool:
        """It ended as the call of a server that has no store, or needed none."""
        return self.code is grpc.StatusCode.OK or (self.code is grpc.StatusCode.UNAVAILABLE and self.retry_info)


class Load:
    """People who act and look, each call with another deadline, until the end of the test. `ended` are all calls."""

    # Whose view is older than the newest version cannot act, however it is answered. So that people do act without
    # Redis, each looks once more before it is stopped, and `holds` its action back until it is.

    def __init__(self, history: History, pairs: list[Duel]) -> None:
        self.ended = list[Ended]()
        self._history, self._pairs = history, pairs
        self._seen = dict[str, tuple[Guest, room_pb2.RoomView]]()
        self._stop = asyncio.Event()
        self._holding = set[str]()
        self._goes_on = asyncio.Event()
        self._goes_on.set()

    async def hold(self) -> None:
        """Nobody acts any more; returns when all know what they would do now."""
        self._goes_on.clear()
        await eventually(lambda: len(self._holding) == len(self._pairs), "all look before they act")

    def release(self) -> None:
        """All do that, and act on as before."""
        self._goes_on.set()

    async def run(self) -> None:
        """Until `stop`, and until every call has ended."""
        for pair in self._pairs:
            guest, _, view = await pair.on_turn()
            self._seen[pair.room] = guest, view
        ways = (self._act, self._look, self._list, self._score)
        await asyncio.gather(*(self._repeat(way, pair, at) for at, pair in enumerate(self._pairs) for way in ways))

    def stop(self) -> None:
        self._stop.set()

    async def _repeat(self, way: object, pair: Duel, at: int) -> None:
        number = at
        while not self._stop.is_set():
            if way == self._act:
                await self._see(pair)
                await self._hold(pair)
            deadline = DEADLINES[number % len(DEADLINES)]
            began = time.monotonic()
            code, retry_info = grpc.StatusCode.OK, False
            try:
                await way(pair, number, deadline)  # type: ignore[operator]
            except grpc.aio.AioRpcError as error:
                code, retry_info = error.code(), _says_when(error)
            took = time.monotonic() - began
            self.ended.append(Ended(way.__name__, began, deadline, took, code, retry_info))  # type: ignore[attr-defined]
            number += 1
            await asyncio.sleep(BETWEEN_CALLS_SECONDS)

    async def _hold(self, pair: Duel) -> None:
        while not self._goes_on.is_set():
            self._holding.add(pair.room)
            await self._goes_on.wait()
        self._holding.discard(pair.room)

    async def _see(self, pair: Duel) -> None:
        """Whose turn it is, if that can be learned; else it stays what was known."""
        with contextlib.suppress(grpc.aio.AioRpcError):
            for guest in (pair.ana, pair.bo):
                request = authority_pb2.GetRoomRequest(room_id=pair.room)
                answer = await guest.rooms.GetRoom(request, metadata=guest.metadata(pair.room), timeout=0.5)
                if answer.snapshot.room.legal.actions:
                    self._seen[pair.room] = guest, answer.snapshot.room

    async def _act(self, pair: Duel, number: int, deadline: float) -> None:
        guest, view = self._seen[pair.room]
        action = view.legal.actions[0]
        written = self._history.begin(guest.id, guest.id, pair.room, action, view.version)
        outcome, version = Outcome.UNKNOWN, 0
        try:
            version = (await guest.act(pair.room, action, view.version, timeout=deadline)).version
            outcome = Outcome.ACCEPTED
        finally:
            self._history.end(written, outcome, version)

    async def _look(self, pair: Duel, number: int, deadline: float) -> None:
        request = authority_pb2.GetRoomRequest(room_id=pair.room)
        await pair.bo.rooms.GetRoom(request, metadata=pair.bo.metadata(pair.room), timeout=deadline)

    async def _list(self, pair: Duel, number: int, deadline: float) -> None:
        request = matchmaking_pb2.ListRoomsRequest()
        await pair.bo.matchmaking.ListRooms(request, metadata=pair.bo.metadata(), timeout=deadline)

    async def _score(self, pair: Duel, number: int, deadline: float) -> None:
        await _scoring(pair.bo).GetStatistics(
            scoring_pb2.GetStatisticsRequest(family="mau-mau-32"), metadata=pair.bo.metadata(), timeout=deadline
        )


def _scoring(guest: Guest) -> scoring_pb2_grpc.ScoringServiceStub:
    return scoring_pb2_grpc.ScoringServiceStub(guest.channel)


def _says_when(error: grpc.aio.AioRpcError) -> bool:
    status = rpc_status.from_call(error)
    return status is not None and any(d.Is(error_details_pb2.RetryInfo.DESCRIPTOR) for d in status.details)


class Met(NamedTuple):
    """The calls that met a frozen Redis, those of them that began and ended with it, the rooms, and after how many
    seconds the first act was accepted again."""

    calls: list[Ended]
    within: list[Ended]
    rooms: list[str]
    back: float

    @property
    def accepted(self) -> list[Ended]:
        return [call for call in self.within if call.what == "_act" and call.code is grpc.StatusCode.OK]

    @property
    def late(self) -> list[Ended]:
        return [call for call in self.calls if call.is_late()]

    @property
    def silent(self) -> list[Ended]:
        """Those that ended in time with something else than what is the case."""
        return [call for call in self.within if not call.is_late() and not call.says_so()]


async def freeze_under_load(rig: Rig, history: History, seconds: float) -> Met:
    """Redis is frozen for so long while people play."""
    async with channel_to(rig.stack.address) as channel:
        pairs = [await duel(channel) for _ in range(ROOMS)]
        for pair in pairs:
            await start(history, pair)
        load = Load(history, pairs)
        working = asyncio.create_task(load.run())
        await eventually(lambda: history.accepted >= 5 * ROOMS, "people act")
        await load.hold()
        rig.server.freeze()
        frozen = time.monotonic()
        load.release()
        await eventually(lambda: time.monotonic() > frozen + seconds, "Redis is frozen", seconds + 5)
        thawed = time.monotonic()
        rig.server.thaw()
        before = history.accepted
        await eventually(lambda: history.accepted > before, "play goes on")
        back = time.monotonic() - thawed
        load.stop()
        await working
    met = [call for call in load.ended if frozen < call.ended and call.began < thawed]
    return Met(
        met, [call for call in met if frozen < call.began and call.ended < thawed], [p.room for p in pairs], back
    )


@pytest.mark.shows("P11")
async def test_without_redis_every_call_ends_in_time_and_nothing_is_accepted(
    rig: Rig, history: History, promise: Promise
) -> None:
    met = await freeze_under_load(rig, history, FROZEN_SECONDS)
    assert await rig.findings(met.rooms, history) == []
    assert met.silent == []
    assert SMOKE or met.late == []
    assert met.accepted == []
    assert met.within
    assert SMOKE or {call.what for call in met.within} == {"_act", "_look", "_list", "_score"}
    latest = max(call.took - call.deadline for call in met.calls)
    promise(
        "P11",
        f"{FROZEN_SECONDS} s without Redis: {len(met.calls):,} calls ended with UNAVAILABLE and a time to retry, the "
        f"latest {latest * 1e3:+.0f} ms after its deadline, 0 accepted; play went on after {met.back:.1f} s",
    )


@pytest.mark.long
@pytest.mark.control("P11")
async def test_control_calls_without_bounds_end_too_late(tmp_path: Path, history: History, promise: Promise) -> None:
    with started(tmp_path, modules=with_authority("tests.faults.unbounded_calls")) as rig:
        met = await freeze_under_load(rig, history, 5)
    assert met.late
    promise("P11", f"without bounds {len(met.late)} of {len(met.calls)} calls are left without an answer")


@pytest.mark.long
@pytest.mark.control("P11")
async def test_control_an_authority_that_answers_first_accepts_what_it_cannot_keep(
    tmp_path: Path, history: History, promise: Promise
) -> None:
    with started(tmp_path, modules=with_authority("tests.faults.early_answers")) as rig:
        met = await freeze_under_load(rig, history, 5)
    assert met.accepted
    promise("P11", f"answering first {len(met.accepted)} acts are accepted without Redis")
