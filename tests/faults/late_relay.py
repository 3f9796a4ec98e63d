"""An authority by which scoring gets the second match of a room before the first, and that dies (`crashing`) at `log
sent`, when scoring has the second one's log and nothing is confirmed yet.

Its control lacks `owed`: the log of a room is cut although another match of it is not confirmed.
"""

from __future__ import annotations

from typing import Any

import msgspec

from services.game_authority.__main__ import bind
from services.game_authority.relay import Relay
from services.rules.room.step import MatchResult
from services.runtime.lifecycle import run_service
from services.runtime.routes import GAME_AUTHORITY
from services.store import scripts
from services.store.keys import RoomId
from services.store.outbox import Outbox, OutboxEntry
from tests.faults.crashing import come_to, lacks
from tests.store.making import weakened
from tests.store.test_outbox import WAITS, WAITS_NOT

_relay, _done = Relay._relay, Outbox.done
_read = msgspec.msgpack.Decoder(MatchResult).decode
_counted = set[RoomId]()
"""Rooms whose second match is confirmed."""


async def _relay_late(relay: Relay, entry: OutboxEntry) -> None:
    if _read(entry.entry).number == 2 or entry.room in _counted:
        await _relay(relay, entry)


async def _done_or_die(outbox: Outbox, room: RoomId, entry_id: str, log_from: int = 0) -> bool:
    come_to("log sent")
    done = await _done(outbox, room, entry_id, log_from)
    _counted.add(room)
    return done


def _take_away(owner: Any, name: str, instead: Any) -> None:
    setattr(owner, name, instead)


if __name__ == "__main__":
    _take_away(Relay, "_relay", _relay_late)
    _take_away(Outbox, "done", _done_or_die)
    if lacks("owed"):
        _take_away(scripts, "CONFIRM", weakened(scripts.CONFIRM, WAITS, WAITS_NOT))
    run_service(GAME_AUTHORITY, bind)
