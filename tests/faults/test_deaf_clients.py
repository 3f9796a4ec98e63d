"""Clients that stop reading: they cost bounded memory, delay nobody, and are cut with a token that loses them nothing.

Controls: a server that lets any amount wait for any time, and one whose tokens lead past what it dropped.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import time
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest
from maumau.v1 import authority_pb2

from services.local.stack import Stack
from services.runtime.routes import GAME_AUTHORITY, MATCHMAKING
from tests.e2e.calls import Guest, channel_to, sign_in
from tests.e2e.eventually import eventually
from tests.e2e.stacks import with_authority
from tests.faults.acting import accepted, ready
from tests.faults.checker import Kind
from tests.faults.crowd import Crowd, Member, Way, crowd
from tests.faults.delays import event_delays, quantile
from tests.faults.history import History, Records, read_records
from tests.faults.meters import counting_cuts, cut, watching
from tests.faults.record import Promise
from tests.faults.rig import started
from tests.faults.scale import PATIENCE, SIZE, SIZES, count

pytestmark = PATIENCE

SMOKE = SIZES[0] == SIZE
READERS, DEAF = count(2, 40, 95), count(1, 5, 5)
CHAT_SECONDS, ACT_SECONDS = count(2, 30, 30) / 1e3, count(10, 40, 60) / 1e3
"""Between two texts of 1.2 kB, and between two acts."""
ROUNDS, ACTS_BETWEEN = count(1, 12, 24), count(20, 100, 70)
"""They read and do not read in turns, short ones, so that what else the machine does meets both alike. So many acts are
made while they do."""
CUT_SECONDS = 120.0
MEGABYTES_EACH = 10
SMALL_BOUND, SHORT_BOUND = {"MAUMAU_STREAM_QUEUE_BYTES": "65536"}, {"MAUMAU_STREAM_QUEUE_SECONDS": "2"}
BOUNDS = SMALL_BOUND if SMOKE else SHORT_BOUND
"""Many turns do not wait as long as readers may; the one who never reads again has the usual bound."""
ONE = {"authorities": 1} if SMOKE else {}
NO_BOUNDS = {"MAUMAU_STREAM_QUEUE_BYTES": str(10**9), "MAUMAU_STREAM_QUEUE_SECONDS": str(10**6)}
TEXT = "🂡" * 300


class Noise:
    """Texts and acts in one room, evenly, until it is ended. `version` is the last one made, `acts` counts them."""

    def __init__(self, guest: Guest, room: str, history: History) -> None:
        self._guest, self._room, self._history = guest, room, history
        self.version = self.acts = self.texts = 0

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        tasks = [asyncio.create_task(self._talk()), asyncio.create_task(self._act())]
        self._end = asyncio.Event()
        try:
            yield
        finally:
            self._end.set()
            await asyncio.gather(*tasks)

    async def _talk(self) -> None:
        while not self._end.is_set():
            request = authority_pb2.SendChatRequest(room_id=self._room, text=TEXT, request_id=os.urandom(16))
            await self._guest.rooms.SendChat(request, metadata=self._guest.metadata(self._room), timeout=20)
            self.texts += 1
            await asyncio.sleep(CHAT_SECONDS)

    async def _act(self) -> None:
        while not self._end.is_set():
            self.version = await accepted(self._history, self._guest, self._room, ready(self.acts))
            self.acts += 1
            await asyncio.sleep(ACT_SECONDS)

    async def goes_on(self, acts: int) -> None:
        """Returns after so many more acts."""
        wanted = self.acts + acts
        await eventually(lambda: self.acts >= wanted, "people act", CUT_SECONDS)


class Watched(NamedTuple):
    """A room, who makes a noise in it, and where the clients are."""

    address: str
    members: list[Member]
    noise: Noise


@contextlib.asynccontextmanager
async def noisy(stack: Stack, history: History) -> AsyncIterator[Watched]:
    """A room of two people; those who watch it have their sessions."""
    async with contextlib.AsyncExitStack() as opened:
        lobby = await opened.enter_async_context(channel_to(stack.addresses(MATCHMAKING)[0]))
        address = stack.address if stack.has_envoy else stack.addresses(GAME_AUTHORITY)[0]
        rooms = await opened.enter_async_context(channel_to(address))
        ana, bo = [await sign_in(lobby, name, rooms=rooms) for name in ("Ana", "Bo")]
        room = await ana.create_room(2)
        await bo.join(room)
        yield Watched(address, [Member(room, ana.token), Member(room, bo.token)], Noise(ana, room, history))


def megabytes(stack: Stack) -> float:
    """What the authorities and Envoy have in memory."""
    names = [name for name in stack.children if name.startswith(GAME_AUTHORITY) or name == "envoy"]
    texts = [Path(f"/proc/{stack[name].pid}/status").read_text() for name in names]
    return sum(int(text.split("VmRSS:")[1].split()[0]) for text in texts) / 1024


async def readers(opened: contextlib.AsyncExitStack, way: Way, number: int, room: Watched, file: Path) -> Crowd:
    """So many clients of this kind."""
    return await opened.enter_async_context(crowd(way, room.address, room.members * number, file))


class Turns(NamedTuple):
    """When all read and when some did not, in turns (ns, monotonic); the most memory (MB) and time (s) that it took
    until those were cut, and how much was due to each then (MB)."""

    reading: list[tuple[int, int]]
    deaf: list[tuple[int, int]]
    more: float
    took: float
    due: float


async def take_turns(stack: Stack, room: Watched, deaf: Crowd, cuts: Callable[[], int]) -> Turns:
    """They read, then they do not until they are cut, then they resume; so often."""
    turns = Turns([], [], 0.0, 0.0, 0.0)
    await deaf.read(ends=0)
    for number in range(1, ROUNDS + 1):
        assert (await deaf.reach(room.noise.version)).missing == 0, "they resume"
        began = time.monotonic_ns()
        await room.noise.goes_on(ACTS_BETWEEN)
        turns.reading.append((began, time.monotonic_ns()))
        memory, texts = megabytes(stack), room.noise.texts
        await deaf.stop_reading()
        began, so_far = time.monotonic_ns(), number * DEAF
        await eventually(functools.partial(_comes_to, so_far, cuts), "all that do not read are cut", CUT_SECONDS)
        turns.deaf.append((began, time.monotonic_ns()))
        took, more = (time.monotonic_ns() - began) / 1e9, megabytes(stack) - memory
        due = (room.noise.texts - texts) * len(TEXT.encode()) / 1e6
        turns = turns._replace(more=max(turns.more, more), took=max(turns.took, took), due=max(turns.due, due))
        answer = await deaf.read(ends=number)
    assert answer.errors == ["TOO_SLOW"] * DEAF * ROUNDS
    return turns


def _comes_to(number: int, count: Callable[[], int]) -> bool:
    return count() == number


@pytest.mark.shows("P13")
@pytest.mark.parametrize("envoy", [pytest.param(True, marks=pytest.mark.long), False], ids=["envoy", "direct"])
async def test_clients_that_do_not_read_are_cut_and_delay_nobody(
    tmp_path: Path, history: History, promise: Promise, *, envoy: bool
) -> None:
    files = [history.path.with_suffix(suffix) for suffix in (".readers", ".deaf")]
    async with contextlib.AsyncExitStack() as opened:
        rig = opened.enter_context(started(tmp_path, environ=BOUNDS, envoy=envoy, **ONE))
        room = await opened.enter_async_context(noisy(rig.stack, history))
        reading = await readers(opened, Way.PLAIN, READERS // 2, room, files[0])
        deaf = await opened.enter_async_context(crowd(Way.DEAF, room.address, (room.members * DEAF)[:DEAF], files[1]))
        async with room.noise.running(), counting_cuts(rig.stack) as cuts:
            turns = await take_turns(rig.stack, room, deaf, cuts)
        for each in (reading, deaf):
            assert (await each.reach(room.noise.version)).missing == 0
        assert await rig.findings([room.members[0].room], history, files) == []
    assert turns.more <= MEGABYTES_EACH * DEAF
    records = read_records([history.path, files[0]])
    usual, meanwhile = p99(records, turns.reading), p99(records, turns.deaf)
    apart = [p99(records, turns.reading[first::2] or turns.reading) for first in (0, 1)]
    noise, ratio = max(apart) / min(apart), meanwhile / usual
    assert SMOKE or ratio <= max(1.2, noise)
    promise(
        "P13",
        f"{'behind Envoy' if envoy else 'directly'}: {DEAF} of {READERS + DEAF} do not read, {ROUNDS} times: cut after "
        f"{turns.took:.0f} s and {turns.due:.1f} MB each at most, {turns.more:+.1f} MB in all, 0 events missed after "
        f"resuming; the others' p99 {meanwhile * 1e3:.0f} ms meanwhile, {usual * 1e3:.0f} ms in between, {ratio:.2f} "
        f"times, where one half of the latter and the other differ {noise:.2f} times",
    )


def p99(records: Records, spans: Sequence[tuple[int, int]]) -> float:
    """Of all acts that were made in these spans."""
    return quantile([delay for span in spans for delay in event_delays(records, *span)], 0.99)


@pytest.mark.long
@pytest.mark.shows("P13")
async def test_the_stream_of_one_who_never_reads_again_is_freed(
    tmp_path: Path, history: History, promise: Promise
) -> None:
    async with contextlib.AsyncExitStack() as opened:
        rig = opened.enter_context(started(tmp_path, envoy=False, authorities=1))
        room = await opened.enter_async_context(noisy(rig.stack, history))
        file = history.path.with_suffix(".deaf")
        await opened.enter_async_context(crowd(Way.DEAF, room.address, room.members[:1], file))
        began = time.monotonic()
        async with room.noise.running():
            await eventually(lambda: watching(rig.stack) == 0, "its stream is freed", CUT_SECONDS)
        took = time.monotonic() - began
        assert cut(rig.stack) == 1
    promise("P13", f"who never reads again: stream freed after {took:.0f} s, with a bound of 10 s")


@pytest.mark.long
@pytest.mark.control("P13")
async def test_control_a_server_without_bounds_cuts_nobody(tmp_path: Path, history: History, promise: Promise) -> None:
    async with contextlib.AsyncExitStack() as opened:
        rig = opened.enter_context(started(tmp_path, environ=NO_BOUNDS, envoy=False))
        room = await opened.enter_async_context(noisy(rig.stack, history))
        file = history.path.with_suffix(".deaf")
        await opened.enter_async_context(crowd(Way.DEAF, room.address, (room.members * DEAF)[:DEAF], file))
        began = time.monotonic()
        async with room.noise.running():
            await eventually(lambda: time.monotonic() > began + 15, "more than the promised time is over", CUT_SECONDS)
        uncut = DEAF - cut(rig.stack)
    assert uncut == DEAF
    promise("P13", f"without bounds {uncut} of {DEAF} have a growing queue after 15 s")


@pytest.mark.long
@pytest.mark.control("P13")
async def test_control_tokens_that_lead_past_what_was_dropped_are_found_out(
    tmp_path: Path, history: History, promise: Promise
) -> None:
    modules, file = with_authority("tests.faults.forward_tokens"), history.path.with_suffix(".deaf")
    async with contextlib.AsyncExitStack() as opened:
        asked = {"environ": SMALL_BOUND, "envoy": False, "authorities": 1, "modules": modules}
        rig = opened.enter_context(started(tmp_path, **asked))
        room = await opened.enter_async_context(noisy(rig.stack, history))
        deaf = await opened.enter_async_context(crowd(Way.DEAF, room.address, room.members[:1], file))
        async with room.noise.running():
            await eventually(lambda: cut(rig.stack), "it is cut", CUT_SECONDS)
            assert (await deaf.read()).errors == ["TOO_SLOW"]
        assert (await deaf.reach(room.noise.version)).missing == 0
        found = await rig.findings([room.members[0].room], history, [file])
    assert {finding.kind for finding in found} == {Kind.MISSED}
    promise("P13", "with a token that leads past what was dropped, events are missed")
