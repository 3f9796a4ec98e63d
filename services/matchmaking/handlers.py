"""`maumau.v1.MatchmakingService`: making and finding rooms, and what this server is."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from importlib.metadata import version
from typing import Final

from maumau.v1 import matchmaking_pb2 as pb

from services.matchmaking.directory import Directory
from services.matchmaking.parties import BlockDesk, PartyDesk
from services.matchmaking.queues import Queues
from services.matchmaking.rooms import RoomDesk
from services.matchmaking.tickets import TicketDesk
from services.rules.registry import GAMES
from services.rules.room.settings import VERSION_LIMIT
from services.runtime.auth import caller
from services.runtime.calls import Context
from services.runtime.settings import Settings
from services.store.keys import PlayerId
from services.store.tickets import Member
from services.wire.rulesets import preset_messages
from services.wire.times import timestamp
from services.wire.validate import LONGEST_CHAT, LONGEST_NAME

API_REVISION: Final = 1
FEATURES: Final = (
    *("play", "watch", "chat", "spectators", "invite-codes", "room-list", "scoring"),
    *("quick-play", "parties", "blocks", "queues"),
    *("ratings", "leaderboards", "seasons", "replays", "reports"),
)


class MatchmakingService:
    """Checks, calls, answers."""

    def __init__(
        self,
        desk: RoomDesk,
        tickets: TicketDesk,
        parties: PartyDesk,
        blocks: BlockDesk,
        queues: Queues,
        directory: Directory,
        limits: pb.Limits,
        now_ms: Callable[[], int],
        refuse_if_full: Callable[[], None],
    ) -> None:
        """`refuse_if_full` refuses what is new where Redis has no memory for it."""
        self._desk = desk
        self._tickets = tickets
        self._parties = parties
        self._blocks = blocks
        self._queues = queues
        self._directory = directory
        self._limits = limits
        self._now_ms = now_ms
        self._refuse_if_full = refuse_if_full

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
        self._refuse_if_full()
        return await self._desk.create(request, caller())

    async def JoinRoom(self, request: pb.JoinRoomRequest, context: Context) -> pb.JoinRoomResponse:  # noqa: N802
        return await self._desk.join(request, caller())

    async def ListRooms(self, request: pb.ListRoomsRequest, context: Context) -> pb.ListRoomsResponse:  # noqa: N802
        return await self._directory.page(request)

    async def ListQueues(self, request: pb.ListQueuesRequest, context: Context) -> pb.ListQueuesResponse:  # noqa: N802
        return pb.ListQueuesResponse(queues=await self._queues.busiest())

    async def CreateTicket(self, request: pb.CreateTicketRequest, context: Context) -> pb.CreateTicketResponse:  # noqa: N802
        self._refuse_if_full()
        return pb.CreateTicketResponse(ticket=await self._tickets.open(request, await self._member()))

    async def WatchTicket(  # noqa: N802
        self, request: pb.WatchTicketRequest, context: Context
    ) -> AsyncIterator[pb.WatchTicketResponse]:
        async for ticket in self._tickets.watch(request, caller()):
            yield pb.WatchTicketResponse(ticket=ticket)

    async def GetTicket(self, request: pb.GetTicketRequest, context: Context) -> pb.GetTicketResponse:  # noqa: N802
        return pb.GetTicketResponse(ticket=await self._tickets.get(request, caller()))

    async def CancelTicket(self, request: pb.CancelTicketRequest, context: Context) -> pb.CancelTicketResponse:  # noqa: N802
        return pb.CancelTicketResponse(ticket=await self._tickets.cancel(request, caller()))

    async def CreateParty(self, request: pb.CreatePartyRequest, context: Context) -> pb.CreatePartyResponse:  # noqa: N802
        return pb.CreatePartyResponse(party=await self._parties.create(await self._member()))

    async def JoinParty(self, request: pb.JoinPartyRequest, context: Context) -> pb.JoinPartyResponse:  # noqa: N802
        return pb.JoinPartyResponse(party=await self._parties.join(request.code, await self._member()))

    async def GetParty(self, request: pb.GetPartyRequest, context: Context) -> pb.GetPartyResponse:  # noqa: N802
        return pb.GetPartyResponse(party=await self._parties.get(PlayerId(caller().player_id)))

    async def LeaveParty(self, request: pb.LeavePartyRequest, context: Context) -> pb.LeavePartyResponse:  # noqa: N802
        await self._parties.leave(request.party_id, PlayerId(caller().player_id))
        return pb.LeavePartyResponse()

    async def BlockPlayer(self, request: pb.BlockPlayerRequest, context: Context) -> pb.BlockPlayerResponse:  # noqa: N802
        await self._blocks.block(request.player_id, caller())
        return pb.BlockPlayerResponse()

    async def UnblockPlayer(self, request: pb.UnblockPlayerRequest, context: Context) -> pb.UnblockPlayerResponse:  # noqa: N802
        await self._blocks.unblock(request.player_id, caller())
        return pb.UnblockPlayerResponse()

    async def ListBlockedPlayers(  # noqa: N802
        self, request: pb.ListBlockedPlayersRequest, context: Context
    ) -> pb.ListBlockedPlayersResponse:
        return await self._blocks.page(request, caller())

    async def _member(self) -> Member:
        player = caller()
        return Member(PlayerId(player.player_id), await self._desk.name_of(player))


def limits_message(settings: Settings) -> pb.Limits:
    """Bounds that a client should know."""
    return pb.Limits(
        max_message_bytes=settings.max_message_bytes,
        max_chat_characters=LONGEST_CHAT,
        max_display_name_characters=LONGEST_NAME,
        max_rooms_per_player=settings.player_rooms,
        max_versions_per_match=VERSION_LIMIT,
        max_players_per_party=settings.party_players,
        max_blocked_players=settings.blocked_players,
    )
