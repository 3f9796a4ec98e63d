"""The command `maumau` at a pseudo-terminal of 80 by 24: what the screen shows, and keys."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pexpect  # type: ignore[import-untyped]
import pyte

COMMAND: Final = Path(__file__).parents[2] / ".venv" / "bin" / "maumau"
RULE: Final = "────"
OFFERED: Final = re.compile(r"(?:^|\s)\s(\d+) \S")


class CommandTerminal:
    """A running command and its screen."""

    def __init__(self, words: list[str], state_folder: Path) -> None:
        environment = {**os.environ, "XDG_STATE_HOME": str(state_folder)}
        self.screen = pyte.Screen(80, 24)
        self._stream = pyte.Stream(self.screen)
        self._child = pexpect.spawn(
            str(COMMAND), words, dimensions=(24, 80), encoding="utf-8", env=environment, timeout=60
        )

    @property
    def text(self) -> str:
        return "\n".join(line.rstrip() for line in self.screen.display)

    def numbers(self) -> list[str]:
        """What may be chosen now: the numbers below the last rule."""
        _, _, menu = self.text.rpartition(RULE)
        offered = [line for line in menu.splitlines() if line.startswith("  ")]
        return [number for line in offered for number in OFFERED.findall(line)]

    def read(self, most: int = 65_536) -> bool:
        """Waits for more output and shows it, so many characters of it at `most`; False when the command is through.
        Raises TIMEOUT of pexpect after a minute without output."""
        try:
            self._stream.feed(self._child.read_nonblocking(most))
        except pexpect.EOF:
            return False
        return True

    def type(self, keys: str) -> None:
        self._child.send(keys)

    def close(self) -> None:
        self._child.close(force=True)


@contextmanager
def command_terminal(words: list[str], state_folder: Path) -> Iterator[CommandTerminal]:
    """A command at a terminal, ended at the end."""
    made = CommandTerminal(words, state_folder)
    try:
        yield made
    finally:
        made.close()
