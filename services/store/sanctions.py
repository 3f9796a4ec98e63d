"""What the operator does about players: bans and mutes, each until a time, with the reason that was given."""

from __future__ import annotations

from typing import Final, NamedTuple

from services.store import scripts
from services.store.batcher import Pipelines
from services.store.keys import PlayerId, SanctionKeys

READ_AT_ONCE: Final = 1_000


class Sanction(NamedTuple):
    """A player, the end in ms since 1970, and why."""

    player: PlayerId
    until_ms: int
    why: str


class Place(NamedTuple):
    """Where a sanction is in the list."""

    until_ms: int
    player: PlayerId


def place(sanction: Sanction) -> Place:
    """Where this one is."""
    return Place(sanction.until_ms, sanction.player)


class Sanctions:
    """One kind of them; `keys` are those of bans or of mutes. Methods raise `StoreUnavailable`."""

    def __init__(self, pipelines: Pipelines, keys: SanctionKeys) -> None:
        self._keys = keys
        self._reads = pipelines.reads
        self._writes = pipelines.writes

    async def put(self, player: PlayerId, until_ms: int, why: str = "") -> None:
        """Holds until then in place of what was; 0 lifts it."""
        await self._writes.script(scripts.SANCTION, self._keys, (player, until_ms, why))

    async def until(self, player: PlayerId) -> int:
        """When it ends for a player, in ms since 1970, also one that is over; 0 if there is none."""
        end = await self._reads.command("ZSCORE", self._keys.ends, player)
        return 0 if end is None else int(float(end))

    async def of(self, player: PlayerId) -> Sanction | None:
        """The one that holds for a player, or is over and not forgotten yet; None if there is none."""
        until_ms = await self.until(player)
        why = await self._reads.command("HGET", self._keys.why, player)
        return Sanction(player, until_ms, (why or b"").decode()) if until_ms else None

    async def listed(self, after: Place | None, limit: int) -> list[Sanction]:
        """At most `limit` of those that hold now, the earliest end first, from after a place on."""
        found: list[Sanction] = []
        read = 0
        while len(found) < limit:
            page = await self._page(0 if after is None else after.until_ms, read)
            found += [sanction for sanction in page if after is None or _order(sanction) > _order(after)]
            read += len(page)
            if len(page) < READ_AT_ONCE:
                break
        return found[:limit]

    async def _page(self, from_ms: int, skipped: int) -> list[Sanction]:
        reply = await self._reads.script(scripts.SANCTIONS, self._keys[:2], (READ_AT_ONCE, from_ms, skipped))
        return [
            Sanction(PlayerId(player.decode()), int(float(end)), why.decode())
            for player, end, why in zip(reply[::3], reply[1::3], reply[2::3], strict=True)
        ]


def _order(of: Sanction | Place) -> tuple[int, bytes]:
    """As Redis orders them."""
    return of.until_ms, of.player.encode()
