"""`maumauctl`, also as `python -m services.maumauctl`. Importing this makes all commands known to `app`."""

from __future__ import annotations

from services.maumauctl import check, keys, matches, players, processes, rooms
from services.maumauctl.app import app

__all__ = ["app", "check", "keys", "main", "matches", "players", "processes", "rooms"]


def main() -> None:
    """Entry point."""
    app(prog_name="maumauctl")


if __name__ == "__main__":
    main()
