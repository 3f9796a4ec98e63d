"""Who is looking at a room just now. Presence has no version: it is entered, renewed and left beside the log, and
whoever starts or times out a turn reads it."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

import msgspec

from services.store import scripts
from services.store.batcher import Pipelines
from services.store.keys import PlayerId, ProcessId, RoomId, StreamId

_encode = msgspec.msgpack.Encoder().encode


class Entry(NamedTuple):
    """One live stream of a player, or of a spectator, to a room."""

    player: PlayerId
    stream: StreamId
    process: ProcessId


_decode = msgspec.msgpack.Decoder(Entry).decode


class Presence:
    """The presence sets of all rooms. An entry that is not renewed lives for `lifetime_ms` by the clock of Redis."""

    def __init__(self, pipelines: Pipelines, lifetime_ms: int) -> None:
        self._keys = pipelines.keys
        self._reads = pipelines.reads
        self.lifetime_ms = lifetime_ms

    async def enter(self, room: RoomId, entry: Entry) -> bool:
        """Enter a stream, or renew it; true if it was not there."""
        added = await self._reads.script(
            scripts.ENTER, (self._keys.room(room).presence,), (_encode(entry), self.lifetime_ms), lane=_lane(entry)
        )
        return bool(added)

    async def leave(self, room: RoomId, entry: Entry) -> None:
        """Take a stream out: it ended cleanly or its peer is known to be dead."""
        await self._reads.command("ZREM", self._keys.room(room).presence, _encode(entry), lane=_lane(entry))

    async def entries(self, room: RoomId, running: Collection[ProcessId] | None = None) -> list[Entry]:
        """The live entries of a room. With `running` (see `Fleet.running`) only those of processes that still pulse: a
        killed process leaves its entries behind."""
        members = await self._reads.script(scripts.PRESENT, (self._keys.room(room).presence,), ())
        entries = [_decode(member) for member in members]
        return entries if running is None else [entry for entry in entries if entry.process in running]


def _lane(entry: Entry) -> str:
    # A renewal must not overtake the leaving of the same stream.
    return f"{entry.process} {entry.stream}"
