"""One process under the supervisor: started, watched, started again, and dead when the supervisor is.

Every child leads a process group of its own, so that Ctrl-C reaches the supervisor alone and a kill takes along what
the child started. The kernel kills a child whose supervisor dies in whatever way (Linux's PR_SET_PDEATHSIG).
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

FIRST_PAUSE_SECONDS: Final = 0.1
LONGEST_PAUSE_SECONDS: Final = 5.0
STEADY_SECONDS: Final = 2.0
"""A child that ran for this long starts again without a pause when it ends."""

_TIED: Final = """
import ctypes, os, signal, sys
if sys.platform == "linux":
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)
    if os.getppid() != int(sys.argv[1]):
        sys.exit(1)
os.execv(sys.argv[2], sys.argv[2:])
"""
"""Runs a command that dies with its parent: the tie outlives `exec`, and a parent that died before it is noticed."""


class Child:
    """A supervised process. `name` is its log's too; `log_file` holds what it wrote since the supervisor started.

    `restart` may be switched off, so that a killed child stays away, and on again. `starts` counts all of them,
    `starts_in_vain` those since somebody last found it ready. Signals may be sent from any thread; only the
    supervisor's thread starts processes, since the tie is to a thread.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        log_file: Path,
        *,
        environ: Mapping[str, str],
        is_ready: Callable[[], bool],
        inherits: Sequence[int] = (),
    ) -> None:
        self.name, self.command, self.log_file = name, list(command), log_file
        self.environ, self.inherits = dict(environ), tuple(inherits)
        self.restart = True
        self.starts = self.starts_in_vain = 0
        self._is_ready = is_ready
        self._process: subprocess.Popen[bytes] | None = None
        self._began = self._due = 0.0
        self._end_noticed = False
        self._pause = FIRST_PAUSE_SECONDS

    @property
    def pid(self) -> int:
        """Process id of the present or the last run; 0 before the first."""
        return self._process.pid if self._process else 0

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def exit_code(self) -> int | None:
        """How the last run ended (negative: the signal); None while it runs and before the first."""
        return self._process.poll() if self._process else None

    @property
    def ready(self) -> bool:
        """Whether it runs and says that it can work."""
        if self.running and self._is_ready():
            self.starts_in_vain = 0
            return True
        return False

    def kill(self, number: int = signal.SIGKILL) -> None:
        """Sends a signal to the process and to all that it started. Nothing happens when it is not running."""
        if self.running:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.pid, number)

    def terminate(self) -> None:
        """Asks this one process to stop as an orchestrator does (SIGTERM)."""
        if self.running:
            os.kill(self.pid, signal.SIGTERM)

    def pause(self) -> None:
        """Freezes it (SIGSTOP) until `resume`."""
        self.kill(signal.SIGSTOP)

    def resume(self) -> None:
        self.kill(signal.SIGCONT)

    def wait_ended(self, timeout_seconds: float) -> int:
        """The exit code of the present run (negative: the signal). Raises `subprocess.TimeoutExpired`."""
        return 0 if self._process is None else self._process.wait(timeout_seconds)

    def log(self) -> str:
        """All that it wrote since the supervisor started."""
        return self.log_file.read_text(errors="replace") if self.log_file.exists() else ""

    def start(self) -> None:
        """Starts a run. For the supervisor's own thread."""
        tied = [sys.executable, "-ISc", _TIED, str(os.getpid()), *self.command]
        with self.log_file.open("ab") as log:
            self._process = subprocess.Popen(  # noqa: S603 - our own commands
                tied,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=self.environ,
                start_new_session=True,
                pass_fds=self.inherits,
            )
        self.starts += 1
        self.starts_in_vain += 1
        self._end_noticed = False
        self._began = time.monotonic()

    def look_after(self) -> bool:
        """Starts it again when it ended, it is wanted, and its pause is over. Returns whether it did."""
        if self.running or self._process is None:
            return False
        if not self._end_noticed:
            self._pause_before_next()
        if not self.restart or time.monotonic() < self._due:
            return False
        self.start()
        return True

    def _pause_before_next(self) -> None:
        self._end_noticed = True
        now = time.monotonic()
        steady = now - self._began >= STEADY_SECONDS
        self._pause = FIRST_PAUSE_SECONDS if steady else min(self._pause * 2, LONGEST_PAUSE_SECONDS)
        self._due = now + (0.0 if steady else self._pause)
