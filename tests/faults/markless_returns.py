"""The control for rollbacks: an authority that takes a returning client's version for enough, whatever its mark."""

from __future__ import annotations

from maumau.v1 import room_pb2

from services.game_authority.__main__ import bind
from services.game_authority.delivery import Delivery
from services.game_authority.live_room import Newest
from services.runtime.lifecycle import run_service
from services.runtime.routes import GAME_AUTHORITY
from services.store.keys import RoomId
from services.store.records import LogEntry
from services.wire.resume import ResumePoint

_missed = Delivery._missed


async def _believe(
    delivery: Delivery, newest: Newest, point: ResumePoint | None
) -> tuple[list[LogEntry] | None, room_pb2.SnapshotReason.ValueType]:
    if point is None:
        return await _missed(delivery, newest, point)
    entries = await delivery._log(RoomId(newest.room.id), point.version, newest.head.version)
    return entries, room_pb2.SNAPSHOT_REASON_UNSPECIFIED


if __name__ == "__main__":
    Delivery._missed = _believe  # type: ignore[method-assign, assignment]
    run_service(GAME_AUTHORITY, bind)
