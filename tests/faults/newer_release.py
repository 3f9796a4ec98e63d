"""An authority of the next release: it knows one schema and one engine revision more than this one.

Its second form of a room keeps the first one inside, so that nothing else has to differ. Its control asks nobody what
the others understand (`NEWER_ASKS_NOBODY`) and makes every room with the newest that it has itself.
"""

from __future__ import annotations

import os
from typing import Final

import msgspec

from services.game_authority.__main__ import bind
from services.game_authority.releases import MadeWith, Releases
from services.rules.room import codec
from services.rules.room.codec import FORMS, REVISIONS, Form
from services.rules.room.state import Room
from services.runtime.lifecycle import run_service
from services.runtime.routes import GAME_AUTHORITY

ASKS_NOBODY: Final = "NEWER_ASKS_NOBODY"
NEWER: Final = 2
_first = FORMS[1]


def _encode(room: Room) -> bytes:
    return msgspec.msgpack.encode((NEWER, room.revision, _first.encode(room)))


def _decode(stored: bytes) -> Room:
    _, _, inner = msgspec.msgpack.decode(stored, type=tuple[int, int, bytes])
    return _first.decode(inner)


def learn() -> None:
    """From now on this process is of the next release."""
    FORMS[NEWER] = Form(_encode, _decode)
    REVISIONS.add(NEWER)


async def _newest_of_its_own(releases: Releases) -> MadeWith:
    return MadeWith(max(codec.FORMS), max(codec.REVISIONS))


if __name__ == "__main__":
    learn()
    if os.environ.get(ASKS_NOBODY):
        Releases.for_a_new_room = _newest_of_its_own  # type: ignore[method-assign, assignment]
    run_service(GAME_AUTHORITY, bind)
