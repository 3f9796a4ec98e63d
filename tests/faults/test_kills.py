"""`kill -9` of an authority and of Redis in the middle of matches: no accepted action is lost, results count once.

Each promise has its control, the same with the protection off, in which the checker must find the loss.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from services.local.child import Child
from services.local.stack import Stack
from services.runtime.routes import GAME_AUTHORITY
from tests.e2e.eventually import eventually
from tests.e2e.playing import Match, Party, Person, get_on, party
from tests.e2e.stacks import complaints, options, with_authority
from tests.faults.checker import Finding, Kind
from tests.faults.history import History, Outcome, read_records
from tests.faults.record import Promise
from tests.faults.rig import findings
from tests.faults.scale import PATIENCE, SIZE, SIZES, count

pytestmark = PATIENCE

LONG, ENDLESS = {"match.target": 150}, {"match.target": 10_000}
MATCHES = (
    *(Match(2, options=LONG),) * count(2, 8, 120),
    *(Match(1, 1, options=LONG),) * count(1, 2, 40),
    *(Match(2, 1, options=LONG),) * count(1, 2, 40),
)
ROUNDS, REDIS_ROUNDS = count(1, 8, 20), count(1, 5, 5)
"""Matches are played to their end so many times, with two kills in the midst of each."""
PEOPLE_ONLY = (Match(2, options=ENDLESS), Match(3, options=ENDLESS))
"""For the controls, in which no match comes to its end."""
ACTS_BETWEEN_KILLS = count(10, 40, 40)
"""However the cards fall, all matches together last longer than twice as many."""
FIRST_COMMIT_SECONDS = 5.0
AUTHORITY, OTHER_AUTHORITY = f"{GAME_AUTHORITY}-1", f"{GAME_AUTHORITY}-2"


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with Stack(options(tmp_path_factory.mktemp("stack"))) as running:
        yield running
        assert complaints(running) == []


@contextlib.asynccontextmanager
async def parties(stack: Stack, history: History, matches: tuple[Match, ...], name: str) -> AsyncIterator[list[Party]]:
    """Rooms whose matches have just started."""
    async with contextlib.AsyncExitStack() as opened:
        played = [
            await opened.enter_async_context(party(stack.address, match, history, f"{name}{number}"))
            for number, match in enumerate(matches)
        ]
        for players in played:
            await players.start()
        yield played


def rooms_of(played: list[Party]) -> list[str]:
    return [players.room_id for players in played]


async def matches_counted(person: Person) -> int:
    return (await person.client.scoring.statistics(family="mau-mau-32")).matches


@pytest.mark.shows("P1")
async def test_a_kill_of_an_authority_loses_no_accepted_action(
    stack: Stack, history: History, promise: Promise
) -> None:
    await play_rounds(stack, history, ROUNDS, [AUTHORITY, OTHER_AUTHORITY])
    promise("P1", told(history, 2 * ROUNDS))


@pytest.mark.shows("P3")
async def test_a_kill_of_redis_loses_no_accepted_action(stack: Stack, history: History, promise: Promise) -> None:
    waits = await play_rounds(stack, history, REDIS_ROUNDS, ["redis"] * 2)
    if SIZE in SIZES[1:]:
        assert max(waits) <= FIRST_COMMIT_SECONDS
    promise("P3", f"{told(history, 2 * REDIS_ROUNDS)}; first commit {max(waits):.1f} s after Redis answers, at most")


def told(history: History, kills: int) -> str:
    return f"0 lost of {history.accepted:,}, {kills} kills of {len(MATCHES)} running matches, every match ended"


async def play_rounds(stack: Stack, history: History, rounds: int, victims: list[str]) -> list[float]:
    """Rounds of matches; how long it took after each kill of Redis until an action was accepted, in s."""
    starts = {name: child.starts for name, child in stack.children.items()}
    waits = list[float]()
    for number in range(rounds):
        waits += await play_through_kills(stack, history, victims, f"K{number}-")
    again = {name for name, child in stack.children.items() if child.starts != starts[name]}
    assert again == set(victims), "nothing else had to be started again"
    assert read_records([history.path]).count(Outcome.ACCEPTED) > rounds * ACTS_BETWEEN_KILLS * len(victims)
    return waits


async def play_through_kills(stack: Stack, history: History, victims: list[str], name: str) -> list[float]:
    """Matches from their start to their end; in between the victims are killed, each once people have got on. From the
    moment at which Redis answers again until people get on, in s."""
    waits = []
    async with parties(stack, history, MATCHES, name) as played:
        matches = asyncio.gather(*(players.play() for players in played))
        for victim in victims:
            await get_on(history, ACTS_BETWEEN_KILLS)
            starts = stack[victim].starts
            stack[victim].kill()
            if victim == "redis":
                waits.append(await commits_again(stack[victim], starts, history))
        await matches
        await asyncio.to_thread(stack.wait_ready)
        assert await findings(stack.redis_url, rooms_of(played), history) == []
        for person in (person for players in played for person in players.people):
            await eventually(lambda: matches_counted(person), "scoring has the result")  # noqa: B023 - awaited at once
            assert await matches_counted(person) == 1
    return waits


async def commits_again(redis: Child, starts: int, history: History) -> float:
    """How long people wait from the moment at which a Redis that was killed answers again, in s."""
    await eventually(lambda: redis.starts > starts and redis.ready, "Redis answers again")
    answers = time.monotonic()
    await get_on(history, 1)
    return time.monotonic() - answers


@contextlib.contextmanager
def unprotected(var_dir: Path, **changed: Any) -> Iterator[Stack]:
    """A server with one protection off, for a control."""
    with Stack(options(var_dir, authorities=1, **changed)) as running:
        yield running


async def killed_in_the_middle(stack: Stack, history: History, victim: str) -> list[Finding]:
    """What the checker finds after one kill, the victim staying away until nothing acts any more."""
    async with parties(stack, history, PEOPLE_ONLY, "C") as played:
        matches = asyncio.gather(*(players.play() for players in played), return_exceptions=True)
        await get_on(history, ACTS_BETWEEN_KILLS)
        stack[victim].restart = False
        stack[victim].kill()
        await asyncio.to_thread(stack[victim].wait_ended, 10)
        matches.cancel()
        stack[victim].restart = True
        await asyncio.to_thread(stack.wait_ready)
        return await findings(stack.redis_url, rooms_of(played), history)


@pytest.mark.control("P1")
async def test_control_an_authority_that_answers_before_it_commits_is_found_out(
    tmp_path: Path, history: History, promise: Promise
) -> None:
    with unprotected(tmp_path, modules=with_authority("tests.faults.early_answers")) as stack:
        found = await killed_in_the_middle(stack, history, AUTHORITY)
    lost = sum(finding.kind is Kind.LOST for finding in found)
    assert lost > 0
    promise("P1", f"{lost} lost of {history.accepted} by an authority that answers before it commits")


@pytest.mark.control("P3")
async def test_control_a_redis_without_its_file_is_found_out(
    tmp_path: Path, history: History, promise: Promise
) -> None:
    with unprotected(tmp_path, redis_arguments=("--appendonly", "no")) as stack:
        found = await killed_in_the_middle(stack, history, "redis")
    lost = sum(finding.kind is Kind.LOST for finding in found)
    assert lost >= ACTS_BETWEEN_KILLS
    promise("P3", f"{lost} lost of {history.accepted} by a Redis without its file")
