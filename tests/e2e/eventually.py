"""Waiting for a condition of another process instead of for a time."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import TypeVar

PATIENCE_SECONDS = 20.0
LOOK_SECONDS = 0.02

Found = TypeVar("Found")


async def eventually(condition: Callable[[], Found | Awaitable[Found | None] | None], what: str) -> Found:
    """What the condition gives once it is true. Fails the test when it does not get so in time."""
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:
                found = condition()
                if inspect.isawaitable(found):
                    found = await found
                if found:
                    return found  # type: ignore[return-value]
                await asyncio.sleep(LOOK_SECONDS)
    except TimeoutError:
        raise AssertionError(f"not within {PATIENCE_SECONDS:g} s: {what}") from None
