"""Runs the shell transcripts of a page: in ```console blocks `$ ` begins a command and what follows is its output.

All commands of a page run in one bash. In expected output `...` stands for anything within a line; alone on a line it
stands for any lines, also none. What the shell says of its background jobs is not output.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

BLOCK = re.compile(r"^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
MARK = "-- the output of command {} ends here --"
JOB_NOTICE = re.compile(r"^\[\d+\][+-]? .*\n", re.MULTILINE)
SHELL = ("bash", "--noprofile", "--norc")


@dataclass(frozen=True)
class Command:
    """One command and the output that the page shows for it."""

    words: str
    expected: str


def blocks(page: str, language: str) -> list[str]:
    """The texts of all fenced blocks of a language."""
    return [match["text"] for match in BLOCK.finditer(page) if match["language"] == language]


def transcript(page: str) -> list[Command]:
    """The commands of all console blocks, in order."""
    return [command for block in blocks(page, "console") for command in _commands(block)]


def _commands(block: str) -> Iterator[Command]:
    first, *parts = re.split(r"^\$ ", block, flags=re.MULTILINE)
    assert first == "", f"a console block begins with output: {first!r}"
    for part in parts:
        words, _, expected = part.partition("\n")
        yield Command(words, expected)


def run(commands: list[Command], environ: Mapping[str, str], folder: Path, limit_seconds: float) -> list[str]:
    """What each command writes, errors among it. Jobs are controlled as in a shell at a terminal."""
    script = "set -m\n" + "".join(
        f"{command.words}\necho '{MARK.format(number)}'\n" for number, command in enumerate(commands)
    )
    ended = subprocess.run(
        [*SHELL, "-c", script],
        cwd=folder,
        env={**os.environ, **environ},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=limit_seconds,
    )
    outputs, rest = list[str](), ended.stdout
    for number in range(len(commands)):
        output, mark, rest = rest.partition(MARK.format(number) + "\n")
        assert mark, f"{commands[number].words} did not end:\n{output}"
        outputs.append(JOB_NOTICE.sub("", output))
    return outputs


def is_as_shown(expected: str, output: str) -> bool:
    """Whether the output is what the page shows."""
    pattern = re.escape(expected).replace(re.escape("...\n"), "\0").replace(re.escape("..."), ".*")
    return re.fullmatch(pattern.replace("\0", r"(?:.*\n)*"), output) is not None
