"""What ends a session before its token runs out: a sign-out, and a ban. Kept for all processes to read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from services.store import scripts
from services.store.batcher import Pipelines
from services.store.keys import PlayerId
from services.store.sanctions import Sanctions

NEVER = -1
"""The count of bans that nobody has read yet."""


class Ended(NamedTuple):
    """A session that was signed out."""

    player: PlayerId
    session: str


class Changes(NamedTuple):
    """What was revoked since the last time. `bans` holds players and the ms in which their bans end; None: as
    before."""

    now_ms: int
    ended: tuple[Ended, ...]
    bans_count: int
    bans: Mapping[PlayerId, int] | None


class RevocationStore:
    """Ended sessions and bans. `life_ms` is how long a token may live after it was issued, leeway included."""

    def __init__(self, pipelines: Pipelines, life_ms: int) -> None:
        self._keys = pipelines.keys
        self._reads = pipelines.reads
        self._writes = pipelines.writes
        self._life_ms = life_ms
        self.bans = Sanctions(pipelines, pipelines.keys.bans)

    async def end_session(self, player: PlayerId, session: str) -> None:
        """From now on no token of this session is good. Raises `StoreUnavailable`."""
        args = (f"{session}\n{player}", self._life_ms)
        await self._writes.script(scripts.END_SESSION, (self._keys.ended_sessions,), args)

    async def changes(self, since_ms: int, bans_count: int) -> Changes:
        """What was revoked since `since_ms` (the `now_ms` of the last time; 0 for all), and the bans if their count is
        another. Raises `StoreUnavailable`."""
        keys = (self._keys.ended_sessions, self._keys.bans.ends, self._keys.bans.changes)
        now, ended, new_count, bans = await self._reads.script(scripts.REVOKED, keys, (since_ms, bans_count))
        return Changes(now, tuple(map(_ended, ended)), new_count, None if bans is None else _bans(bans))


def _ended(member: bytes) -> Ended:
    session, _, player = member.decode().partition("\n")
    return Ended(PlayerId(player), session)


def _bans(listed: list[bytes]) -> dict[PlayerId, int]:
    ends = iter(listed)
    return {PlayerId(player.decode()): int(float(end)) for player, end in zip(ends, ends, strict=True)}
