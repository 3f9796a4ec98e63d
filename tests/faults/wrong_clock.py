"""Processes whose clock is wrong: libfaketime, which Debian's package `faketime` brings."""

from __future__ import annotations

import subprocess

TRIES = 5
"""What faketime shares between processes is named after its own, and one that was killed leaves that behind: whoever
gets its number later fails."""


def wrong_clock(seconds: int) -> dict[str, str]:
    """The environment of a process whose clock is so far ahead, or behind. How fast time passes is right."""
    offset = f"{seconds:+d}s"
    for _ in range(TRIES):
        found = subprocess.run(
            ["faketime", "-m", "-f", offset, "printenv", "LD_PRELOAD"], check=False, capture_output=True, text=True
        )
        if found.returncode == 0:
            return {"LD_PRELOAD": found.stdout.strip(), "FAKETIME": offset, "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
    raise RuntimeError(f"faketime fails: {found.stderr}")
