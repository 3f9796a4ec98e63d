"""An authority whose rooms keep spectators behind by less than a room may ask for, so that tests need not wait as long.

Its control, `SHOWS_THE_PRESENT`, takes every spectator for one who may see the room as it is.
"""

from __future__ import annotations

import os
from typing import Final

from services.game_authority import fan_out, handlers, past, streams, versions
from services.game_authority.__main__ import bind
from services.rules.room.settings import RoomSettings, Spectators
from services.rules.room.state import Room
from services.runtime.lifecycle import run_service
from services.runtime.routes import GAME_AUTHORITY

SHOWS_THE_PRESENT: Final = "SHOWS_THE_PRESENT"
SHORT_SECONDS: Final = 2


def _short(settings: RoomSettings) -> int:
    return SHORT_SECONDS if settings.spectators is Spectators.DELAYED else 0


def _never_behind(room: Room, player: str) -> bool:
    return False


if __name__ == "__main__":
    RoomSettings.delay_seconds = property(_short)  # type: ignore[method-assign, assignment]
    past.LOOK_SECONDS = 0.5  # type: ignore[misc]
    if os.environ.get(SHOWS_THE_PRESENT):
        for module in (fan_out, handlers, past, streams):
            assert module.is_behind is versions.is_behind
            module.is_behind = _never_behind  # type: ignore[attr-defined]
    run_service(GAME_AUTHORITY, bind)
