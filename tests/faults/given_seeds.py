"""An authority whose matches come from the name of who makes the room: equal names, equal deals, in every process and
run. Everything else is the real process. It may lack the clock of Redis (`crashing`): then its timers go by its own."""

from __future__ import annotations

import hashlib
import time

from msgspec.structs import replace

from services.game_authority.__main__ import bind
from services.game_authority.commits import Attempt
from services.game_authority.rooms import Rooms
from services.game_authority.timers import Timers
from services.rules.room.actions import CreateRoom
from services.rules.room.step import Context
from services.runtime.lifecycle import run_service
from services.runtime.routes import GAME_AUTHORITY
from services.store.keys import RoomId
from services.store.records import Clock
from tests.faults.crashing import lacks
from tests.faults.negligent_timers import do_not_ask

_context = Rooms._context


def _context_of_name(rooms: Rooms, attempt: Attempt, absent: frozenset[int] = frozenset()) -> Context:
    context = _context(rooms, attempt, absent)
    if not isinstance(attempt.action, CreateRoom):
        return context
    seed = hashlib.sha256(attempt.action.people[0].name.encode()).digest()
    return replace(context, match_id=f"m_{seed.hex()[:24]}", seed=seed)


def _set_by_own_clock(timers: Timers, room_id: RoomId, clock: Clock) -> None:
    timers.drop(room_id)
    if clock.deadline:
        timers._after(room_id, max(0, clock.deadline - round(time.time() * 1000)))


if __name__ == "__main__":
    Rooms._context = _context_of_name  # type: ignore[method-assign, assignment]
    if lacks("clock of Redis"):
        Timers.set = _set_by_own_clock  # type: ignore[method-assign, assignment]
        do_not_ask()
    run_service(GAME_AUTHORITY, bind)
