"""The control for the tokens of slow readers: they lead past what was dropped from the queue."""

from __future__ import annotations

from services.game_authority.__main__ import bind
from services.game_authority.streams import Stream
from services.runtime.lifecycle import run_service
from services.runtime.routes import GAME_AUTHORITY

if __name__ == "__main__":
    Stream.token_of_what_was_sent = Stream.token  # type: ignore[method-assign]
    run_service(GAME_AUTHORITY, bind)
