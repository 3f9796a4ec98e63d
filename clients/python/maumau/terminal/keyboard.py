"""Lines from the keyboard that survive the redrawing of the screen.

On a terminal keys are read one by one without echo, and what was typed so far is part of the screen. Where standard
input is no terminal (a pipe, a file), lines are read in a thread.
"""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import os
import sys
import termios
import threading
import tty
from collections.abc import Callable
from types import TracebackType
from typing import Any, Final, Protocol, Self

_LONGEST_LINE: Final = 76
_ENTER: Final = "\r\n"
_ERASE: Final = "\x7f\x08"
_CLEAR: Final = "\x15"
_END: Final = "\x04"
_ESCAPE: Final = "\x1b"


class Keyboard(Protocol):
    """Where lines come from."""

    @property
    def typed(self) -> str:
        """What was typed since the last Enter."""
        ...

    async def line(self) -> str | None:
        """The next line without its end; None once there will be no more."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class LineEditor:
    """Keys in, lines out; knows nothing of terminals."""

    def __init__(self) -> None:
        self.typed = ""
        self.lines: asyncio.Queue[str | None] = asyncio.Queue()
        self._decode = codecs.getincrementaldecoder("utf-8")(errors="ignore").decode
        self._escaping = False

    def feed(self, keys: bytes) -> None:
        """Takes bytes as a terminal sends them."""
        for key in self._decode(keys):
            self._take(key)

    def end(self) -> None:
        """No more keys will come; a line without an end counts."""
        if self.typed:
            self.lines.put_nowait(self.typed)
            self.typed = ""
        self.lines.put_nowait(None)

    def _take(self, key: str) -> None:
        if self._escaping:  # an arrow or function key: ESC, bracket, parameters, a letter
            self._escaping = not (key.isalpha() and key != "O") and key != "~"
        elif key == _ESCAPE:
            self._escaping = True
        elif key in _ENTER:
            self.lines.put_nowait(self.typed)
            self.typed = ""
        elif key in _ERASE:
            self.typed = self.typed[:-1]
        elif key == _CLEAR:
            self.typed = ""
        elif key == _END:
            if not self.typed:
                self.lines.put_nowait(None)
        elif key.isprintable() and len(self.typed) < _LONGEST_LINE:
            self.typed += key


class TerminalKeyboard:
    """The keys of a terminal; `changed` is called whenever what was typed is different."""

    def __init__(self, changed: Callable[[], None], descriptor: int | None = None) -> None:
        self._descriptor = sys.stdin.fileno() if descriptor is None else descriptor
        self._changed = changed
        self._editor = LineEditor()
        self._saved: list[Any] = []

    @property
    def typed(self) -> str:
        return self._editor.typed

    async def line(self) -> str | None:
        return await self._editor.lines.get()

    def __enter__(self) -> Self:
        self._saved = termios.tcgetattr(self._descriptor)
        tty.setcbreak(self._descriptor)
        asyncio.get_running_loop().add_reader(self._descriptor, self._read)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        asyncio.get_running_loop().remove_reader(self._descriptor)
        with contextlib.suppress(termios.error):  # the terminal may be gone
            termios.tcsetattr(self._descriptor, termios.TCSADRAIN, self._saved)

    def _read(self) -> None:
        try:
            keys = os.read(self._descriptor, 1024)
        except OSError:
            keys = b""
        if keys:
            self._editor.feed(keys)
        else:
            asyncio.get_running_loop().remove_reader(self._descriptor)
            self._editor.end()
        self._changed()


class PipedKeyboard:
    """Lines of a standard input that is no terminal."""

    def __init__(self) -> None:
        self.typed = ""
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()

    async def line(self) -> str | None:
        return await self._lines.get()

    def __enter__(self) -> Self:
        loop = asyncio.get_running_loop()
        threading.Thread(target=self._read, args=(loop,), name="maumau keyboard", daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """The thread waits for input that nobody wants any more and dies with the process."""

    def _read(self, loop: asyncio.AbstractEventLoop) -> None:
        with contextlib.suppress(RuntimeError):  # the loop was closed meanwhile
            for line in sys.stdin:
                loop.call_soon_threadsafe(self._lines.put_nowait, line.rstrip("\r\n"))
            loop.call_soon_threadsafe(self._lines.put_nowait, None)
