"""Sessions that are over before their tokens are: signed out, or the player is banned.

Every process asks Redis twice a second what was revoked and keeps that in memory, so a call costs nothing more. A
sign-out or ban holds at once in the process that takes it and within a second in all others. While Redis is away what
is known stays known.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Final

from services.runtime.logs import log
from services.runtime.settings import Settings
from services.runtime.tokens import Session
from services.store.batcher import Pipelines
from services.store.errors import StoreUnavailable
from services.store.keys import PlayerId
from services.store.revocations import NEVER, Changes, Ended, RevocationStore
from services.store.sanctions import Sanctions
from services.wire.errors import Refusal, refusal
from services.wire.times import iso_text

LOOK_SECONDS: Final = 0.5
OVERLAP_MS: Final = 60_000
"""How much is read again each time: when another Redis takes over, its clock may be behind by so much."""


def longest_token_seconds(settings: Settings) -> float:
    """How long a token may live after it was issued, own or of the identity provider."""
    own = settings.session_seconds
    return own if settings.jwks_url is None else max(own, settings.jwks_token_seconds)


class Revocations:
    """What one process knows. `changed` is called whenever there is something new."""

    def __init__(self, settings: Settings, pipelines: Pipelines) -> None:
        # Its maker's clock may be ahead, and it is taken for a while after its end.
        self._life = longest_token_seconds(settings) + 2 * settings.clock_leeway_seconds
        self._store = RevocationStore(pipelines, round(self._life * 1000))
        self._ended: dict[Ended, float] = {}
        self._bans: dict[PlayerId, int] = {}
        self._since_ms, self._bans_count = 0, NEVER
        self._reachable = True
        self.changed: Callable[[], None] = lambda: None

    def refusal(self, session: Session) -> Refusal | None:
        """Why a session is over; None while it is not."""
        return self.banned(PlayerId(session.player_id)) or self._signed_out(session)

    def banned(self, player: PlayerId) -> Refusal | None:
        """PLAYER_BANNED with the end of the ban; None for whoever is not banned."""
        until_ms = self._bans.get(player, 0)
        if until_ms <= time.time() * 1000:
            return None
        return refusal("PLAYER_BANNED", until=iso_text(until_ms))

    def _signed_out(self, session: Session) -> Refusal | None:
        known = Ended(PlayerId(session.player_id), session.session_id) in self._ended
        return refusal("SESSION_ENDED") if known else None

    async def sign_out(self, session: Session) -> None:
        """Ends a session everywhere. Raises `StoreUnavailable`."""
        await self.end(PlayerId(session.player_id), session.session_id)

    async def end(self, player: PlayerId, session: str) -> None:
        """The same by names. Raises `StoreUnavailable`."""
        await self._store.end_session(player, session)
        self._ended[Ended(player, session)] = time.monotonic()
        self.changed()

    async def ban(self, player: PlayerId, seconds: int, why: str = "") -> None:
        """Keeps a player away for so long; 0 lifts the ban. Raises `StoreUnavailable`."""
        await self._store.bans.put(player, round((time.time() + seconds) * 1000) if seconds else 0, why)
        await self.look()

    @property
    def bans(self) -> Sanctions:
        """The bans as they are stored."""
        return self._store.bans

    async def run(self) -> None:
        """Runs as long as the process."""
        while True:
            try:
                await self.look()
                self._reachable = True
            except StoreUnavailable as error:
                if self._reachable:
                    log.warning("revocations cannot be read; the known ones stay", error=str(error))
                self._reachable = False
            await asyncio.sleep(LOOK_SECONDS)

    async def look(self) -> None:
        """Reads what is new. Raises `StoreUnavailable`."""
        changes = await self._store.changes(max(0, self._since_ms - OVERLAP_MS), self._bans_count)
        new = self._take(changes)
        self._forget()
        if new:
            self.changed()

    def _take(self, changes: Changes) -> bool:
        new = [ended for ended in changes.ended if ended not in self._ended]
        self._ended.update(dict.fromkeys(new, time.monotonic()))
        self._since_ms, self._bans_count = changes.now_ms, changes.bans_count
        if changes.bans is not None:
            self._bans = dict(changes.bans)
        return bool(new) or changes.bans is not None

    def _forget(self) -> None:
        """Drops, from the oldest on, sessions of which every token has run out."""
        gone = time.monotonic() - self._life
        while self._ended and next(iter(self._ended.values())) < gone:
            del self._ended[next(iter(self._ended))]
