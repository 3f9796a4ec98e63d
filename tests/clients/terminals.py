"""A terminal of 80 by 24 in memory: a pseudo-terminal for keys and an emulator for the screen."""

from __future__ import annotations

import asyncio
import io
import os
from collections.abc import Iterator
from contextlib import contextmanager

import pyte
from maumau import Client, Room
from maumau.terminal.display import FullScreen
from maumau.terminal.keyboard import TerminalKeyboard
from maumau.terminal.table_session import Ending, TableSession

from tests.clients.eventually import eventually


class ScreenStream(io.TextIOBase):
    """Text goes to an emulated screen."""

    encoding = "utf-8"

    def __init__(self) -> None:
        self.screen = pyte.Screen(80, 24)
        self._stream = pyte.Stream(self.screen)

    def write(self, text: str) -> int:
        self._stream.feed(text)
        return len(text)

    @property
    def lines(self) -> list[str]:
        return [line.rstrip() for line in self.screen.display]

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


class Terminal:
    """A person before the screen: sees `text`, types with `type`."""

    def __init__(self, client: Client, room: Room, keys: int, descriptor: int, *, solo: bool) -> None:
        self.stream = ScreenStream()
        self.display = FullScreen(self.stream)  # type: ignore[arg-type]
        self.keyboard = TerminalKeyboard(self._redraw, descriptor)
        self.session = TableSession(client, room, self.display, self.keyboard, live=True, solo=solo)
        self.ending: asyncio.Task[Ending] | None = None
        self._keys = keys

    def _redraw(self) -> None:
        self.session.redraw()

    @property
    def text(self) -> str:
        return self.stream.text

    def type(self, keys: str) -> None:
        os.write(self._keys, keys.encode())

    async def shows(self, *words: str) -> None:
        """Waits until all of these words are on the screen."""
        try:
            await eventually(lambda: all(word in self.text for word in words))
        except TimeoutError:
            raise AssertionError(f"{words} not on\n{self.text}") from None


@contextmanager
def terminal(client: Client, room: Room, *, solo: bool = False) -> Iterator[Terminal]:
    """A session at a terminal, running until the person goes or the test ends."""
    keys, descriptor = os.openpty()
    try:
        made = Terminal(client, room, keys, descriptor, solo=solo)
        with made.display, made.keyboard:
            made.ending = asyncio.create_task(made.session.run())
            try:
                yield made
            finally:
                made.ending.cancel()
    finally:
        os.close(keys)
        os.close(descriptor)
