"""Redis answers, and the answer is lost: what was sent again takes effect once, and matches go on to their end.

Control: an authority that does not know a repeat when it sees one.
"""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path

import pytest

from tests.e2e.playing import Match, get_on, party, rest
from tests.e2e.stacks import with_authority
from tests.faults.checker import Kind
from tests.faults.history import History, Outcome, read_records
from tests.faults.record import Promise
from tests.faults.rig import Rig, started
from tests.faults.scale import PATIENCE, count

pytestmark = PATIENCE

LOST_REPLIES = 0.05
ROOMS = 4
CONTROL_ACTS = 100


async def play_on_a_lossy_line(rig: Rig, history: History, acts: int) -> list[str]:
    """Matches for a while, then nobody acts any more; their rooms."""
    async with contextlib.AsyncExitStack() as opened:
        parties = [
            await opened.enter_async_context(
                party(rig.stack.address, Match(2, 1, options={"match.target": 10_000}), history, f"L{number}")
            )
            for number in range(ROOMS)
        ]
        for players in parties:
            await players.start()
        matches = asyncio.gather(*(players.play() for players in parties), return_exceptions=True)
        rig.proxy.lost_replies = LOST_REPLIES
        await get_on(history, acts)
        rig.proxy.lost_replies = 0.0
        await rest(parties, history)
        matches.cancel()
        return [players.room_id for players in parties]


@pytest.mark.shows("P5")
async def test_a_lost_reply_neither_loses_nor_doubles_an_action(rig: Rig, history: History, promise: Promise) -> None:
    rooms = await play_on_a_lossy_line(rig, history, count(100, 2_000, 10_000))
    assert await rig.findings(rooms, history) == []
    assert read_records([history.path]).count(Outcome.UNKNOWN) == 0, "in the end everybody knows"
    promise("P5", f"{history.accepted:,} applied once each, {rig.proxy.lost:,} replies of Redis lost, none doubled")


@pytest.mark.control("P5")
async def test_control_an_authority_that_forgets_requests_is_found_out(
    tmp_path: Path, history: History, promise: Promise
) -> None:
    with started(tmp_path, modules=with_authority("tests.faults.forgotten_requests")) as rig:
        rooms = await play_on_a_lossy_line(rig, history, CONTROL_ACTS)
        found = await rig.findings(rooms, history)
    wrong = [finding for finding in found if finding.kind in (Kind.UNEXPLAINED, Kind.LOST, Kind.DOUBLED)]
    assert wrong
    promise("P5", f"{len(wrong)} wrong of {history.accepted} by an authority that forgets requests")
