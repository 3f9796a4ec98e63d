"""Waiting for a condition of another process instead of for a time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

PATIENCE_SECONDS = 40.0
LOOK_SECONDS = 0.02


async def eventually(
    condition: Callable[[], Any], what: str | Callable[[], str], seconds: float = PATIENCE_SECONDS
) -> Any:
    """What the condition, a function or an async one, gives once it is true. Fails the test when it does not get so in
    time, and says what was waited for; a function is asked then."""
    try:
        async with asyncio.timeout(seconds):
            while True:
                given = condition()
                found = await given if isinstance(given, Awaitable) else given
                if found:
                    return found
                await asyncio.sleep(LOOK_SECONDS)
    except TimeoutError:
        wanted = what if isinstance(what, str) else what()
        raise AssertionError(f"not within {seconds:g} s: {wanted}") from None
