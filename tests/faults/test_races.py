"""Many at once, over two processes, on one room: each version has one winner, and nobody is told of it twice."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random

import maumau
from maumau.v1 import authority_pb2_grpc

from services.runtime.routes import GAME_AUTHORITY
from tests.e2e.calls import Duel, Guest, channel_to, duel, sign_in
from tests.faults.acting import act
from tests.faults.history import History, Outcome, read_records
from tests.faults.rig import Rig
from tests.faults.scale import PATIENCE, count

pytestmark = PATIENCE

RACERS_EACH, ACTS_EACH, TURNS = 6, count(12, 100, 1_000), count(10, 50, 200)
READY = maumau.actions.set_ready(True)


async def stubs(rig: Rig, opened: contextlib.AsyncExitStack) -> list[authority_pb2_grpc.GameAuthorityServiceStub]:
    """One for each process."""
    return [
        authority_pb2_grpc.GameAuthorityServiceStub(await opened.enter_async_context(channel_to(address)))
        for address in rig.stack.addresses(GAME_AUTHORITY)
    ]


async def test_every_version_has_one_winner(rig: Rig, history: History) -> None:
    """What everybody may always do: say that one is ready, each time with other bytes."""
    async with contextlib.AsyncExitStack() as opened:
        channel = await opened.enter_async_context(channel_to(rig.stack.address))
        processes = await stubs(rig, opened)
        ana = await sign_in(channel, "Ana")
        room = await ana.create_room(4)
        guests = [ana, *[await sign_in(channel, name) for name in ("Bo", "Cleo", "Dan")]]
        for guest in guests[1:]:
            await guest.join(room)

        async def race(guest: Guest, number: int) -> None:
            for turn in range(ACTS_EACH):
                ready = maumau.actions.set_ready(True, os.urandom(16))
                outcome = await act(history, guest, room, ready, 0, at=processes[(number + turn) % 2])
                assert outcome == (Outcome.ACCEPTED, "")

        await asyncio.gather(*(race(guest, number) for guest in guests for number in range(RACERS_EACH)))
    assert await rig.findings([room], history) == []
    versions = {call.version for call in read_records([history.path]).calls}
    assert len(versions) == len(guests) * RACERS_EACH * ACTS_EACH
    assert max(versions) - min(versions) + 1 == len(versions)


async def test_one_of_many_alike_moves_is_accepted_and_the_others_are_told_why(rig: Rig, history: History) -> None:
    """The seat on turn sends the same move from many places at once, each time as a request of its own."""
    async with contextlib.AsyncExitStack() as opened:
        channel = await opened.enter_async_context(channel_to(rig.stack.address))
        processes = await stubs(rig, opened)
        pair = await duel(channel)
        for guest, action in ((pair.ana, READY), (pair.bo, READY), (pair.ana, maumau.actions.start())):
            await act(history, guest, pair.room, action, 0)
        chance = random.Random(3)
        for _ in range(TURNS):
            await race_for_a_turn(pair, processes, history, chance)
    assert await rig.findings([pair.room], history) == []


async def race_for_a_turn(
    pair: Duel,
    processes: list[authority_pb2_grpc.GameAuthorityServiceStub],
    history: History,
    chance: random.Random,
) -> None:
    guest, _, view = await pair.on_turn()
    laying = [action for action in view.legal.actions if action.HasField("play")]
    move = chance.choice(laying or list(view.legal.actions))
    racing = (
        act(history, guest, pair.room, move, view.version, at=processes[number % 2]) for number in range(RACERS_EACH)
    )
    outcomes = await asyncio.gather(*racing)
    accepted = [outcome for outcome, _ in outcomes].count(Outcome.ACCEPTED)
    if laying:
        assert accepted == 1, "a card is laid once"
        assert {outcome for outcome, _ in outcomes} == {Outcome.ACCEPTED, Outcome.REFUSED}
    else:
        assert accepted >= 1


async def test_one_request_from_many_places_is_one_version(rig: Rig) -> None:
    async with contextlib.AsyncExitStack() as opened:
        channel = await opened.enter_async_context(channel_to(rig.stack.address))
        processes = await stubs(rig, opened)
        pair = await duel(channel)
        for _ in range(TURNS):
            ready, request_id = maumau.actions.set_ready(True, os.urandom(8)), os.urandom(16)
            before = (await pair.ana.get_room(pair.room)).room.version
            answers = await asyncio.gather(
                *(
                    pair.ana.act(pair.room, ready, before, request_id=request_id, at=processes[number % 2])
                    for number in range(RACERS_EACH)
                )
            )
            assert {answer.version for answer in answers} == {before + 1}
            assert (await pair.ana.get_room(pair.room)).room.version == before + 1
