"""What matchmaking asks of rooms, where somebody else does the same at that moment."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest
from maumau.internal.v1 import room_control_pb2 as pb

from services.game_authority.commits import Attempt
from services.game_authority.room_control import RoomControlService
from services.game_authority.rooms import Done, Rooms
from services.rules.room.reasons import RoomReason, RoomRefusal
from services.store.keys import RoomId
from tests.rules.rooms import Stage

NOTHING: Any = None


class Refusing:
    """Rooms of which one is open when it is looked at, and refuses to be closed for this reason."""

    def __init__(self, reason: RoomReason) -> None:
        self._reason = reason

    async def newest(self, room: RoomId) -> Any:
        return SimpleNamespace(newest=SimpleNamespace(room=Stage().now))

    async def carry_out(self, room: RoomId, attempt: Attempt) -> Done:
        raise RoomRefusal(self._reason)


async def close(reason: RoomReason) -> pb.CloseRoomResponse:
    service = RoomControlService(cast(Rooms, Refusing(reason)), NOTHING, NOTHING, {}, NOTHING)
    return await service.CloseRoom(pb.CloseRoomRequest(room_id="room-1", why="so"), NOTHING)


async def test_a_room_that_somebody_else_closes_meanwhile_is_closed() -> None:
    assert await close(RoomReason.ROOM_CLOSED) == pb.CloseRoomResponse()


async def test_a_room_whose_match_began_meanwhile_is_not_closed() -> None:
    with pytest.raises(RoomRefusal, match="MATCH_RUNNING"):
        await close(RoomReason.MATCH_RUNNING)
