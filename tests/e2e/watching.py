"""Looks at every state of a room as it is published: no card is ever lost or doubled."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import Final

from services.rules import engine
from services.rules.cards import PACKS
from services.rules.room.codec import decode
from services.store.assembly import Store
from services.store.hub import Gap, Heard
from services.store.keys import RoomId
from services.store.packing import Published

PACKS_OF: Final = {
    "mau-mau-32": PACKS["piquet32"],
    "uno": PACKS["uno108"],
    "mau-mau-brasil": PACKS["french52"] * 2,
    "tranca": PACKS["french52"] * 2,
}


class CardCount:
    """Counts the cards in each published state of one room."""

    def __init__(self) -> None:
        self.versions: list[int] = []
        self.states = 0
        self.wrong: list[str] = []

    def hear(self, message: Heard) -> None:
        if isinstance(message, Gap):
            self.wrong.append("the subscription of the test itself was broken")
        elif isinstance(message, Published):
            self._count(message)

    def _count(self, message: Published) -> None:
        self.versions.append(message.entry.version)
        room = decode(message.state)
        if room.version != message.entry.version:
            self.wrong.append(f"version {message.entry.version} came with the state of {room.version}")
        if room.match is None:
            return
        self.states += 1
        found, pack = engine.cards(room.match.state), PACKS_OF[room.ruleset.game]
        if found != sorted(pack, key=lambda card: card.code):
            self.wrong.append(f"version {room.version} has {len(found)} cards")


@contextlib.asynccontextmanager
async def counting_cards(store: Store, room: str) -> AsyncIterator[CardCount]:
    """A count that hears everything that is committed from now on."""
    count = CardCount()
    subscription = await store.hub.subscribe(RoomId(room), count.hear)
    try:
        yield count
    finally:
        subscription.close()
