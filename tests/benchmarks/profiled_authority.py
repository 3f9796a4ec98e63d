"""A game-authority process that samples its own stack once a millisecond of CPU, to find out where its time goes.

    python -m tests.benchmarks path --profile FILE

Sampling costs little and, unlike tracing, does not make small functions look dear. Time in C counts for the Python
function that called it.
"""

from __future__ import annotations

import os
import signal
from collections import Counter
from pathlib import Path
from types import CodeType, FrameType
from typing import Final

from services.game_authority.__main__ import bind
from services.runtime.lifecycle import run_service
from services.runtime.routes import GAME_AUTHORITY

FILE_VARIABLE: Final = "BENCHMARK_PROFILE"
"""Environment variable with the file that SIGUSR1 lets the process write."""
_PERIOD_SECONDS: Final = 0.001
_LINES: Final = 80


class Samples:
    """How often each function was at the top of the stack, and anywhere in it."""

    def __init__(self) -> None:
        self._own: Counter[CodeType] = Counter()
        self._whole: Counter[CodeType] = Counter()

    def take(self, _: int, frame: FrameType | None) -> None:
        if frame is not None:
            self._own[frame.f_code] += 1
        seen = set()
        while frame is not None:
            seen.add(frame.f_code)
            frame = frame.f_back
        self._whole.update(seen)

    def write(self, *_: object) -> None:
        """Both lists, in percent of all samples, and begins anew."""
        total = max(1, sum(self._own.values()))
        lines = [f"{total} samples", "own %"]
        lines += [_line(code, count / total) for code, count in self._own.most_common(_LINES)]
        lines += ["with all that it calls %"]
        lines += [_line(code, count / total) for code, count in self._whole.most_common(_LINES)]
        Path(os.environ[FILE_VARIABLE]).write_text("\n".join(lines) + "\n")
        self._own.clear()
        self._whole.clear()


def _line(code: CodeType, share: float) -> str:
    where = "/".join(Path(code.co_filename).parts[-3:])
    return f"{share * 100:6.2f}  {code.co_qualname}  {where}:{code.co_firstlineno}"


if __name__ == "__main__":
    samples = Samples()
    signal.signal(signal.SIGPROF, samples.take)
    signal.signal(signal.SIGUSR1, samples.write)
    signal.setitimer(signal.ITIMER_PROF, _PERIOD_SECONDS, _PERIOD_SECONDS)
    run_service(GAME_AUTHORITY, bind)
