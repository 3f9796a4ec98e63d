"""Redis or the server answers, and the answer is lost: what was sent again takes effect once and has the same answer,
and matches go on.

Control: an authority that does not know a repeat when it sees one.
"""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.e2e.calls import channel_to, duel
from tests.e2e.playing import Match, get_on, party, rest
from tests.e2e.stacks import with_authority
from tests.faults.acting import Insistent
from tests.faults.checker import Kind
from tests.faults.history import History, Outcome, read_records
from tests.faults.lossy_edge import LossyEdge
from tests.faults.record import Promise
from tests.faults.rig import Rig, started
from tests.faults.scale import PATIENCE, USUAL, count

pytestmark = PATIENCE

LOST_REPLIES = 0.05
MATCH = Match(2, 1, options={"match.target": 10_000})
MODES = ("play", "unary", "play", "unary")
INSISTENT = 4
ACTS = count(100, 5_000, 10_000)
WRONG = (Kind.UNEXPLAINED, Kind.LOST, Kind.DOUBLED)
CONTROL_ACTS, CONTROL_TRIES = 200, 5
"""The first try nearly always shows what it should; that all five do not is no chance that comes."""


class Lossy(NamedTuple):
    """The share of replies that is lost, of Redis and of the server."""

    redis: float = 0.0
    server: float = 0.0


class Played(NamedTuple):
    """What was played meanwhile: the rooms, the replies that were lost, how often a request was repeated by who does
    so itself, and which of their repeats had another version for an answer."""

    rooms: list[str]
    lost_by_redis: int
    lost_by_server: int
    repeated: int
    differing: list[tuple[int, int]]


async def play_on_lossy_lines(rig: Rig, history: History, acts: int, lossy: Lossy) -> Played:
    """Matches for a while, on streams and by single calls, and people who repeat what they asked; then nobody acts any
    more."""
    async with contextlib.AsyncExitStack() as opened:
        edge = opened.enter_context(LossyEdge(rig.stack.address))
        parties = [
            await opened.enter_async_context(party(edge.address, MATCH, history, f"L{number}", mode=mode))
            for number, mode in enumerate(MODES)
        ]
        for players in parties:
            await players.start()
        channels = [await opened.enter_async_context(channel_to(edge.address)) for _ in range(INSISTENT)]
        insistent = [Insistent(history, await duel(channel), doubts=True) for channel in channels]
        matches = asyncio.gather(*(players.play() for players in parties), return_exceptions=True)
        acting = asyncio.gather(*(one.run() for one in insistent))
        rig.proxy.lost_replies, edge.lost_replies = lossy
        await get_on(history, acts)
        rig.proxy.lost_replies = edge.lost_replies = 0.0
        for one in insistent:
            one.stop()
        await acting
        await rest(parties, history)
        matches.cancel()
        return Played(
            [*(players.room_id for players in parties), *(one.room for one in insistent)],
            rig.proxy.lost,
            edge.lost,
            sum(one.repeated for one in insistent),
            [pair for one in insistent for pair in one.differing],
        )


@pytest.mark.shows("P5")
async def test_a_lost_reply_neither_loses_nor_doubles_an_action(rig: Rig, history: History, promise: Promise) -> None:
    played = await play_on_lossy_lines(rig, history, ACTS, Lossy(LOST_REPLIES, LOST_REPLIES))
    assert await rig.findings(played.rooms, history) == []
    assert read_records([history.path]).count(Outcome.UNKNOWN) == 0, "in the end everybody knows"
    assert played.differing == []
    assert played.lost_by_redis
    assert played.lost_by_server
    promise(
        "P5",
        f"{history.accepted:,} applied once each, {played.lost_by_redis:,} replies of Redis and "
        f"{played.lost_by_server:,} of the server lost, none doubled; {played.repeated:,} repeats of single calls and "
        "one more of each answered alike",
    )


@pytest.mark.control("P5")
@pytest.mark.parametrize(
    "lossy",
    [
        pytest.param(Lossy(redis=LOST_REPLIES), id="Redis"),
        pytest.param(Lossy(server=LOST_REPLIES), id="server", marks=USUAL),
    ],
)
async def test_control_an_authority_that_forgets_requests_is_found_out(
    tmp_path: Path, history: History, lossy: Lossy, promise: Promise
) -> None:
    with started(tmp_path, modules=with_authority("tests.faults.forgotten_requests")) as rig:
        for _ in range(CONTROL_TRIES):
            played = await play_on_lossy_lines(rig, history, CONTROL_ACTS, lossy)
            found = await rig.findings(played.rooms, history)
            if wrong := [finding for finding in found if finding.kind in WRONG]:
                break
    assert wrong
    whose = "Redis" if lossy.redis else "the server"
    promise("P5", f"{len(wrong)} wrong of {history.accepted} by an authority that forgets requests, replies of {whose}")
