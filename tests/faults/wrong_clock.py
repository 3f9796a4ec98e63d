"""Processes whose clock is wrong: libfaketime, which Debian's package `faketime` brings."""

from __future__ import annotations

import subprocess


def wrong_clock(seconds: int) -> dict[str, str]:
    """The environment of a process whose clock is so far ahead, or behind. How fast time passes is right."""
    offset = f"{seconds:+d}s"
    found = subprocess.run(
        ["faketime", "-m", "-f", offset, "printenv", "LD_PRELOAD"], check=True, capture_output=True, text=True
    )
    return {"LD_PRELOAD": found.stdout.strip(), "FAKETIME": offset, "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
