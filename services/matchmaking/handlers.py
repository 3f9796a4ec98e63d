"""`maumau.v1.MatchmakingService`: making and finding rooms, and what this server is."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from importlib.metadata import version
from typing import Final

from maumau.v1 import matchmaking_pb2 as pb

from services.matchmaking.directory import Directory
from services.matchmaking.rooms import RoomDesk
from services.matchmaking.tickets import TicketDesk
from services.rules.registry import GAMES
from services.rules.room.settings import VERSION_LIMIT
from services.runtime.auth import caller
from services.runtime.calls import Context
from services.wire.rulesets import preset_messages
from services.wire.times import timestamp
from services.wire.validate import LONGEST_CHAT, LONGEST_NAME

API_REVISION: Final = 1
FEATURES: Final = ("play", "watch", "chat", "spectators", "invite-codes", "room-list", "quick-play", "scoring")


class MatchmakingService:
    """Parties and blocks are not offered yet."""

    def __init__(
        self,
        desk: RoomDesk,
        tickets: TicketDesk,
        directory: Directory,
        max_message_bytes: int,
        now_ms: Callable[[], int],
    ) -> None:
        self._desk = desk
        self._tickets = tickets
        self._directory = directory
        self._limits = pb.Limits(
            max_message_bytes=max_message_bytes,
            max_chat_characters=LONGEST_CHAT,
            max_display_name_characters=LONGEST_NAME,
            max_versions_per_match=VERSION_LIMIT,
        )
        self._now_ms = now_ms

    async def GetServerInfo(self, request: pb.GetServerInfoRequest, context: Context) -> pb.GetServerInfoResponse:  # noqa: N802
        return pb.GetServerInfoResponse(
            version=version("maumau-server"),
            api_revision=API_REVISION,
            features=FEATURES,
            time=timestamp(self._now_ms()),
            limits=self._limits,
            presets=[preset for game in GAMES.values() for preset in game.presets],
        )

    async def ListRulesets(self, request: pb.ListRulesetsRequest, context: Context) -> pb.ListRulesetsResponse:  # noqa: N802
        """Raises RulesetError (UNKNOWN_RULESET)."""
        return pb.ListRulesetsResponse(presets=preset_messages(request.preset))

    async def CreateRoom(self, request: pb.CreateRoomRequest, context: Context) -> pb.CreateRoomResponse:  # noqa: N802
        return await self._desk.create(request, caller())

    async def JoinRoom(self, request: pb.JoinRoomRequest, context: Context) -> pb.JoinRoomResponse:  # noqa: N802
        return await self._desk.join(request, caller())

    async def ListRooms(self, request: pb.ListRoomsRequest, context: Context) -> pb.ListRoomsResponse:  # noqa: N802
        return await self._directory.page(request)

    async def CreateTicket(self, request: pb.CreateTicketRequest, context: Context) -> pb.CreateTicketResponse:  # noqa: N802
        player = caller()
        ticket = await self._tickets.open(request, player, await self._desk.name_of(player))
        return pb.CreateTicketResponse(ticket=ticket)

    async def WatchTicket(  # noqa: N802
        self, request: pb.WatchTicketRequest, context: Context
    ) -> AsyncIterator[pb.WatchTicketResponse]:
        async for ticket in self._tickets.watch(request, caller()):
            yield pb.WatchTicketResponse(ticket=ticket)

    async def GetTicket(self, request: pb.GetTicketRequest, context: Context) -> pb.GetTicketResponse:  # noqa: N802
        return pb.GetTicketResponse(ticket=await self._tickets.get(request, caller()))

    async def CancelTicket(self, request: pb.CancelTicketRequest, context: Context) -> pb.CancelTicketResponse:  # noqa: N802
        return pb.CancelTicketResponse(ticket=await self._tickets.cancel(request, caller()))
