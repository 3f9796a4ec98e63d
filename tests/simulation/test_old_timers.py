"""A timer that a process has from an earlier match comes due in a later one, in which the same seat is on turn."""

from __future__ import annotations

import contextlib

import pytest

from services.game_authority.commits import Attempt
from services.game_authority.rooms import NotYet, Rooms
from services.rules.room.actions import (
    AbortMatch,
    Actor,
    Clock,
    Operator,
    Player,
    Rematch,
    RoomAction,
    SetReady,
    Start,
    Timeout,
)
from services.rules.room.clock import TimerKind
from services.rules.room.reasons import NotDue
from services.rules.room.settings import ServerTimes
from services.rules.room.state import Room
from services.rules.room.timers import pending
from tests.simulation.process import Process
from tests.simulation.protections import Protection
from tests.simulation.test_found import PEOPLE, ROOM, staged
from tests.simulation.world import World

HERE = frozenset[int]()
"""Nobody is absent."""


async def do(rooms: Rooms, actor: Actor, action: RoomAction) -> None:
    await rooms.attempt(ROOM, Attempt(actor, action, absent=HERE))


async def next_match(rooms: Rooms) -> None:
    await do(rooms, Operator(), AbortMatch())
    await do(rooms, Player("ann"), Rematch())
    for name in PEOPLE:
        await do(rooms, Player(name), SetReady(True))
    await do(rooms, Player("ann"), Start())


def on_turn(room: Room) -> int:
    [timer] = [timer for timer in pending(room, HERE, ServerTimes()) if timer.kind is TimerKind.TURN]
    assert timer.seat is not None
    return timer.seat


@pytest.mark.parametrize("without", [None, Protection.EARLY_REFUSED])
def test_a_timer_of_the_match_before_does_nothing_in_the_next(without: Protection | None) -> None:
    """The control, in which Redis does not judge whether a timer comes early, ends a turn that has just begun."""
    ended: list[bool] = []

    async def scene(world: World, process: Process) -> None:
        rooms = process.authority.rooms
        await next_match(rooms)
        old = (await rooms.newest(ROOM)).newest.room
        timeout = Timeout(TimerKind.TURN, on_turn(old))
        left = Attempt(Clock(), timeout, version=old.version, due=TimerKind.TURN.value, absent=HERE)
        await next_match(rooms)
        await next_match(rooms)
        new = (await rooms.newest(ROOM)).newest.room
        assert (on_turn(new), new.matches) == (timeout.seat, old.matches + 2)
        with contextlib.suppress(NotYet, NotDue):
            await rooms.attempt(ROOM, left)
        ended.append((await rooms.newest(ROOM)).newest.room.version != new.version)

    staged(scene, without)
    assert ended == [without is not None]
