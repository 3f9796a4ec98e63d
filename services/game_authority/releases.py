"""Releases side by side: what this process understands, and what a new room may be made with.

Every process announces the schemas that it reads and the engine revisions that it has. A new room takes the newest of
both that every process understands which announced itself within 30 s, so that each of them can serve it; a process
that starts later and is older refuses the room and leaves it alone.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import msgspec

from services.rules.room.codec import FORMS, REVISIONS
from services.runtime.logs import log
from services.store.fleet import Fleet

ANNOUNCED_WITHIN_MS: Final = 30_000
"""Longer than a process may be silent and yet serve a room."""


class MadeWith(NamedTuple):
    """What a room is made with."""

    schema: int
    revision: int


class About(msgspec.Struct, frozen=True):
    """What a process announces of itself."""

    version: str
    schemas: tuple[int, ...]
    revisions: tuple[int, ...]


_decode = msgspec.json.Decoder(About).decode


def about_this(version: str) -> bytes:
    """The announcement of this process."""
    return msgspec.json.encode(About(version, tuple(sorted(FORMS)), tuple(sorted(REVISIONS))))


class Releases:
    """See the module."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet

    async def for_a_new_room(self) -> MadeWith:
        """The newest that everybody understands; the oldest of this release where nothing is common to all. Raises
        `StoreUnavailable`."""
        announced = await self._fleet.running(ANNOUNCED_WITHIN_MS)
        others = [each for each in map(_read, announced.values()) if each is not None]
        schemas = set(FORMS).intersection(*(about.schemas for about in others))
        revisions = REVISIONS.intersection(*(about.revisions for about in others))
        return MadeWith(max(schemas, default=min(FORMS)), max(revisions, default=min(REVISIONS)))


def _read(announced: bytes) -> About | None:
    try:
        return _decode(announced)
    except msgspec.MsgspecError:
        log.warning("a process announces itself in another way", about=announced[:200].decode(errors="replace"))
        return None
