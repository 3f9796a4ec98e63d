"""Waiting for a condition instead of for a time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

from maumau import RoomChat, RoomEvent, RoomSnapshot, RoomUpdate

PATIENCE_SECONDS = 45.0


async def eventually(condition: Callable[[], object]) -> None:
    """Returns when the condition holds; fails the test when it does not in time."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not condition():  # noqa: ASYNC110 - what is waited for is not always of this loop
            await asyncio.sleep(0.005)


async def next_event(events: AsyncIterator[RoomEvent]) -> RoomEvent:
    async with asyncio.timeout(PATIENCE_SECONDS):
        return await anext(events)


async def next_update(events: AsyncIterator[RoomEvent]) -> RoomUpdate:
    event = await next_event(events)
    assert isinstance(event, RoomUpdate), event
    return event


async def next_snapshot(events: AsyncIterator[RoomEvent]) -> RoomSnapshot:
    event = await next_event(events)
    assert isinstance(event, RoomSnapshot), event
    return event


async def next_chat(events: AsyncIterator[RoomEvent]) -> RoomChat:
    event = await next_event(events)
    assert isinstance(event, RoomChat), event
    return event
