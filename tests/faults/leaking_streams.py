"""The control for leaks: an authority that keeps a task, a file and a note of every stream that was ever open."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from services.game_authority.__main__ import bind
from services.game_authority.streams import Stream, Streams
from services.runtime.lifecycle import run_service
from services.runtime.routes import GAME_AUTHORITY

NOTE_BYTES = 64 * 1024

_close = Streams.close
_kept: list[tuple[asyncio.Task[bool], int, bytes]] = []


def _close_and_keep(streams: Streams, stream: Stream) -> None:
    _close(streams, stream)
    waits = asyncio.create_task(asyncio.Event().wait())
    _kept.append((waits, os.open(Path("/dev/null"), os.O_RDONLY), os.urandom(NOTE_BYTES)))


if __name__ == "__main__":
    Streams.close = _close_and_keep  # type: ignore[method-assign, assignment]
    run_service(GAME_AUTHORITY, bind)
