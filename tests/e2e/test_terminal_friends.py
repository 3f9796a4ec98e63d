"""Friends at two terminals: one invites by a code, both are matched into one room."""

from __future__ import annotations

import re
import time
from pathlib import Path

from services.local.stack import Stack
from tests.e2e.command_terminal import CommandTerminal, command_terminal

LONGEST_SECONDS = 60.0
LITTLE = 200
"""So little is read at a time that no line is gone again before it was looked at."""


def read_until(terminal: CommandTerminal, pattern: str) -> str:
    """What the pattern finds on the screen, once it does."""
    ends = time.monotonic() + LONGEST_SECONDS
    while time.monotonic() < ends:
        found = re.search(pattern, terminal.text)
        if found:
            return found.group(found.lastindex or 0)
        assert terminal.read(LITTLE), f"ended without {pattern!r}:\n{terminal.text}"
    raise AssertionError(f"no {pattern!r} in:\n{terminal.text}")


def test_a_friend_comes_along_by_a_code_and_both_see_the_queue_and_one_table(stack: Stack, tmp_path: Path) -> None:
    place = ["--address", stack.address, "--ruleset", "uno-mattel", "--seats", "3"]
    words = ["play", "--party", "--name", "Leader", *place]
    with command_terminal(words, tmp_path / "leader") as leader:
        code = read_until(leader, r"--party-code ([0-9A-Z]{10})")
        words = ["play", "--party-code", code, "--name", "Friend", "--address", stack.address]
        with command_terminal(words, tmp_path / "friend") as friend:
            read_until(friend, "You are 2;")
            read_until(leader, "You are 2 now")
            leader.type("\r")
            for terminal in (leader, friend):
                read_until(terminal, "bots fill in after 8 s")
            for terminal, other in ((leader, "Friend"), (friend, "Leader")):
                read_until(terminal, other)
