"""Finished matches of all games are replayed from their logs by the rules, bit for bit; and seeds of the simulation.

Controls: an authority that does not deal from its seed, and a simulation without one of the protections.
"""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from services.local.stack import Stack
from services.rules.room.codec import decode
from services.store.assembly import Store
from services.store.connect import StoreSettings
from services.store.keys import RoomId
from tests.e2e.playing import Match, party
from tests.e2e.stacks import options, with_authority
from tests.faults.checker import read_log
from tests.faults.history import History
from tests.faults.record import Promise
from tests.faults.replay import CannotFollow, replayed, state_hash
from tests.faults.rig import Rig
from tests.faults.scale import PATIENCE, USUAL, count

pytestmark = PATIENCE

ONE_ROUND: dict[str, Any] = {"match.target": "single"}
GAMES = (
    Match(1, 1, "mau-mau-32", {"match.target": 60}),
    Match(2, 2, "mau-mau-brasil", ONE_ROUND),
    Match(1, 2, "uno", ONE_ROUND),
    Match(2, 1, "uno-casa", ONE_ROUND),
    Match(1, 3, "tranca", ONE_ROUND),
    Match(1, 2, "uno-mattel", ONE_ROUND),
)
MATCHES = GAMES * count(1, 20, 167)
AT_ONCE = 6
SEEDS = count(0, 300, 10_000)
ROOT = Path(__file__).parents[2]
SUMMARY = re.compile(r"^(\d+) seeds, (\d+) commits, .* (\d+) broken", re.MULTILINE)


async def finished(address: str, history: History, matches: tuple[Match, ...]) -> list[str]:
    """The rooms of matches that were played to their end."""
    slots = asyncio.Semaphore(AT_ONCE)

    async def one(number: int, match: Match) -> str:
        async with slots, party(address, match, history, f"R{number}") as players:
            await players.start()
            await players.play()
            return players.room_id

    return list(await asyncio.gather(*(one(number, match) for number, match in enumerate(matches))))


async def outcomes(redis_url: str, rooms: list[str]) -> tuple[Counter[str], int]:
    """How many rooms came to the same state, to another one, or to none; and of how many versions they are."""
    found, versions = Counter[str](), 0
    async with Store(StoreSettings(url=redis_url)) as store:
        for room in rooms:
            snapshot = await store.rooms.read(RoomId(room))
            assert snapshot is not None
            stored, log = decode(snapshot.state), await read_log(store.rooms, room)
            versions += len(log)
            try:
                same = state_hash(replayed(log, stored)[-1]) == state_hash(stored)
                found["same" if same else "another"] += 1
            except CannotFollow:
                found["none"] += 1
    return found, versions


@pytest.mark.shows("P19")
async def test_every_finished_match_replays_from_its_log(rig: Rig, history: History, promise: Promise) -> None:
    rooms = await finished(rig.stack.address, history, MATCHES)
    found, versions = await outcomes(rig.server.url, rooms)
    assert found == {"same": len(MATCHES)}
    promise("P19", f"{len(rooms)} of {len(rooms)} finished matches ({versions:,} versions) to the same state hash")


@USUAL
@pytest.mark.control("P19")
async def test_control_deals_that_are_not_from_the_seed_do_not_replay(
    tmp_path: Path, history: History, promise: Promise
) -> None:
    with Stack(options(tmp_path, authorities=1, modules=with_authority("tests.faults.unseeded_deals"))) as stack:
        rooms = await finished(stack.address, history, GAMES)
        found, _ = await outcomes(stack.redis_url, rooms)
    assert found["none"] == len(GAMES)
    promise("P19", f"{found['none']} of {len(GAMES)} do not replay when deals are not from the seed")


class Simulated(NamedTuple):
    """What `make simulate` said: seeds, commits, broken seeds, and all of it."""

    seeds: int
    commits: int
    broken: int
    said: str


def simulated(*words: str) -> Simulated:
    command = [sys.executable, "-m", "tests.simulation", *words]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout
    found = SUMMARY.search(said)
    assert found, said
    return Simulated(int(found[1]), int(found[2]), int(found[3]), said)


@USUAL
@pytest.mark.shows("P19")
def test_no_seed_of_the_simulation_breaks_a_promise(promise: Promise) -> None:
    found = simulated("--seeds", str(SEEDS))
    assert (found.seeds, found.broken) == (SEEDS, 0), found.said
    promise("P19", f"{SEEDS:,} simulated seeds with faults ({found.commits:,} commits): 0 broken")


@USUAL
@pytest.mark.control("P19")
@pytest.mark.parametrize("protection", ["mark-compare", "outages-credited"])
def test_control_the_simulation_notices_a_missing_protection(protection: str, promise: Promise) -> None:
    found = simulated("--seeds", "60", "--off", protection)
    assert found.broken
    promise("P19", f"{found.broken} of {found.seeds} seeds broken without {protection}")
