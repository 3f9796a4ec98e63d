"""All who watch at one authority lose it at once: they are all back in time, and nobody is shown an error.

Control: clients that open their stream again at once and only once.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
import urllib.request
from collections.abc import AsyncIterator
from pathlib import Path

import maumau
import pytest
from maumau.v1 import authority_pb2_grpc

from services.local.stack import Stack
from services.runtime.routes import GAME_AUTHORITY, MATCHMAKING
from tests.e2e.calls import Guest, channel_to, sign_in
from tests.faults.acting import accepted, ready
from tests.faults.crowd import Crowd, Member, Way, crowd
from tests.faults.history import History
from tests.faults.meters import authorities, watching
from tests.faults.record import Promise
from tests.faults.rig import Rig, started
from tests.faults.scale import PATIENCE, SIZE, SIZES, count

pytestmark = PATIENCE

WATCHERS, PROCESSES = count(16, 1_500, 3_000), count(1, 3, 6)
BACK_SECONDS = float(count(90, 30, 30))
PROBE_SECONDS, ANSWER_SECONDS = 0.5, count(30, 5, 5)


class Probes:
    """Asks every process whether it is alive, as an orchestrator does. `failed` names those that were not."""

    def __init__(self, stack: Stack, names: list[str]) -> None:
        self._ports = {name: stack.process(name).metrics_port for name in names}
        self.asked, self.failed = 0, set[str]()

    async def ask_on(self) -> None:
        """Until cancelled."""
        while True:
            for name, port in self._ports.items():
                try:
                    await asyncio.to_thread(_ask, port)
                except OSError:
                    self.failed.add(name)
                self.asked += 1
            await asyncio.sleep(PROBE_SECONDS)


def _ask(port: int) -> None:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/livez", timeout=ANSWER_SECONDS):
        pass


def files_of(history: History) -> list[Path]:
    """The histories of the crowds."""
    return [history.path.with_suffix(f".{number}") for number in range(PROCESSES)]


@contextlib.asynccontextmanager
async def watched(way: Way, address: str, guest: Guest, room: str, history: History) -> AsyncIterator[list[Crowd]]:
    """Everybody watches the one room."""
    async with contextlib.AsyncExitStack() as opened:
        members = [Member(room, guest.token)] * (WATCHERS // PROCESSES)
        yield list(
            await asyncio.gather(
                *(opened.enter_async_context(crowd(way, address, members, file)) for file in files_of(history))
            )
        )


@contextlib.asynccontextmanager
async def place(tmp_path: Path, rig: Rig, *, envoy: bool) -> AsyncIterator[tuple[Rig, str]]:
    """The server, and where its clients find it."""
    if envoy and SIZES[0] == SIZE:
        yield rig, rig.stack.address
        return
    with started(tmp_path / "var", envoy=envoy) as own:
        yield own, own.stack.address if envoy else str(tmp_path)


@pytest.mark.shows("P15")
@pytest.mark.parametrize("envoy", [True, pytest.param(False, marks=pytest.mark.long)], ids=["envoy", "direct"])
async def test_watchers_dropped_at_once_are_all_back(
    tmp_path: Path, rig: Rig, history: History, promise: Promise, *, envoy: bool
) -> None:
    async with contextlib.AsyncExitStack() as opened:
        server, address = await opened.enter_async_context(place(tmp_path, rig, envoy=envoy))
        stack = server.stack
        lobby = await opened.enter_async_context(channel_to(stack.addresses(MATCHMAKING)[0]))
        acting = await opened.enter_async_context(channel_to(stack.addresses(GAME_AUTHORITY)[-1]))
        ana = await sign_in(lobby, "Ana", rooms=acting)
        room = await ana.create_room(2)
        crowds = await opened.enter_async_context(watched(Way.SDK, address, ana, room, history))
        names = [process.name for process in stack.processes]
        victim = max(authorities(stack), key=lambda name: watching(stack, name))
        dropped = watching(stack, victim)
        assert dropped >= WATCHERS * 3 // 4, "a busy process may have been passed over for a moment"
        others = [name for name in names if name != victim]
        probes, starts = Probes(stack, others), {name: stack[name].starts for name in others}
        probing = asyncio.create_task(probes.ask_on())
        if stack.process(victim).address == stack.addresses(GAME_AUTHORITY)[-1]:
            acting = await opened.enter_async_context(channel_to(stack.addresses(GAME_AUTHORITY)[0]))
        killed = time.monotonic_ns()
        stack[victim].kill()
        last = await accepted(history, ana, room, ready(0), at=authority_pb2_grpc.GameAuthorityServiceStub(acting))
        answers = await asyncio.gather(*(each.reach(last, BACK_SECONDS) for each in crowds))
        back = (max(answer.at for answer in answers) - killed) / 1e9
        probing.cancel()
        assert [(answer.missing, answer.errors) for answer in answers] == [(0, [])] * PROCESSES
        assert back <= BACK_SECONDS
        assert probes.failed == set()
        assert {name: stack[name].starts for name in others} == starts
        await asyncio.to_thread(stack.wait_ready)
        assert await server.findings([room], history, files_of(history)) == []
    behind = "behind Envoy" if envoy else "directly"
    promise(
        "P15",
        f"{behind}: {dropped:,} of {dropped:,} back after {back:.1f} s, 0 errors shown, {probes.asked} probes of the "
        "others answered",
    )


@pytest.mark.long
@pytest.mark.control("P15")
async def test_control_clients_that_try_once_and_at_once_are_lost(rig: Rig, history: History, promise: Promise) -> None:
    victim = rig.stack.processes[1]
    async with contextlib.AsyncExitStack() as opened:
        lobby = await opened.enter_async_context(channel_to(rig.stack.address))
        ana = await sign_in(lobby, "Ana")
        room = await ana.create_room(2)
        crowds = await opened.enter_async_context(watched(Way.ONCE, victim.address, ana, room, history))
        rig.stack[victim.name].kill()
        await asyncio.to_thread(rig.stack.wait_ready)
        async with maumau.connect(rig.stack.address, token=ana.token) as client, client.room(room) as side:
            last = await side.ready()
        answers = await asyncio.gather(*(each.reach(last, BACK_SECONDS) for each in crowds))
    lost = sum(answer.missing for answer in answers)
    assert lost > 0
    promise("P15", f"without trying again {lost} of {WATCHERS} stay away")
