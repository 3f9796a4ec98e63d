"""Logs of matches that ended, kept for replays: chunks and what describes the match, opaque bytes here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from services.store.batcher import Pipelines
from services.store.keys import RoomId
from services.store.players import DAY_MS

_ABOUT: Final = b"match"


class ArchiveStore:
    """All methods raise `StoreUnavailable` when Redis is away; keeping a log may simply be repeated."""

    def __init__(self, pipelines: Pipelines, replay_days: int) -> None:
        self._keys = pipelines.keys
        self._reads = pipelines.reads
        self._writes = pipelines.writes
        self._lifetime_ms = replay_days * DAY_MS

    async def keep(self, room: RoomId, match: str, about: bytes, chunks: Mapping[int, bytes]) -> None:
        """Keep a match and the chunks of its log, by their first versions, from now on for the lifetime of replays.
        What is there of the match already is replaced."""
        key, index = self._keys.archived(room, match), self._keys.archived_matches(room)
        fields = [part for first, content in chunks.items() for part in (str(first).encode(), content)]
        await self._writes.command("HSET", key, _ABOUT, about, *fields, lane=key)
        await self._writes.command("PEXPIRE", key, self._lifetime_ms, lane=key)
        await self._writes.command("ZADD", index, min(chunks), match, lane=key)
        await self._writes.command("PEXPIRE", index, self._lifetime_ms, lane=key)

    async def last_match(self, room: RoomId) -> str | None:
        """The id of the room's last match that was kept; None if there is none."""
        newest = await self._reads.command("ZRANGE", self._keys.archived_matches(room), 0, 0, "REV")
        return newest[0].decode() if newest else None

    async def about(self, room: RoomId, match: str) -> bytes | None:
        """What describes the match; None if it was not kept, or not for that long."""
        about: bytes | None = await self._reads.command("HGET", self._keys.archived(room, match), _ABOUT)
        return about

    async def chunk(self, room: RoomId, match: str, version: int) -> bytes | None:
        """The chunk that begins last at or before this version; the first one where all begin later. None without
        chunks."""
        key = self._keys.archived(room, match)
        firsts = sorted(int(field) for field in await self._reads.command("HKEYS", key) if field != _ABOUT)
        if not firsts:
            return None
        first = max((first for first in firsts if first <= version), default=firsts[0])
        content: bytes | None = await self._reads.command("HGET", key, str(first))
        return content
