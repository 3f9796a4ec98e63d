"""The control for lost replies: a process that does not find out what became of a commit whose answer was lost, nor
knows a repeat of a request when it sees one."""

from __future__ import annotations

from services.game_authority import rooms
from services.game_authority.__main__ import bind
from services.rules.room import apply as room_apply
from services.rules.room.actions import Actor, RoomAction
from services.rules.room.state import Room
from services.rules.room.step import Context
from services.runtime.lifecycle import run_service
from services.runtime.routes import GAME_AUTHORITY


def _never_repeated(room: Room, actor: Actor, action: RoomAction, ctx: Context) -> None:
    return None


if __name__ == "__main__":
    room_apply.refuse_repeat = _never_repeated  # type: ignore[attr-defined]
    rooms.RESENDS = 0  # type: ignore[misc]
    run_service(GAME_AUTHORITY, bind)
