"""`kill -9` of an authority and of Redis in the middle of matches: no accepted action is lost, results count once.

Each promise has its control, the same with the protection off, in which the checker must find the loss.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from services.local.stack import Stack
from services.runtime.routes import GAME_AUTHORITY
from tests.e2e.eventually import eventually
from tests.e2e.playing import Match, Party, Person, get_on, party
from tests.e2e.stacks import complaints, options, with_authority
from tests.faults.checker import Finding, Kind
from tests.faults.history import History, Outcome, read_records
from tests.faults.rig import findings
from tests.faults.scale import PATIENCE, count

pytestmark = PATIENCE

LONG = {"match.target": 150}
MATCHES = (
    *(Match(2, options=LONG),) * count(2, 8, 60),
    *(Match(1, 1, options=LONG),) * count(1, 2, 20),
    *(Match(2, 1, options=LONG),) * count(1, 2, 20),
)
ROUNDS = count(1, 10, 20)
"""Matches are played to their end so many times, with kills in the midst of each."""
PEOPLE_ONLY = (Match(2, options=LONG), Match(3, options=LONG))
ACTS_BETWEEN_KILLS = 40
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


@pytest.mark.parametrize("victims", [[AUTHORITY, OTHER_AUTHORITY], ["redis"] * 2], ids=["authority", "redis"])
async def test_a_kill_loses_no_accepted_action(stack: Stack, history: History, victims: list[str]) -> None:
    starts = {name: child.starts for name, child in stack.children.items()}
    for number in range(ROUNDS):
        await play_through_kills(stack, history, victims, f"K{number}-")
    again = {name for name, child in stack.children.items() if child.starts != starts[name]}
    assert again == set(victims), "nothing else had to be started again"
    assert read_records([history.path]).count(Outcome.ACCEPTED) > ROUNDS * ACTS_BETWEEN_KILLS * len(victims)


async def play_through_kills(stack: Stack, history: History, victims: list[str], name: str) -> None:
    """Matches from their start to their end; in between the victims are killed, each once people have got on."""
    async with parties(stack, history, MATCHES, name) as played:
        matches = asyncio.gather(*(players.play() for players in played))
        for victim in victims:
            await get_on(history, ACTS_BETWEEN_KILLS)
            stack[victim].kill()
        await matches
        await asyncio.to_thread(stack.wait_ready)
        assert await findings(stack.redis_url, rooms_of(played), history) == []
        for person in (person for players in played for person in players.people):
            await eventually(lambda: matches_counted(person), "scoring has the result")  # noqa: B023 - awaited at once
            assert await matches_counted(person) == 1


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


async def test_control_an_authority_that_answers_before_it_commits_is_found_out(
    tmp_path: Path, history: History
) -> None:
    with unprotected(tmp_path, modules=with_authority("tests.faults.early_answers")) as stack:
        found = await killed_in_the_middle(stack, history, AUTHORITY)
    assert Kind.LOST in {finding.kind for finding in found}


async def test_control_a_redis_without_its_file_is_found_out(tmp_path: Path, history: History) -> None:
    with unprotected(tmp_path, redis_arguments=("--appendonly", "no")) as stack:
        found = await killed_in_the_middle(stack, history, "redis")
    assert sum(finding.kind is Kind.LOST for finding in found) >= ACTS_BETWEEN_KILLS
