"""Nothing that leaves the server names a card to somebody who may not know it: fifty recorded matches of all games.

Recorded are all streams, answers and refusals of each person and of a spectator, the logs of all services at their most
talkative, and their metrics. What may be known is judged from the full states (`knowledge.py`). The control is a server
that shows everything.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc
import maumau
import pytest
from maumau.v1 import matchmaking_pb2, rules_pb2, settings_pb2

from services.local.stack import Stack
from services.store.assembly import Store
from services.store.connect import StoreSettings
from tests.e2e.calls import Guest, channel_to, sign_in
from tests.e2e.knowledge import faces_in, leaks, places
from tests.e2e.recorder import Onlooker, Truth, start, truth_of
from tests.e2e.stacks import complaints, options, with_authority

AT_ONCE = 6
OFTEN_TOLD = {
    *("room.shedding.hand", "room.legal.actions.play.card", "room.tranca.hand"),
    *("events.round_started.hands.cards", "events.cards_drawn.cards", "events.round_ended.hands.cards"),
    *("events.stock_drawn.card", "events.discarded.card", "legal.actions.play.card"),
}
"""Places of cards that any fifty matches fill."""

TALKATIVE = {"MAUMAU_LOG_LEVEL": "debug"}
TWO_ROUNDS, ONE_ROUND = rules_pb2.OptionValue(choice="rounds:2"), rules_pb2.OptionValue(choice="single")


pytestmark = pytest.mark.timeout(600)  # fifty matches take a busy machine long


@dataclass(frozen=True)
class Match:
    """What is played and by whom; it is left at `last_version` if it takes that long."""

    preset: str
    people: int
    bots: int
    target: rules_pb2.OptionValue = field(default_factory=lambda: TWO_ROUNDS)
    last_version: int = 50


MATCHES = (
    *[Match("mau-mau-32", 2, 0, last_version=70)] * 8,
    *[Match("mau-mau-32", 1, 2, last_version=70)] * 8,
    *[Match("mau-mau-brasil", 1, 3)] * 5,
    *[Match("mau-mau-brasil", 2, 3)] * 2,
    *[Match("uno", 2, 0)] * 5,
    *[Match("uno", 1, 2)] * 4,
    *[Match("uno-mattel", 2, 1)] * 5,
    *[Match("uno-casa", 2, 1)] * 7,
    *[Match("tranca", 2, 2, ONE_ROUND)] * 4,
    *[Match("tranca-jogatina", 1, 3, ONE_ROUND)] * 2,
)


@dataclass
class Recorded:
    """A match as everybody saw it, and as it was."""

    match: Match
    onlookers: list[Onlooker]
    truth: Truth

    @property
    def leaks(self) -> list[str]:
        return [leak for onlooker in self.onlookers for leak in leaks(onlooker.recording, self.truth)]


async def create(host: Guest, match: Match) -> str:
    request = matchmaking_pb2.CreateRoomRequest(
        ruleset=rules_pb2.Ruleset(preset=match.preset, options={"match.target": match.target}),
        settings=settings_pb2.RoomSettings(
            seats=match.people + match.bots, visibility=settings_pb2.VISIBILITY_PUBLIC, pause_seconds=0
        ),
        request_id=random.randbytes(16),
    )
    answer = await host.matchmaking.CreateRoom(request, metadata=host.metadata(), timeout=20)
    return answer.room_id


async def record(channel: grpc.aio.Channel, store: Store, match: Match, number: int) -> Recorded:
    """Plays the match while everybody writes down what comes."""
    guests = [await sign_in(channel, f"L{number}-{seat}") for seat in range(match.people + 1)]
    people, spectator = guests[:-1], guests[-1]
    room = await create(people[0], match)
    for guest in people[1:]:
        await guest.join(room)
    chance = random.Random(number)
    onlookers = [Onlooker(guest, room, seat, chance) for seat, guest in enumerate(people)]
    onlookers.append(Onlooker(spectator, room, None, chance))
    async with truth_of(store, room) as truth, following(onlookers):
        await start(people[0], room, people, match.bots)
        await asyncio.gather(*(onlooker.play(match.last_version) for onlooker in onlookers[:-1]))
        last = max(onlooker.view.version for onlooker in onlookers)
        await asyncio.gather(*(onlooker.sees(lambda view: view.version >= last) for onlooker in onlookers))
        await truth.reaches(last)
    for guest in people:
        with contextlib.suppress(grpc.aio.AioRpcError):
            await guest.act(room, _LEAVE, 0)
    return Recorded(match, onlookers, truth)


_LEAVE = maumau.actions.leave_seat()


@contextlib.asynccontextmanager
async def following(onlookers: list[Onlooker]) -> AsyncIterator[None]:
    tasks = [asyncio.create_task(onlooker.follow()) for onlooker in onlookers]
    await asyncio.gather(*(onlooker.sees(lambda _: True) for onlooker in onlookers))
    yield
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def record_all(stack: Stack, matches: tuple[Match, ...]) -> list[Recorded]:
    slots = asyncio.Semaphore(AT_ONCE)

    async def one(number: int, match: Match) -> Recorded:
        async with slots:
            return await record(channel, store, match, number)

    async with channel_to(stack.address) as channel, Store(StoreSettings(url=stack.redis_url)) as store:
        return list(await asyncio.gather(*(one(number, match) for number, match in enumerate(matches))))


def written(stack: Stack) -> Iterator[tuple[str, str]]:
    """Every line of every service's log and of what it shows to Prometheus."""
    for process in stack.processes:
        for line in [*stack[process.name].log().splitlines(), *stack.metrics(process.name).splitlines()]:
            yield process.name, line


