"""Other people's rules engines, in a Python environment of their own beside ours, asked over a pipe.

The environment is made at the first use, in `var/bench-engines`: exact versions, installed by name without hashes,
since nothing of it ever runs in the server.
"""

from __future__ import annotations

import json
import subprocess
import venv
from pathlib import Path
from types import TracebackType
from typing import Final

PACKAGES: Final = ("rlcard==1.2.0", "open-spiel==2.0.2")
FOLDER: Final = Path(__file__).parents[2] / "var" / "bench-engines"
CHILD: Final = Path(__file__).with_name("reference") / "engines.py"


class NotInstalledError(RuntimeError):
    """The other engines are not here and could not be installed; says why."""


class OtherEngines:
    """A child process that plays them. Use as a context manager."""

    def __init__(self) -> None:
        self._child = subprocess.Popen(
            [_python(), CHILD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )

    def __enter__(self) -> OtherEngines:
        return self

    def __exit__(self, kind: type[BaseException] | None, fault: BaseException | None, at: TracebackType | None) -> None:
        assert self._child.stdin is not None
        self._child.stdin.close()
        self._child.wait()

    def decisions_per_second(self, engine: str, players: int, seconds: float) -> float:
        """Random legal play of one engine, by CPU time of its process. Raises RuntimeError where the child dies."""
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        self._child.stdin.write(json.dumps({"engine": engine, "players": players, "seconds": seconds}) + "\n")
        answer = self._child.stdout.readline()
        if not answer:
            raise RuntimeError(f"{engine}, {players} players: the process that plays it ended")
        told = json.loads(answer)
        return float(told["decisions"] / told["seconds"])


def _python() -> Path:
    """The Python that has the other engines. Raises NotInstalledError."""
    python = FOLDER / "bin" / "python"
    if not _has_packages(python):
        print(f"installing {', '.join(PACKAGES)} into {FOLDER} (without hashes; for this comparison only)", flush=True)
        venv.create(FOLDER, with_pip=True, clear=True)
        done = subprocess.run([python, "-m", "pip", "install", "-q", *PACKAGES], capture_output=True, text=True)
        if done.returncode or not _has_packages(python):
            raise NotInstalledError(f"{', '.join(PACKAGES)} could not be installed: {done.stderr.strip()[-500:]}")
    return python


def _has_packages(python: Path) -> bool:
    asked = "import rlcard.games.uno, pyspiel"
    return python.exists() and subprocess.run([python, "-c", asked], capture_output=True).returncode == 0
