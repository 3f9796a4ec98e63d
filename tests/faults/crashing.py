"""Processes that kill themselves at named points.

What a test wants is in the environment, since the real settings refuse what they do not know: `CRASH_LEFT` is a file
that names the points at which a process is still to die, one a line and in this order; `CRASH_WITHOUT` is a protection
that the process shall not have.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Final

LEFT: Final = "CRASH_LEFT"
WITHOUT: Final = "CRASH_WITHOUT"


def crash_environ(folder: Path, *points: str, without: str = "") -> dict[str, str]:
    """The environment of a process that dies at these points, once at each."""
    left = folder / "crashes-left"
    left.write_text("\n".join(points))
    return {LEFT: str(left), WITHOUT: without}


def crashes_left(environ: dict[str, str]) -> int:
    """How many crashes are still to come."""
    return len(Path(environ[LEFT]).read_text().splitlines())


def lacks(protection: str) -> bool:
    """Whether this process shall do without the protection."""
    return os.environ.get(WITHOUT) == protection


def come_to(point: str) -> None:
    """Dies here as `kill -9` does, if it is the next point to die at."""
    file = Path(os.environ[LEFT])
    left = file.read_text().splitlines()
    if left[:1] == [point]:
        file.write_text("\n".join(left[1:]))
        os.kill(os.getpid(), signal.SIGKILL)
