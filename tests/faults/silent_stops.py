"""The control for rolling restarts: an authority that stops without sending its streams away."""

from __future__ import annotations

from services.game_authority.__main__ import GameAuthority, bind
from services.runtime.lifecycle import run_service
from services.runtime.routes import GAME_AUTHORITY


async def _say_nothing(authority: GameAuthority) -> None:
    return None


if __name__ == "__main__":
    GameAuthority.drain = _say_nothing  # type: ignore[method-assign, assignment]
    run_service(GAME_AUTHORITY, bind)
