"""`maumauctl`, also as `python -m services.maumauctl`."""

from __future__ import annotations

from services.maumauctl import check, keys, players, processes, rooms
from services.maumauctl.app import app

COMMANDS = (processes, rooms, players, keys, check)
"""The modules that hold the commands, in the order of the help."""


def main() -> None:
    """Entry point."""
    app(prog_name="maumauctl")


if __name__ == "__main__":
    main()