def cards_written(stack: Stack) -> list[str]:
    return [f"{name}: {line}" for name, line in written(stack) if faces_in(line)]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Any]:
    """Starts a server that logs everything."""
    with contextlib.ExitStack() as opened:
        yield lambda **changed: opened.enter_context(Stack(options(tmp_path, environ=TALKATIVE, **changed)))


async def test_in_fifty_matches_nobody_is_told_a_card_that_is_hidden_from_him(server: Any) -> None:
    stack = server()
    recorded = await record_all(stack, MATCHES)
    assert len(recorded) == 50
    assert [leak for match in recorded for leak in match.leaks] == []
    refusals = [text for match in recorded for onlooker in match.onlookers for text in onlooker.recording.refusals]
    assert [text for text in refusals if faces_in(text)] == []
    assert cards_written(stack) == []
    assert complaints(stack) == []
    # That the search has looked at something:
    assert all(match.truth.complete for match in recorded)
    assert all(places(onlooker.recording) for match in recorded for onlooker in match.onlookers)
    told = sum((places(onlooker.recording) for match in recorded for onlooker in match.onlookers), Counter[str]())
    assert told.total() > 10 * sum(len(match.onlookers) for match in recorded)
    assert told.keys() >= OFTEN_TOLD
    assert {match.match.preset for match in recorded} >= {"mau-mau-32", "mau-mau-brasil", "uno", "uno-casa", "tranca"}
    assert len(refusals) > 50
    assert len(list(written(stack))) > 1000


async def test_control_a_server_that_shows_and_logs_hands_is_found_out(server: Any) -> None:
    stack = server(authorities=1, modules=with_authority("tests.faults.open_hands"))
    recorded = await record_all(stack, (Match("mau-mau-32", 2, 0), Match("tranca", 2, 2, ONE_ROUND, 40)))
    told = {leak.split(": ")[1].split(" to ")[0] for match in recorded for leak in match.leaks}
    assert {"events.round_started.hands.cards", "events.cards_drawn.cards", "events.stock_drawn.card"} <= told
    assert any(match.match.preset == "tranca" and match.leaks for match in recorded)
    assert cards_written(stack)
