"""What people in a room hear: the chat that reaches each of them."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

import maumau

from tests.e2e.eventually import eventually


class Ear:
    """Writes down every text that reaches one side of a room."""

    def __init__(self, side: maumau.Room) -> None:
        self.side = side
        self.heard: list[tuple[str, str]] = []
        self.listening = False

    async def listen(self) -> None:
        async for event in self.side.events():
            self.listening = True
            if isinstance(event, maumau.RoomChat):
                self.heard.append((event.message.display_name, event.message.text))

    async def hears(self, text: str) -> list[tuple[str, str]]:
        """Everything that was heard, once this text has been."""
        await eventually(lambda: text in [said for _, said in self.heard], f"somebody hears {text!r}")
        return self.heard


@contextlib.asynccontextmanager
async def ears(*sides: maumau.Room) -> AsyncIterator[list[Ear]]:
    """An ear for each side, all of them listening."""
    listeners = [Ear(side) for side in sides]
    tasks = [asyncio.create_task(listener.listen()) for listener in listeners]
    await eventually(lambda: all(listener.listening for listener in listeners), "everybody listens")
    yield listeners
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
