"""The control for rollbacks: an authority that takes a returning client's version for enough, whatever its mark."""

from __future__ import annotations

from maumau.v1 import room_pb2

from services.game_authority.__main__ import bind
from services.game_authority.history import History, Missed
from services.game_authority.live_room import Newest
from services.runtime.lifecycle import run_service
from services.runtime.routes import GAME_AUTHORITY
from services.store.keys import RoomId
from services.wire.resume import ResumePoint

_missed = History.missed


async def _believe(history: History, newest: Newest, point: ResumePoint | None) -> Missed:
    if point is None:
        return await _missed(history, newest, point)
    entries = await history.log(RoomId(newest.room.id), point.version, newest.head.version)
    return entries, room_pb2.SNAPSHOT_REASON_UNSPECIFIED


if __name__ == "__main__":
    History.missed = _believe  # type: ignore[method-assign, assignment]
    run_service(GAME_AUTHORITY, bind)
