"""The control for cut channels: a process that never reads from the log what the channel did not bring."""

from __future__ import annotations

from services.game_authority.__main__ import bind
from services.game_authority.catching_up import CatchingUp
from services.game_authority.live_room import LiveRoom
from services.runtime.lifecycle import run_service
from services.runtime.routes import GAME_AUTHORITY


def _stay_behind(catching_up: CatchingUp, live: LiveRoom) -> None:
    return None


if __name__ == "__main__":
    CatchingUp.catch_up = _stay_behind  # type: ignore[method-assign, assignment]
    run_service(GAME_AUTHORITY, bind)
