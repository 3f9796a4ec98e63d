"""The connections on which processes hear of each other's versions are cut again and again: no client misses any.

Control: a process that does not read the log after a cut. Its bookmarks, whose version is Redis's own, show the loss.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import NamedTuple

import pytest

from services.runtime.routes import GAME_AUTHORITY, MATCHMAKING
from tests.e2e.calls import Duel, channel_to, sign_in
from tests.e2e.stacks import with_authority
from tests.faults.acting import accepted, ready, start, turn
from tests.faults.crowd import Crowd, Member, Way, crowd
from tests.faults.delays import event_delays, quantile
from tests.faults.history import History, read_records
from tests.faults.record import Promise
from tests.faults.rig import Rig, started
from tests.faults.scale import PATIENCE, SIZE, SIZES, count

pytestmark = PATIENCE

WATCHERS, EVENTS = count(6, 50, 50), count(60, 5_000, 10_000)
SECONDS_BETWEEN_CUTS = count(0, 1, 1)
DELAY_P99_SECONDS = 1.0
EVENTS_WITHOUT = 20
"""As many are enough for the control, each after a cut."""


class Watched(NamedTuple):
    """Two players, and the processes that watch their room."""

    pair: Duel
    crowds: list[Crowd]
    files: list[Path]

    async def all_reach(self, version: int, seconds: float = 30.0) -> int:
        """How many clients have not seen this version after that time."""
        answers = await asyncio.gather(*(each.reach(version, seconds) for each in self.crowds))
        return sum(answer.missing for answer in answers)


@contextlib.asynccontextmanager
async def watched(rig: Rig, history: History, watchers: int) -> AsyncIterator[Watched]:
    """A room that is watched at every process; its two players act at the last one."""
    async with contextlib.AsyncExitStack() as opened:
        addresses = rig.stack.addresses(GAME_AUTHORITY)
        acting = await opened.enter_async_context(channel_to(addresses[-1]))
        lobby = await opened.enter_async_context(channel_to(rig.stack.addresses(MATCHMAKING)[0]))
        ana, bo = [await sign_in(lobby, name, rooms=acting) for name in ("Ana", "Bo")]
        room = await ana.create_room(2)
        await bo.join(room)
        members = [Member(room, (ana, bo)[number % 2].token) for number in range(watchers)]
        files = [history.path.with_suffix(f".{number}") for number in range(len(addresses))]
        shares = [members[number :: len(addresses)] for number in range(len(addresses))]
        crowds = [
            await opened.enter_async_context(crowd(Way.PLAIN, *where))
            for where in zip(addresses, shares, files, strict=True)
        ]
        yield Watched(Duel(ana, bo, room), crowds, files)


class Cuts:
    """Redis drops every connection that has subscribed, whenever it is time. `connections` counts those."""

    def __init__(self, rig: Rig) -> None:
        self._server = rig.server
        self._due = 0.0
        self.times = self.connections = 0

    def cut_if_due(self) -> None:
        if time.monotonic() < self._due:
            return
        self._due = time.monotonic() + SECONDS_BETWEEN_CUTS
        with contextlib.closing(self._server.client()) as client:
            self.connections += int(client.client_kill_filter(_type="pubsub"))
        self.times += 1


async def play_with_cuts(history: History, pair: Duel, events: int, cuts: Cuts) -> int:
    """So many versions, some before the match begins, most in it; the last one."""
    for turned in range(events // 10):
        cuts.cut_if_due()
        await accepted(history, pair.ana, pair.room, ready(turned))
    await start(history, pair)
    last = 0
    for _ in range(events - events // 10):
        cuts.cut_if_due()
        last = await turn(history, pair)
    return last


@pytest.mark.shows("P6")
async def test_who_watches_misses_nothing_when_channels_are_cut(rig: Rig, history: History, promise: Promise) -> None:
    cuts = Cuts(rig)
    async with watched(rig, history, WATCHERS) as room:
        last = await play_with_cuts(history, room.pair, EVENTS, cuts)
        assert await room.all_reach(last) == 0
    assert await rig.findings([room.pair.room], history, room.files) == []
    records = read_records([history.path, *room.files])
    delays = event_delays(records)
    assert len(delays) >= WATCHERS * EVENTS
    assert cuts.connections > 0, "subscriptions were there to be cut"
    p99 = quantile(delays, 0.99)
    assert SIZES[0] == SIZE or p99 < DELAY_P99_SECONDS
    promise(
        "P6",
        f"0 missed, repeated or out of order, {WATCHERS} watchers x {EVENTS:,} events, {cuts.times} cuts of "
        f"{cuts.connections} connections; delay p50 {quantile(delays, 0.5) * 1e3:.0f} ms, p99 {p99 * 1e3:.0f} ms",
    )


@pytest.mark.long
@pytest.mark.control("P6")
async def test_control_a_process_that_does_not_read_the_log_is_found_out(
    tmp_path: Path, history: History, promise: Promise
) -> None:
    with started(tmp_path, modules=with_authority("tests.faults.deaf_deliveries"), envoy=False) as rig:
        async with watched(rig, history, WATCHERS) as room:
            for turned in range(EVENTS_WITHOUT):
                Cuts(rig).cut_if_due()
                last = await accepted(history, room.pair.ana, room.pair.room, ready(turned))
            missing = await room.all_reach(last, 3.0)
    assert missing > 0
    promise("P6", f"without reading the log {missing} of {WATCHERS} watchers missed events")
