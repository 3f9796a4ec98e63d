"""Making rooms and finding the one that an id or a code names."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from maumau.internal.v1 import room_control_pb2 as internal
from maumau.v1 import matchmaking_pb2 as pb
from maumau.v1 import room_pb2

from services.matchmaking.authority import RoomControl
from services.rules.room.settings import RoomSettings, change_settings
from services.rules.ruleset import Ruleset, make_ruleset
from services.runtime.channels import PassedOn
from services.runtime.invites import FIRST_GENERATION, Invites, normal_code
from services.runtime.logs import bind
from services.runtime.tokens import Session
from services.store.encounters import EncounterStore
from services.store.keys import PlayerId, RoomId
from services.store.players import Invite, InviteIndex, PlayerStore
from services.store.rooms import RoomStore
from services.wire import validate
from services.wire.errors import invalid_field, refusal
from services.wire.rulesets import read_ruleset, ruleset_message
from services.wire.settings import chosen_settings_message, read_settings


class RoomDesk:
    """Where people get a room."""

    def __init__(
        self,
        control: RoomControl,
        players: PlayerStore,
        index: InviteIndex,
        invites: Invites,
        rooms: RoomStore,
        encounters: EncounterStore,
        most_rooms: int,
        code_lookup: Callable[[], Awaitable[None]],
    ) -> None:
        """`most_rooms` that a player may be in and still make another. `code_lookup` is awaited before each look at a
        code and refuses who tries too many."""
        self._control = control
        self._players = players
        self._index = index
        self._invites = invites
        self._rooms = rooms
        self._encounters = encounters
        self._most_rooms = most_rooms
        self._code_lookup = code_lookup

    async def create(self, request: pb.CreateRoomRequest, host: Session) -> pb.CreateRoomResponse:
        """A room with the caller on seat 0. Its id follows from player and request id, so a repeat makes no twin; the
        code is known before the room, so no room is ever without. Raises Refusal, RulesetError, RoomRefusal."""
        request_id = validate.request_id(request.request_id)
        ruleset, settings = _check_wishes(request)
        room = RoomId(self._invites.room_id(host.player_id, request_id))
        bind(room=room)
        await self._refuse_too_many(PlayerId(host.player_id), room)
        code = self._invites.code(room, FIRST_GENERATION)
        await self._index.put(self._invites.code_hash(code), Invite(room, FIRST_GENERATION))
        made = await self._control.create_room(
            internal.CreateRoomRequest(
                room_id=room,
                ruleset=ruleset_message(ruleset),
                settings=chosen_settings_message(settings),
                people=[internal.Person(player_id=host.player_id, display_name=await self.name_of(host), seat=0)],
            )
        )
        return pb.CreateRoomResponse(
            room_id=room, seat=made.seats[0] if made.seats else 0, invite_code=made.invite_code or code
        )

    async def _refuse_too_many(self, player: PlayerId, room: RoomId) -> None:
        """Raises Refusal (TOO_MANY_ROOMS). The index names rooms that are closed or gone, too, and those that gave the
        player no seat, or took it back: they do not count, and go from it."""
        known = await self._rooms.player_rooms(player)
        if room in known:
            return
        seats = 0
        while len(known) + seats >= self._most_rooms:
            some, known = known[: self._most_rooms], known[self._most_rooms :]
            seats += sum(await asyncio.gather(*(self._has_a_seat(player, each) for each in some)))
            if seats >= self._most_rooms:
                raise refusal("TOO_MANY_ROOMS", limit=self._most_rooms)

    async def _has_a_seat(self, player: PlayerId, room: RoomId) -> bool:
        try:
            summary = await self._control.room_summary(room)
        except PassedOn as refused:
            if refused.reason != "ROOM_NOT_FOUND":
                raise
        else:
            if player in summary.player_ids and summary.room.state != room_pb2.ROOM_STATE_CLOSED:
                return True
        await self._rooms.remove_player_room(player, room)
        return False

    async def join(self, request: pb.JoinRoomRequest, player: Session) -> pb.JoinRoomResponse:
        """A seat for the caller. An id or code that leads nowhere is refused alike, whatever is wrong with it. Raises
        Refusal."""
        invite = await self._find(request)
        bind(room=invite.room)
        person = internal.Person(player_id=player.player_id, display_name=await self.name_of(player))
        if request.HasField("seat"):
            person.seat = request.seat
        seated = await self._control.seat_player(
            internal.SeatPlayerRequest(room_id=invite.room, person=person, invite_generation=invite.generation)
        )
        await self._index.put(self._invites.code_hash(self._invites.code(*invite)), invite)
        await self._encounters.been(PlayerId(player.player_id), invite.room)
        return pb.JoinRoomResponse(room_id=invite.room, seat=seated.seat)

    async def _find(self, request: pb.JoinRoomRequest) -> Invite:
        """The room that the request names. Nobody can guess an id, so it invites as the present code does."""
        match request.WhichOneof("room"):
            case "room_id":
                room = RoomId(validate.room_id(request.room_id))
                return Invite(room, (await self._control.room_summary(room)).invite_generation)
            case "invite_code":
                return await self._by_code(request.invite_code)
            case _:
                raise invalid_field("room", "", "room_id or invite_code")

    async def _by_code(self, text: str) -> Invite:
        await self._code_lookup()
        code = normal_code(text)
        invite = None if code is None else await self._index.find(self._invites.code_hash(code))
        if code is None or invite is None or not self._invites.fits(code, invite.room, invite.generation):
            raise refusal("ROOM_NOT_FOUND")
        return invite

    async def name_of(self, player: Session) -> str:
        """The present name; the one in the token may be older."""
        return await self._players.name(PlayerId(player.player_id), player.display_name)


def _check_wishes(request: pb.CreateRoomRequest) -> tuple[Ruleset, dict[str, object]]:
    """What the room shall be, refused here before anybody else is asked."""
    if not request.HasField("ruleset"):
        raise invalid_field("ruleset", "", "a ruleset with a preset")
    choice = read_ruleset(request.ruleset)
    ruleset = make_ruleset(choice.preset, choice.options)
    settings = read_settings(request.settings)
    change_settings(RoomSettings(), settings)
    seats = settings.get("seats", 0)
    if seats and not ruleset.min_seats <= seats <= ruleset.max_seats:
        raise invalid_field("settings.seats", seats, f"{ruleset.min_seats} to {ruleset.max_seats}")
    return ruleset, settings
