"""Putting screens on a terminal, or on whatever else standard output is."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from io import StringIO
from types import TracebackType
from typing import Final, Protocol, Self, TextIO

from rich.console import Console
from rich.text import Text

from maumau.terminal.layout import WIDTH

_ENTER: Final = "\x1b[?1049h\x1b[2J"
_LEAVE: Final = "\x1b[?1049l"
_ASCII: Final = str.maketrans(
    {
        "♣": "c",
        "♦": "d",
        "♥": "h",
        "♠": "s",
        "─": "-",
        "▶": ">",
        "…": "~",
        "★": "*",
        "☆": "+",
        "↓": "v",
        "↑": "^",
        "×": "x",
    }
)


class Display(Protocol):
    """Where screens go."""

    def show(self, lines: Sequence[Text]) -> None:
        """Shows a screen whose last line is the prompt."""
        ...

    def tell(self, line: Text) -> None:
        """Something happened; for displays without a screen, which only tell."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class Painter:
    """Turns styled lines into what the stream can show: colours unless NO_COLOR is set, letters for suits where the
    encoding has no signs for them."""

    def __init__(self, stream: TextIO, *, styled: bool) -> None:
        self._buffer = StringIO()
        self._console = Console(
            file=self._buffer,
            width=WIDTH,
            force_terminal=styled,
            color_system="standard" if styled else None,
            legacy_windows=False,
            highlight=False,
        )
        self._ascii = not _has_signs(stream.encoding or "ascii")

    def paint(self, line: Text) -> str:
        self._buffer.seek(0)
        self._buffer.truncate()
        self._console.print(line, end="", soft_wrap=True)
        painted = self._buffer.getvalue()
        return painted.translate(_ASCII) if self._ascii else painted


def _has_signs(encoding: str) -> bool:
    try:
        "♣♦♥♠─▶…★☆↓↑".encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True


class FullScreen:
    """A terminal: a screen of its own in which only lines that changed are written again."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stdout
        self._painter = Painter(self._stream, styled=True)
        self._shown: list[str] = []

    def show(self, lines: Sequence[Text]) -> None:
        painted = [self._painter.paint(line) for line in lines]
        parts = []
        for row in range(max(len(painted), len(self._shown))):
            new = painted[row] if row < len(painted) else ""
            if row >= len(self._shown) or self._shown[row] != new:
                parts.append(f"\x1b[{row + 1};1H{new}\x1b[0m\x1b[K")
        prompt = lines[-1].cell_len + 1 if lines else 1
        parts.append(f"\x1b[{len(painted)};{min(prompt, WIDTH)}H")
        self._shown = painted
        self._stream.write("".join(parts))
        self._stream.flush()

    def tell(self, line: Text) -> None:
        """The screen tells it."""

    def __enter__(self) -> Self:
        self._stream.write(_ENTER)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stream.write(_LEAVE)
        self._stream.flush()


class PlainPages:
    """A pipe, a file, a dumb terminal: what happens is told line by line, and a screen is printed when there is
    something to decide. No control characters."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stdout
        self._painter = Painter(self._stream, styled=False)

    def show(self, lines: Sequence[Text]) -> None:
        painted = [self._painter.paint(line).rstrip() for line in lines]
        page = "\n".join(line for line in painted[:-1] if line)
        self._stream.write(f"{page}\n{painted[-1]} ")
        self._stream.flush()

    def tell(self, line: Text) -> None:
        self._stream.write(self._painter.paint(line).rstrip() + "\n")
        self._stream.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stream.write("\n")
        self._stream.flush()


def has_screen() -> bool:
    """Whether input and output are a terminal that can place its cursor."""
    return sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"
