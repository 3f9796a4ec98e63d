"""`kill -9` of scoring while matches end: each result counts, and counts once.

Each promise has its control, the same without the protection, in which it must be found broken.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from maumau.internal.v1 import operator_pb2
from maumau.internal.v1.operator_pb2_grpc import OperatorServiceStub

from services.local.plan import StackOptions
from services.local.stack import Stack
from services.runtime.auth import operator_credential
from services.runtime.routes import SCORING
from services.runtime.settings import Settings
from services.store.assembly import Store
from services.store.connect import StoreSettings
from tests.e2e.eventually import eventually
from tests.e2e.lounge import Lounge, lounge, play
from tests.e2e.stacks import complaints, options, with_authority
from tests.faults.crashing import crash_environ, crashes_left
from tests.faults.record import Promise
from tests.faults.scale import PATIENCE, count

pytestmark = PATIENCE

KILLS, MATCHES = count(2, 10, 20), count(4, 6, 10)
"""So many matches are played around each kill."""
FAMILY = operator_pb2.AuditFamilyRequest(family="mau-mau-32")
MODULES = {**StackOptions().modules, SCORING: "tests.faults.crashing_scoring"}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Any]:
    with contextlib.ExitStack() as opened:
        yield lambda **changed: opened.enter_context(Stack(options(tmp_path, **changed)))


async def outbox_is_empty(store: Store) -> bool:
    counts = await store.outbox.counts()
    return counts.waiting == 0 and counts.dead == 0


async def play_a_match(hall: Lounge, name: str) -> list[str]:
    """Its people, when it is over."""
    sides = await hall.match(f"{name}a", f"{name}b")
    view = await play(sides)
    return [seat.player_id for seat in view.seats]


@pytest.mark.shows("P2")
async def test_scoring_killed_while_matches_end_counts_each_result_once(server: Any, promise: Promise) -> None:
    stack = server()
    played = list[str]()
    async with lounge(stack.address) as hall, Store(StoreSettings(url=stack.redis_url)) as store:
        for kill in range(KILLS):
            names = [f"M{kill}-{number}" for number in range(MATCHES)]
            matches = [asyncio.create_task(play_a_match(hall, name)) for name in names]
            await asyncio.wait(matches, return_when=asyncio.FIRST_COMPLETED)
            stack[SCORING].kill()
            await asyncio.to_thread(stack.wait_ready)
            played += [player for match in await asyncio.gather(*matches) for player in match]
        await eventually(lambda: outbox_is_empty(store), "everything is relayed")
        assert await counted(hall, played) == [1] * len(played)
    assert stack[SCORING].starts == KILLS + 1
    assert complaints(stack) == []
    promise("P2", f"{KILLS * MATCHES} results each counted once, {KILLS} kills of scoring")


@pytest.mark.shows("P2")
async def test_scoring_that_dies_before_it_says_that_it_counted_counts_once(server: Any, tmp_path: Path) -> None:
    environ = crash_environ(tmp_path, "applied")
    stack = server(environ=environ, modules=MODULES, authorities=1)
    async with lounge(stack.address) as hall, Store(StoreSettings(url=stack.redis_url)) as store:
        played = await play_a_match(hall, "M")
        await eventually(lambda: crashes_left(environ) == 0, "scoring has died")
        await asyncio.to_thread(stack.wait_ready)
        await eventually(lambda: outbox_is_empty(store), "everything is relayed")
        assert await counted(hall, played) == [1, 1]


@pytest.mark.control("P2")
async def test_control_without_the_check_of_the_id_a_result_counts_twice(
    server: Any, tmp_path: Path, promise: Promise
) -> None:
    environ = crash_environ(tmp_path, "applied", without="id check")
    stack = server(environ=environ, modules=MODULES, authorities=1)
    async with lounge(stack.address) as hall, Store(StoreSettings(url=stack.redis_url)) as store:
        played = await play_a_match(hall, "M")
        await eventually(lambda: crashes_left(environ) == 0, "scoring has died")
        await asyncio.to_thread(stack.wait_ready)
        await eventually(lambda: outbox_is_empty(store), "everything is relayed")
        assert await counted(hall, played) == [2, 2]
    promise("P2", "1 of 1 results counted twice without the check of its id")


@pytest.mark.shows("P2")
async def test_a_result_waits_for_scoring_that_is_away(server: Any) -> None:
    assert await counted_after_an_absence(server()) == [1, 1]


@pytest.mark.control("P2")
async def test_control_a_relay_that_forgets_before_the_answer_loses_the_result(server: Any, promise: Promise) -> None:
    stack = server(modules=with_authority("tests.faults.forgetful_relay"))
    assert await counted_after_an_absence(stack) == [0, 0]
    promise("P2", "1 of 1 results lost by a relay that forgets before the answer")


async def counted_after_an_absence(stack: Stack) -> list[int]:
    """How often a match is counted that ended while scoring was away."""
    async with lounge(stack.address) as hall, Store(StoreSettings(url=stack.redis_url)) as store:
        stack[SCORING].restart = False
        stack[SCORING].kill()
        await asyncio.to_thread(stack[SCORING].wait_ended, 10)
        played = await play_a_match(hall, "M")
        stack[SCORING].restart = True
        await asyncio.to_thread(stack.wait_ready)
        await eventually(lambda: outbox_is_empty(store), "nothing waits for scoring")
        return await counted(hall, played)


async def test_scoring_that_dies_while_it_recomputes_takes_the_match_back_all_the_same(
    server: Any, tmp_path: Path
) -> None:
    environ = crash_environ(tmp_path, "recomputing")
    stack = server(environ=environ, modules=MODULES, authorities=1)
    async with lounge(stack.address) as hall, Store(StoreSettings(url=stack.redis_url)) as store:
        players = await void_while_scoring_dies(stack, hall, store, environ)

        async def are_taken_back() -> bool:
            return await counted(hall, players) == [0, 0, 1, 1]

        await eventually(are_taken_back, "the pool is recomputed by the process that came after")
        audit = await operators(stack).AuditFamily(FAMILY, metadata=as_operator(stack))
        assert (audit.entries, audit.differences) == (3, 0)


async def test_control_a_void_that_is_not_looked_for_again_is_never_computed_in(server: Any, tmp_path: Path) -> None:
    environ = crash_environ(tmp_path, "recomputing", without="second look")
    stack = server(environ=environ, modules=MODULES, authorities=1)
    async with lounge(stack.address) as hall, Store(StoreSettings(url=stack.redis_url)) as store:
        players = await void_while_scoring_dies(stack, hall, store, environ)
        assert await counted(hall, players) == [1, 1, 1, 1]
        audit = await operators(stack).AuditFamily(FAMILY, metadata=as_operator(stack))
        assert audit.differences > 0


async def void_while_scoring_dies(stack: Stack, hall: Lounge, store: Store, environ: dict[str, str]) -> list[str]:
    """Plays two matches and has the first voided; the players of both, when scoring has died of it and is back."""
    players = await play_a_match(hall, "M")
    asking = await hall.client("Cy")
    await eventually(lambda: outbox_is_empty(store), "the first match is counted")
    [match] = [match.match_id async for match in asking.scoring.matches(players[0])]
    players += await play_a_match(hall, "N")
    await eventually(lambda: outbox_is_empty(store), "the second match is counted")
    with pytest.raises(grpc.aio.AioRpcError):
        await operators(stack).VoidMatch(operator_pb2.VoidMatchRequest(match_id=match), metadata=as_operator(stack))
    await eventually(lambda: crashes_left(environ) == 0, "scoring has died")
    await asyncio.to_thread(stack.wait_ready)
    return players


def operators(stack: Stack) -> OperatorServiceStub:
    return OperatorServiceStub(grpc.aio.insecure_channel(f"127.0.0.1:{stack.process(SCORING).internal_port}"))


def as_operator(stack: Stack) -> tuple[tuple[str, str]]:
    return (operator_credential(Settings(keys_dir=stack.var_dir / "keys")),)


async def counted(hall: Lounge, players: list[str]) -> list[int]:
    """How many matches scoring has counted for each player."""
    asking = await hall.client("Eve")
    return [(await asking.scoring.statistics(player, "mau-mau-32")).matches for player in players]
