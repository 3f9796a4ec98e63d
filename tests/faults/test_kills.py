"""`kill -9` of an authority and of Redis in the middle of matches: no accepted action is lost, results count once.

Each promise has its control, the same with the protection off, in which the checker must find the loss.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from services.local.stack import Stack
from services.runtime.routes import GAME_AUTHORITY, MATCHMAKING, SCORING, module_of
from services.store.assembly import Store
from services.store.connect import StoreSettings
from tests.e2e.eventually import eventually
from tests.e2e.playing import Match, Party, party
from tests.e2e.stacks import complaints, options
from tests.faults.checker import Finding, Kind, check_room, read_log
from tests.faults.history import History, Outcome, read_records

LONG = {"match.target": 150}
MATCHES = (Match(2, options=LONG), Match(2, options=LONG), Match(1, 1, options=LONG), Match(2, 1, options=LONG))
PEOPLE_ONLY = (Match(2, options=LONG), Match(3, options=LONG))
ACTS_BETWEEN_KILLS = 40


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


async def kill_again_and_again(stack: Stack, victims: list[str], history: History) -> None:
    """One kill after the other, each once the clients have got on; returns when all is ready again."""
    for victim in victims:
        reached = history.accepted + ACTS_BETWEEN_KILLS
        await eventually(lambda: history.accepted >= reached, "the matches get on")  # noqa: B023 - awaited at once
        stack[victim].kill()
        await asyncio.to_thread(stack.wait_ready)


async def findings(redis_url: str, played: list[Party], history: History) -> list[Finding]:
    """What the checker finds in all rooms."""
    records = read_records([history.path])
    async with Store(StoreSettings(url=redis_url)) as store:
        return [
            finding
            for players in played
            for finding in check_room(players.room_id, await read_log(store.rooms, players.room_id), records)
        ]


async def each_result_counts_once(played: list[Party]) -> None:
    for players in played:
        for person in players.people:

            async def counted(person: object = person) -> bool:
                statistics = await person.client.scoring.statistics(family="mau-mau-32")  # type: ignore[attr-defined]
                return statistics.matches > 0

            await eventually(counted, "scoring has the result")
        for person in players.people:
            statistics = await person.client.scoring.statistics(family="mau-mau-32")
            assert statistics.matches == 1


@pytest.mark.parametrize(
    "victims",
    [[f"{GAME_AUTHORITY}-1", f"{GAME_AUTHORITY}-2"] * 2, ["redis"] * 3],
    ids=["authority", "redis"],
)
async def test_a_kill_loses_no_accepted_action(stack: Stack, history: History, victims: list[str]) -> None:
    starts = {name: stack[name].starts for name in stack.children}
    async with parties(stack, history, MATCHES, "K") as played:
        ended = asyncio.gather(*(players.play() for players in played))
        await kill_again_and_again(stack, victims, history)
        await ended
        assert await findings(stack.redis_url, played, history) == []
        await each_result_counts_once(played)
    again = {name for name, child in stack.children.items() if child.starts != starts[name]}
    assert again == set(victims), "nothing else had to be started again"
    assert read_records([history.path]).count(Outcome.ACCEPTED) > ACTS_BETWEEN_KILLS * len(victims)
