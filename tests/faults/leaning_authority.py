"""The control for kills of matchmaking: an authority that asks matchmaking whether it is there before each action."""

from __future__ import annotations

import asyncio
import os

from services.game_authority.__main__ import bind
from services.game_authority.commits import Attempt
from services.game_authority.rooms import Done, Rooms
from services.rules.room.actions import Player
from services.runtime.lifecycle import run_service
from services.runtime.routes import GAME_AUTHORITY
from services.store.keys import RoomId
from services.wire.errors import refusal

_attempt = Rooms.attempt


async def _ask_first(rooms: Rooms, room_id: RoomId, attempt: Attempt) -> Done:
    if isinstance(attempt.actor, Player):
        host, _, port = os.environ["MAUMAU_MATCHMAKING_TARGET"].removeprefix("ipv4:").partition(":")
        try:
            _, writer = await asyncio.open_connection(host, int(port))
        except OSError:
            raise refusal("STORE_UNAVAILABLE") from None
        writer.close()
    return await _attempt(rooms, room_id, attempt)


if __name__ == "__main__":
    Rooms.attempt = _ask_first  # type: ignore[method-assign, assignment]
    run_service(GAME_AUTHORITY, bind)
