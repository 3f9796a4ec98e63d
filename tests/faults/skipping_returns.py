"""The control for returns: an authority that leaves one version out of what a returning client has missed."""

from __future__ import annotations

from maumau.v1 import room_pb2

from services.game_authority.__main__ import bind
from services.game_authority.delivery import Delivery
from services.game_authority.live_room import Newest
from services.runtime.lifecycle import run_service
from services.runtime.routes import GAME_AUTHORITY
from services.store.records import LogEntry
from services.wire.resume import ResumePoint

_missed = Delivery._missed


async def _miss_one(
    delivery: Delivery, newest: Newest, point: ResumePoint | None
) -> tuple[list[LogEntry] | None, room_pb2.SnapshotReason.ValueType]:
    entries, reason = await _missed(delivery, newest, point)
    if entries is not None and len(entries) > 2:
        del entries[len(entries) // 2]
    return entries, reason


if __name__ == "__main__":
    Delivery._missed = _miss_one  # type: ignore[method-assign, assignment]
    run_service(GAME_AUTHORITY, bind)
