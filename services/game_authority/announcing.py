"""The operator's word to everybody who watches a room, in all rooms and processes."""

from __future__ import annotations

import asyncio
import time
from typing import Final

from services.game_authority.asides import Announced, encode_aside
from services.store.assembly import Store
from services.store.keys import PARTITIONS

PARTITIONS_AT_ONCE: Final = 16


class Announcing:
    """See the module."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def announce(self, text: str, request_id: bytes) -> int:
        """Tells every room that is not closed; how many there were. The same id again is heard once in each. Raises
        `StoreUnavailable`: some rooms may have been told."""
        aside = encode_aside(Announced(text, round(time.time() * 1000), request_id))
        told = 0
        for first in range(0, PARTITIONS, PARTITIONS_AT_ONCE):
            some = await asyncio.gather(
                *(self._store.sweep.rooms_waiting(n) for n in range(first, first + PARTITIONS_AT_ONCE))
            )
            rooms = [room for waiting in some for room in waiting]
            await asyncio.gather(*(self._store.rooms.say(room, aside) for room in rooms))
            told += len(rooms)
        return told
