"""What the operator does about players: bans and mutes, each until a time, with the reason that was given."""

from __future__ import annotations

from typing import Final, NamedTuple

from services.store import scripts
from services.store.batcher import Pipelines
from services.store.keys import PlayerId, SanctionKeys

MOST_LISTED: Final = 10_000


class Sanction(NamedTuple):
    """A player, the end in ms since 1970, and why."""

    player: PlayerId
    until_ms: int
    why: str


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

    async def listed(self) -> list[Sanction]:
        """Those that hold now, the earliest end first; at most 10,000."""
        reply = await self._reads.script(scripts.SANCTIONS, self._keys[:2], (MOST_LISTED,))
        return [
            Sanction(PlayerId(player.decode()), int(float(end)), why.decode())
            for player, end, why in zip(reply[::3], reply[1::3], reply[2::3], strict=True)
        ]
