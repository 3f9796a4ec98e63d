"""The whole server for tests: all processes on free ports, with bots that do not keep anybody waiting."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from services.local.plan import StackOptions
from services.local.stack import Stack
from services.runtime.routes import GAME_AUTHORITY

QUICK: Final = {
    "MAUMAU_BOT_MOVE_MIN_SECONDS": "0",
    "MAUMAU_BOT_MOVE_MAX_SECONDS": "0.01",
    "MAUMAU_WINDOW_SECONDS": "0.1",
    "MAUMAU_RATE_LIMITS": "false",  # all clients of a test have one address
    # What a test left behind stays as it is: some cut logs short, which would be an error once the match is archived.
    "MAUMAU_EMPTY_ROOM_SECONDS": "3600",
}


def options(var_dir: Path, **changed: Any) -> StackOptions:
    """Two authorities behind Envoy, unless told otherwise. `environ` comes on top of the quick times."""
    environ = {**QUICK, **changed.pop("environ", {})}
    return StackOptions(**{"var_dir": var_dir, "port": 0, "authorities": 2, "environ": environ, **changed})


def with_authority(module: str) -> dict[str, str]:
    """`modules` of the options, with the authorities started from another module."""
    return {**StackOptions().modules, GAME_AUTHORITY: module}


def complaints(stack: Stack) -> list[str]:
    """What the services wrote that somebody has to look at: errors, and whatever is no line of our log."""
    found = []
    for process in stack.processes:
        for line in stack[process.name].log().splitlines():
            if _is_complaint(line):
                found.append(f"{process.name}: {line}")
    return found


def _is_complaint(line: str) -> bool:
    try:
        return json.loads(line)["level"] not in ("debug", "info", "warning")
    except (ValueError, KeyError, TypeError):
        return True
