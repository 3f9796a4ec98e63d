"""What matchmaking asks of rooms, where somebody else does the same at that moment."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest
from maumau.internal.v1 import room_control_pb2 as pb
from maumau.v1 import rules_pb2

from services.game_authority.commits import Attempt
from services.game_authority.room_control import RoomControlService
from services.game_authority.rooms import Done, Rooms
from services.rules.room.reasons import RoomReason, RoomRefusal
from services.store.keys import RoomId
from services.wire.errors import Refusal, refusal
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


class Emptied:
    """A room that somebody left, or was removed from, before what they asked for is answered."""

    room = Stage(people="ann bob").now

    async def live(self, room: RoomId) -> Any:
        return SimpleNamespace(newest=SimpleNamespace(room=self.room))

    async def carry_out(self, room: RoomId, attempt: Attempt) -> Done:
        return Done(2)

    async def create(self, action: Any, actor: Any) -> Any:
        return await self.live(RoomId(action.room_id))


def emptied() -> RoomControlService:
    open_to_all: Any = SimpleNamespace(refuse_if_full=lambda: None, code=lambda *_: "CODE")
    return RoomControlService(cast(Rooms, Emptied()), open_to_all, open_to_all, {}, lambda: None)


async def test_whoever_is_removed_before_the_answer_has_no_seat() -> None:
    request = pb.SeatPlayerRequest(room_id="room-1", person=pb.Person(player_id="eve", display_name="Eve"))
    with pytest.raises(RoomRefusal, match="NOT_SEATED"):
        await emptied().SeatPlayer(request, NOTHING)


async def test_a_room_asked_for_again_tells_everybody_their_seat_though_one_has_left() -> None:
    people = [pb.Person(player_id=name, display_name=name, seat=seat) for name, seat in (("eve", 2), ("bob", 1))]
    request = pb.CreateRoomRequest(room_id="room-1", ruleset=rules_pb2.Ruleset(preset="mau-mau-32"), people=people)
    assert list((await emptied().CreateRoom(request, NOTHING)).seats) == [2, 1]


def full() -> None:
    raise refusal("SERVER_FULL")


@pytest.mark.parametrize("found", [True, False])
async def test_a_room_that_was_made_before_redis_was_full_is_answered_again(found: bool) -> None:
    """Else its players would be matched once more, with seats in two rooms: the first answer may have been lost."""
    stage = Stage()

    async def newest(room: RoomId) -> Any:
        if not found:
            raise refusal("ROOM_NOT_FOUND")
        return SimpleNamespace(newest=SimpleNamespace(room=stage.now))

    watch: Any = SimpleNamespace(refuse_if_full=full, code=lambda *_: "CODE")
    rooms = cast(Rooms, SimpleNamespace(newest=newest))
    service = RoomControlService(rooms, watch, watch, {}, lambda: None)
    request = pb.CreateRoomRequest(room_id="room-1", ruleset=rules_pb2.Ruleset(preset="mau-mau-32"))
    request.people.add(player_id="ann", display_name="Ann")
    if found:
        assert list((await service.CreateRoom(request, NOTHING)).seats) == [0]
    else:
        with pytest.raises(Refusal, match="SERVER_FULL"):
            await service.CreateRoom(request, NOTHING)
