"""Single situations of one process that the simulation comes to too rarely, on the stage of `test_found.py`."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from maumau.v1.actions_pb2 import Action
from maumau.v1.authority_pb2 import ActRequest, GetRoomRequest, PlayRequest

from services.game_authority.asides import PlayOpened, decode_aside
from services.game_authority.presence import POLLS
from services.game_authority.streams import OPEN_SECONDS
from services.store.errors import StoreUnavailable
from services.store.keys import PlayerId, RoomId
from services.store.presence import Entry
from tests.simulation.calls import Call, CallRefused
from tests.simulation.loop import Node
from tests.simulation.process import Process
from tests.simulation.test_found import ROOM, staged
from tests.simulation.world import World

Say = Callable[[RoomId, bytes], Awaitable[None]]

MUTE = Action(mute=Action.Mute(seat=1, muted=True))
_IDS = (number.to_bytes(16, "big") for number in itertools.count())


def opened(world: World, process: Process, player: str) -> Call:
    """A `Play` stream on which nothing has been sent yet."""
    return process.open(Node(world.loop, player), world.session(player), "Play")


async def plays(world: World, process: Process, player: str) -> Call:
    """A `Play` stream that has got its snapshot."""
    call = opened(world, process, player)
    call.send(PlayRequest(open=PlayRequest.Open(room_id=ROOM)))
    assert await call.receive() is not None
    await asyncio.sleep(1.0)
    return call


async def end_of(call: Call) -> str:
    """The reason with which a stream ends."""
    try:
        while await call.receive() is not None:
            pass
    except CallRefused as refused:
        return refused.reason
    return "in order"


async def is_taken_over(world: World, process: Process, older: Call) -> None:
    """Ann opens another `Play` stream: it stays, and the older one ends."""
    newer = await plays(world, process, "ann")
    assert await asyncio.wait_for(end_of(older), 10.0) == "TAKEN_OVER"
    assert not newer.over


def failing_once(say: Say) -> Say:
    """Redis is away for a moment, of which the subscription notices nothing."""
    failures = iter([StoreUnavailable("away", maybe_applied=False)])

    async def failing(room: RoomId, content: bytes) -> None:
        for failure in failures:
            raise failure
        await say(room, content)

    return failing


def test_a_play_is_taken_over_although_redis_was_away_when_the_newer_one_was_announced() -> None:
    async def scene(world: World, process: Process) -> None:
        older = await plays(world, process, "ann")
        rooms = process.authority.store.rooms
        rooms.say = failing_once(rooms.say)  # type: ignore[method-assign, assignment]
        await is_taken_over(world, process, older)

    staged(scene)


def test_a_play_whose_announcement_was_lost_is_taken_over_by_the_next_one() -> None:
    async def scene(world: World, process: Process) -> None:
        rooms = process.authority.store.rooms
        rooms.say = failing_once(rooms.say)  # type: ignore[method-assign, assignment]
        older = await plays(world, process, "ann")
        await is_taken_over(world, process, older)

    staged(scene)


def slow_once(say: Say) -> Say:
    """Redis takes its time for the first announcement of a `Play`."""
    slow = iter([5.0])

    async def slowly(room: RoomId, content: bytes) -> None:
        if isinstance(decode_aside(content), PlayOpened):
            await asyncio.sleep(next(slow, 0.0))
        await say(room, content)

    return slowly


def test_of_two_plays_opened_one_after_the_other_the_second_stays_however_slowly_the_first_was_announced() -> None:
    async def scene(world: World, process: Process) -> None:
        rooms = process.authority.store.rooms
        rooms.say = slow_once(rooms.say)  # type: ignore[method-assign, assignment]
        older = await plays(world, process, "ann")
        await is_taken_over(world, process, older)

    staged(scene)


def test_a_play_that_is_never_opened_holds_up_no_process_that_stops() -> None:
    async def scene(world: World, process: Process) -> None:
        silent = opened(world, process, "ann")
        await asyncio.sleep(1.0)
        began = world.loop.time()
        process.node.spawn(process.authority.drain())
        assert await end_of(silent) == "STOPPING"
        assert world.loop.time() - began < 1.0

    staged(scene)


def test_a_play_that_is_not_opened_in_time_is_refused() -> None:
    async def scene(world: World, process: Process) -> None:
        assert await asyncio.wait_for(end_of(opened(world, process, "ann")), OPEN_SECONDS + 1.0) == "OPEN_FIRST"

    staged(scene)


async def acts(world: World, process: Process, player: str, action: Action) -> Any:
    request = ActRequest(room_id=ROOM, request_id=next(_IDS), action=action)
    return await process.ask(Node(world.loop, player), world.session(player), "Act", request)


def test_who_has_a_seat_and_acts_is_there_and_a_stranger_who_tries_is_not() -> None:
    async def scene(world: World, process: Process) -> None:
        presence = process.authority.store.presence
        await asyncio.sleep(10.0)  # the clock of a simulation begins with 0, where everybody has just been there
        with pytest.raises(CallRefused, match="ROOM_NOT_FOUND"):
            await acts(world, process, "eve", Action(draw=Action.Draw()))
        assert await presence.entries(ROOM) == []
        await acts(world, process, "ann", MUTE)
        assert await presence.entries(ROOM) == [Entry(PlayerId("ann"), POLLS, process.authority.process)]

    staged(scene)


def test_what_was_accepted_is_answered_so_although_redis_goes_away_then() -> None:
    """STORE_UNAVAILABLE says that nothing was accepted."""

    async def scene(world: World, process: Process) -> None:
        async def away(*_: object) -> None:
            raise StoreUnavailable("away", maybe_applied=False)

        process.authority.presence.look = away  # type: ignore[method-assign, assignment]
        process.authority.store.rooms.remove_player_room = away  # type: ignore[method-assign, assignment]
        before = (await process.authority.rooms.live(ROOM)).version
        for action in (MUTE, Action(leave_seat=Action.LeaveSeat())):
            answer = await acts(world, process, "ann", action)
            assert answer.version == (before := before + 1)

    staged(scene)


def test_a_call_that_waits_for_the_next_version_is_answered_by_a_process_that_stops() -> None:
    """It waited out the grace, and then its call broke off."""

    async def scene(world: World, process: Process) -> None:
        now = (await process.authority.rooms.live(ROOM)).version
        request = GetRoomRequest(room_id=ROOM, since_version=now, wait_milliseconds=25_000)
        node, session = Node(world.loop, "ann"), world.session("ann")
        waiting = asyncio.ensure_future(process.ask(node, session, "GetRoom", request, 30.0))
        await asyncio.sleep(1.0)
        began = world.loop.time()
        process.node.spawn(process.authority.drain())
        assert (await waiting).snapshot.room.version == now
        assert world.loop.time() - began < 1.0

    staged(scene)
