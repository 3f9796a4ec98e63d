"""The control for a frozen Redis: an authority whose calls take as long as they take."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

from services.game_authority.__main__ import bind
from services.runtime import calls
from services.runtime.lifecycle import run_service
from services.runtime.routes import GAME_AUTHORITY


async def _wait_for_it(seconds: float, answer: Awaitable[Any]) -> Any:
    return await answer


if __name__ == "__main__":
    calls._within = _wait_for_it
    run_service(GAME_AUTHORITY, bind)
