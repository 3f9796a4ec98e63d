"""Many at once, over all processes, on one room: each version has one winner, nobody is told of it twice, and all that
was told fits into one order.

Controls: a process that believes that it won every race, and one that refuses by what it has cached
(`test_delayed_channel.py`).
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import maumau
import pytest
from maumau.v1 import authority_pb2_grpc

from services.runtime.routes import GAME_AUTHORITY, MATCHMAKING
from tests.e2e.calls import Duel, Guest, channel_to, duel, sign_in
from tests.e2e.stacks import complaints, with_authority
from tests.faults.acting import act
from tests.faults.checker import Kind
from tests.faults.history import History, Outcome, read_records
from tests.faults.record import Promise
from tests.faults.rig import Rig, started
from tests.faults.scale import PATIENCE, count

pytestmark = PATIENCE

PROCESSES, RACERS_EACH = count(2, 3, 3), count(6, 20, 20)
ACTS_EACH, TURNS = count(12, 30, 100), count(10, 300, 1_000)
CONTROL_TURNS = 20
READY = maumau.actions.set_ready(True)


@pytest.fixture(scope="module")
def many(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    """The shared rig in a smoke, else one with three authorities."""
    if PROCESSES == 2:
        yield request.getfixturevalue("shared_rig")
        return
    with started(tmp_path_factory.mktemp("many"), authorities=PROCESSES) as rig:
        yield rig
        assert complaints(rig.stack) == []


async def stubs(rig: Rig, opened: contextlib.AsyncExitStack) -> list[authority_pb2_grpc.GameAuthorityServiceStub]:
    """One for each process."""
    return [
        authority_pb2_grpc.GameAuthorityServiceStub(await opened.enter_async_context(channel_to(address)))
        for address in rig.stack.addresses(GAME_AUTHORITY)
    ]


@pytest.mark.shows("P4")
async def test_every_version_has_one_winner(many: Rig, history: History, promise: Promise) -> None:
    """What everybody may always do: say that one is ready, each time with other bytes."""
    async with contextlib.AsyncExitStack() as opened:
        channel = await opened.enter_async_context(channel_to(many.stack.address))
        processes = await stubs(many, opened)
        ana = await sign_in(channel, "Ana")
        room = await ana.create_room(4)
        guests = [ana, *[await sign_in(channel, name) for name in ("Bo", "Cleo", "Dan")]]
        for guest in guests[1:]:
            await guest.join(room)

        async def race(guest: Guest, number: int) -> None:
            for turn in range(ACTS_EACH):
                ready = maumau.actions.set_ready(True, os.urandom(16))
                outcome = await act(history, guest, room, ready, 0, at=processes[(number + turn) % PROCESSES])
                assert outcome == (Outcome.ACCEPTED, "")

        await asyncio.gather(*(race(guest, number) for guest in guests for number in range(RACERS_EACH)))
    assert await many.findings([room], history) == []
    versions = {call.version for call in read_records([history.path]).calls}
    assert len(versions) == len(guests) * RACERS_EACH * ACTS_EACH
    assert max(versions) - min(versions) + 1 == len(versions)
    promise(
        "P4",
        f"{len(versions):,} versions of {len(guests) * RACERS_EACH} racers at {PROCESSES} processes, 1 winner each",
    )


@pytest.mark.shows("P4")
async def test_one_of_many_alike_moves_is_accepted_and_the_others_are_told_why(
    many: Rig, history: History, promise: Promise
) -> None:
    """The seat on turn sends the same move from many places at once, each time as a request of its own."""
    async with contextlib.AsyncExitStack() as opened:
        channel = await opened.enter_async_context(channel_to(many.stack.address))
        processes = await stubs(many, opened)
        ana, bo = [await sign_in(channel, name) for name in ("Ana", "Bo")]
        pair = Duel(ana, bo, await ana.create_room(2))
        await bo.join(pair.room)
        for guest, action in ((pair.ana, READY), (pair.bo, READY), (pair.ana, maumau.actions.start())):
            await act(history, guest, pair.room, action, 0)
        chance = random.Random(3)
        for _ in range(TURNS):
            await race_for_a_turn(pair, processes, history, chance)
    assert await many.findings([pair.room], history) == []
    refused = read_records([history.path]).count(Outcome.REFUSED)
    promise(
        "P4", f"{TURNS} turns raced for by {RACERS_EACH} calls each, {refused:,} losers told why, history linearizable"
    )


@pytest.mark.control("P4")
async def test_control_a_process_that_believes_it_won_is_found_out(
    tmp_path: Path, history: History, promise: Promise
) -> None:
    with started(tmp_path, modules=with_authority("tests.faults.blind_commits"), envoy=False) as rig:
        async with contextlib.AsyncExitStack() as opened:
            lobby = await opened.enter_async_context(channel_to(rig.stack.addresses(MATCHMAKING)[0]))
            first = await opened.enter_async_context(channel_to(rig.stack.addresses(GAME_AUTHORITY)[0]))
            pair = await duel(lobby, rooms=first)
            await pair.start()
            processes = await stubs(rig, opened)
            for _ in range(CONTROL_TURNS):
                await race_for_a_turn(pair, processes, history, random.Random(4), honest=False)
            found = Counter(finding.kind for finding in await rig.findings([pair.room], history))
    assert found[Kind.LOST] + found[Kind.DOUBLED] > 0
    promise("P4", f"{found[Kind.LOST]} lost, {found[Kind.DOUBLED]} doubled in {CONTROL_TURNS} turns by blind commits")


async def race_for_a_turn(
    pair: Duel,
    processes: list[authority_pb2_grpc.GameAuthorityServiceStub],
    history: History,
    chance: random.Random,
    *,
    honest: bool = True,
) -> None:
    guest, _, view = await pair.on_turn()
    laying = [action for action in view.legal.actions if action.HasField("play")]
    move = chance.choice(laying or list(view.legal.actions))
    racing = (
        act(history, guest, pair.room, move, view.version, at=processes[number % PROCESSES])
        for number in range(RACERS_EACH)
    )
    outcomes = await asyncio.gather(*racing)
    accepted = [outcome for outcome, _ in outcomes].count(Outcome.ACCEPTED)
    if not honest:
        return
    if laying:
        assert accepted == 1, "a card is laid once"
        assert {outcome for outcome, _ in outcomes} == {Outcome.ACCEPTED, Outcome.REFUSED}
    else:
        assert accepted >= 1


@pytest.mark.shows("P4")
async def test_one_request_from_many_places_is_one_version(many: Rig) -> None:
    async with contextlib.AsyncExitStack() as opened:
        channel = await opened.enter_async_context(channel_to(many.stack.address))
        processes = await stubs(many, opened)
        pair = await duel(channel)
        for _ in range(TURNS):
            ready, request_id = maumau.actions.set_ready(True, os.urandom(8)), os.urandom(16)
            before = (await pair.ana.get_room(pair.room)).room.version
            answers = await asyncio.gather(
                *(
                    pair.ana.act(pair.room, ready, before, request_id=request_id, at=processes[number % PROCESSES])
                    for number in range(RACERS_EACH)
                )
            )
            assert {answer.version for answer in answers} == {before + 1}
            assert (await pair.ana.get_room(pair.room)).room.version == before + 1
