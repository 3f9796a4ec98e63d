"""`maumau.internal.v1.RoomControlService`: rooms and seats for matchmaking. Every call may be repeated."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from maumau.internal.v1 import room_control_pb2 as pb

from services.game_authority.commits import Attempt
from services.game_authority.live_room import LiveRoom
from services.game_authority.rooms import Rooms
from services.rules.bots.levels import BotLevel
from services.rules.room import actions as room_actions
from services.rules.room.actions import CloseRoom, CreateRoom, Matchmaker, Person, Player, TakeSeat
from services.rules.room.reasons import RoomReason, RoomRefusal
from services.rules.room.state import Room, RoomPhase
from services.runtime.calls import Context
from services.runtime.invites import Invites
from services.runtime.settings import Settings
from services.runtime.store_watch import StoreWatch
from services.store.keys import RoomId
from services.wire import validate
from services.wire.errors import Refusal, invalid_field
from services.wire.rulesets import read_ruleset
from services.wire.settings import BOT_LEVEL, read_settings
from services.wire.summaries import summary_message


class RoomControlService:
    """For matchmaking, on the internal port."""

    def __init__(
        self,
        rooms: Rooms,
        invites: Invites,
        watch: StoreWatch,
        defaults: Mapping[str, object],
        refuse_if_leaving: Callable[[], None],
    ) -> None:
        """`defaults` are room settings of this server for what a request leaves out; `refuse_if_leaving` refuses new
        rooms where the process is drained."""
        self._refuse_if_leaving = refuse_if_leaving
        self._defaults = dict(defaults)
        self._rooms = rooms
        self._watch = watch
        self._invites = invites

    async def CreateRoom(self, request: pb.CreateRoomRequest, context: Context) -> pb.CreateRoomResponse:  # noqa: N802
        """Makes the room, or answers with the one that there is. Raises Refusal (also SERVER_FULL, STOPPING),
        RulesetError, RoomRefusal."""
        self._refuse_if_leaving()
        if not request.HasField("ruleset"):
            raise invalid_field("ruleset", "", "a ruleset with a preset")
        choice = read_ruleset(request.ruleset)
        action = CreateRoom(
            room_id=validate.room_id(request.room_id),
            preset=choice.preset,
            people=tuple(_person(person) for person in request.people),
            options=choice.options,
            settings={**self._defaults, **read_settings(request.settings)},
            bots=request.bots,
            bot_level=_level(request),
            quick_play=request.quick_play,
        )
        room = (await self._made(action)).newest.room
        return pb.CreateRoomResponse(
            room=summary_message(room),
            seats=[_seat_given(room, person) for person in request.people],
            invite_code=self._invites.code(room.id, room.generation),
        )

    async def _made(self, action: room_actions.CreateRoom) -> LiveRoom:
        """Also where Redis is full the room that there is: who is told that there is none would be matched again."""
        try:
            self._watch.refuse_if_full()
        except Refusal as full:
            try:
                return await self._rooms.newest(RoomId(action.room_id))
            except Refusal:
                raise full from None
        return await self._rooms.create(action, Matchmaker())

    async def SeatPlayer(self, request: pb.SeatPlayerRequest, context: Context) -> pb.SeatPlayerResponse:  # noqa: N802
        """Raises Refusal and RoomRefusal: ROOM_NOT_FOUND, ROOM_FULL, SEAT_TAKEN, MATCH_RUNNING, BANNED, and NOT_SEATED
        for whoever left, or was removed, since."""
        person = _person(request.person)
        room_id = RoomId(validate.room_id(request.room_id))
        invite = request.invite_generation if request.HasField("invite_generation") else None
        action = TakeSeat(person.name, person.seat, invite)
        done = await self._rooms.carry_out(room_id, Attempt(Player(person.player), action))
        room = (await self._rooms.live(room_id)).newest.room
        seat = room.seat_of(person.player)
        if seat is None:
            raise RoomRefusal(RoomReason.NOT_SEATED)
        return pb.SeatPlayerResponse(seat=seat, version=done.version)

    async def GetRoomSummary(  # noqa: N802
        self, request: pb.GetRoomSummaryRequest, context: Context
    ) -> pb.GetRoomSummaryResponse:
        """Raises Refusal (ROOM_NOT_FOUND)."""
        room = (await self._rooms.newest(RoomId(validate.room_id(request.room_id)))).newest.room
        return pb.GetRoomSummaryResponse(
            room=summary_message(room),
            invite_generation=room.generation,
            player_ids=[seat.player for _, seat in room.people()],
            match_began=room.matches > 0,
        )

    async def CloseRoom(self, request: pb.CloseRoomRequest, context: Context) -> pb.CloseRoomResponse:  # noqa: N802
        """Raises Refusal and RoomRefusal: ROOM_NOT_FOUND, MATCH_RUNNING, MATCH_OVER."""
        room_id = RoomId(validate.room_id(request.room_id))
        if (await self._rooms.newest(room_id)).newest.room.phase is not RoomPhase.CLOSED:
            try:
                await self._rooms.carry_out(room_id, Attempt(Matchmaker(), CloseRoom(request.why)))
            except RoomRefusal as refused:
                if refused.reason is not RoomReason.ROOM_CLOSED:  # somebody was faster, or this is a repeat
                    raise
        return pb.CloseRoomResponse()


def default_settings(settings: Settings) -> dict[str, object]:
    """Room settings that this server's settings stand for."""
    return {
        "turn_seconds": round(settings.turn_seconds),
        "bank_seconds": round(settings.bank_seconds),
        "pause_seconds": round(settings.next_round_seconds),
    }


def _person(message: pb.Person) -> Person:
    seat = message.seat if message.HasField("seat") else None
    return Person(validate.player_id(message.player_id, "person.player_id"), message.display_name, seat)


def _level(request: pb.CreateRoomRequest) -> BotLevel:
    if not request.bot_level:
        return BotLevel.HEURISTIC
    level: BotLevel = BOT_LEVEL.read(request.bot_level, "bot_level")
    return level


def _seat_given(room: Room, person: pb.Person) -> int:
    """Where the person sits; for one who left a room that was made before, where it sat."""
    seat = room.seat_of(person.player_id)
    return person.seat if seat is None else seat
