"""The controls for timers: an authority that lacks the `sweep`, or the `question` (`crashing`).

Without the sweep, what a dead process was to do is never done. Without the question whether a deadline has passed, a
process acts by its own timer, which here runs twice as fast.
"""

from __future__ import annotations

from typing import Any

from services.game_authority.__main__ import bind
from services.game_authority.commits import Attempt
from services.game_authority.live_room import LiveRoom
from services.game_authority.timers import Timers
from services.rules.room.clock import TimerKind
from services.rules.room.due import due
from services.runtime.lifecycle import run_service
from services.runtime.routes import GAME_AUTHORITY
from services.store.keys import PARTITIONS, RoomId
from tests.faults.crashing import lacks

_after = Timers._after


async def _pulse_alone(timers: Timers) -> None:
    await timers._store.sweep.sweep(range(PARTITIONS))


def _after_half(timers: Timers, room_id: RoomId, left_ms: int) -> None:
    _after(timers, room_id, left_ms // 2)


async def _look_at_nothing(timers: Timers, room_id: RoomId) -> LiveRoom:
    return await timers._rooms.newest(room_id)


async def _act_unasked(timers: Timers, live: LiveRoom) -> bool:
    what = due(live.newest.room, TimerKind(live.newest.clock.kind), frozenset(), timers._times)
    assert what is not None
    await timers._rooms.attempt(live.id, Attempt(what.actor, what.action, version=live.version))
    return True


def do_not_ask() -> None:
    """This process's timers act by themselves from now on."""
    _take_away(Timers, "_look", _look_at_nothing)
    _take_away(Timers, "_commit_due", _act_unasked)


def _take_away(owner: Any, name: str, instead: Any) -> None:
    setattr(owner, name, instead)


if __name__ == "__main__":
    if lacks("sweep"):
        _take_away(Timers, "_sweep", _pulse_alone)
    if lacks("question"):
        _take_away(Timers, "_after", _after_half)
        do_not_ask()
    run_service(GAME_AUTHORITY, bind)
