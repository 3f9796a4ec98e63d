"""What past matches tell the matching: who was with whom, and how long people waited for what."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import msgspec

from services.store.batcher import Pipelines
from services.store.keys import LATELY_MS, WAITS_MS, PlayerId, RoomId

MOST_WAITS: Final = 64
MOST_ROOMS: Final = 5


class Lately(NamedTuple):
    """With whom a player was matched last, and in which rooms."""

    players: tuple[PlayerId, ...] = ()
    rooms: tuple[RoomId, ...] = ()


_encode = msgspec.msgpack.Encoder().encode
_decode_lately = msgspec.msgpack.Decoder(Lately).decode


class EncounterStore:
    """Losing some of it does no harm. `now_ms` gives the time in ms."""

    def __init__(self, pipelines: Pipelines, now_ms: Callable[[], int]) -> None:
        self._keys = pipelines.keys
        self._reads = pipelines.reads
        self._writes = pipelines.writes
        self._now_ms = now_ms

    async def lately(self, player: PlayerId) -> Lately:
        """With whom a player was matched last; nobody after ten minutes."""
        stored = await self._reads.command("GET", self._keys.lately(player))
        return Lately() if stored is None else _decode_lately(stored)

    async def remember(self, player: PlayerId, lately: Lately) -> None:
        """Let this be what `lately` says."""
        await self._writes.command("SET", self._keys.lately(player), _encode(lately), "PX", LATELY_MS)

    async def been(self, player: PlayerId, room: RoomId) -> None:
        """A player took a seat in a room."""
        lately = await self.lately(player)
        rooms = (room, *(other for other in lately.rooms if other != room))[:MOST_ROOMS]
        await self.remember(player, Lately(lately.players, rooms))

    async def waited(self, table: bytes, waits_ms: Sequence[int]) -> None:
        """Note how long tickets of a table (ruleset and seats) waited in all."""
        key, now = self._keys.waits(table), self._now_ms()
        await asyncio.gather(
            self._writes.command("LPUSH", key, *(f"{now} {wait}" for wait in waits_ms), lane=key),
            self._writes.command("LTRIM", key, 0, MOST_WAITS - 1, lane=key),
            self._writes.command("PEXPIRE", key, WAITS_MS, lane=key),
        )

    async def waits(self, table: bytes) -> list[int]:
        """The latest whole waits at a table in ms, of the last hour at most."""
        found = await self._reads.command("LRANGE", self._keys.waits(table), 0, -1)
        oldest = self._now_ms() - WAITS_MS if found else 0
        pairs = (entry.split(b" ") for entry in found)
        return [int(wait) for at, wait in pairs if int(at) >= oldest]
