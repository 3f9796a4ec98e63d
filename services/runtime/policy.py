"""Who may make which call: one table for every RPC of the contract, public and internal.

A call that is not in the table is refused, and a test that reads the descriptors fails for a missing or superfluous
line. What a player may do in a room (host, seat, member) is the room's own question.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from types import MappingProxyType
from typing import Final


class Access(Enum):
    """Whom a method serves."""

    ANYONE = "anyone, also without a session"
    PLAYER = "whoever has a session"
    SERVICE = "another service, on the internal port"
    OPERATOR = "the operator, on the internal port"


def _rows(service: str, access: Access, methods: Iterable[str]) -> dict[str, Access]:
    return {f"/{service}/{method}": access for method in methods}


POLICY: Final[Mapping[str, Access]] = MappingProxyType(
    _rows("maumau.v1.IdentityService", Access.ANYONE, ("SignInAsGuest", "RefreshSession"))
    | _rows("maumau.v1.IdentityService", Access.PLAYER, ("SignOut", "GetPlayer", "SetDisplayName"))
    | _rows("maumau.v1.MatchmakingService", Access.ANYONE, ("GetServerInfo", "ListRulesets"))
    | _rows(
        "maumau.v1.MatchmakingService",
        Access.PLAYER,
        (
            *("CreateRoom", "JoinRoom", "ListRooms", "ListQueues"),
            *("CreateTicket", "WatchTicket", "GetTicket", "CancelTicket"),
            *("CreateParty", "JoinParty", "GetParty", "LeaveParty"),
            *("BlockPlayer", "UnblockPlayer", "ListBlockedPlayers"),
        ),
    )
    | _rows(
        "maumau.v1.GameAuthorityService",
        Access.PLAYER,
        ("Act", "Watch", "Play", "GetRoom", "ListMyRooms", "SendChat", "ReportPlayer", "GetReplay"),
    )
    | _rows(
        "maumau.v1.ScoringService",
        Access.PLAYER,
        ("GetMatch", "ListMatches", "GetStatistics", "GetRating", "GetLeaderboard", "GetRank", "ListSeasons"),
    )
    | _rows(
        "maumau.internal.v1.RoomControlService",
        Access.SERVICE,
        ("CreateRoom", "SeatPlayer", "GetRoomSummary", "CloseRoom"),
    )
    | _rows("maumau.internal.v1.RatingLookupService", Access.SERVICE, ("LookUpRatings",))
    | _rows("maumau.internal.v1.ResultIntakeService", Access.SERVICE, ("ReportResult", "ArchiveLog", "GetArchivedLog"))
    | _rows(
        "maumau.internal.v1.OperatorService",
        Access.OPERATOR,
        (
            *("InspectRoom", "ListAllRooms", "EndRoom", "Announce"),
            *("MutePlayer", "ListMutes", "ListReports", "CloseReport"),
            *("BanPlayer", "ListBans"),
            *("ListDeadResults", "RetryDeadResult", "DropDeadResult"),
            *("VoidMatch", "AuditFamily", "OpenSeason", "CloseSeason", "ListFamilySeasons"),
            *("ExportHistory", "ExportPlayer", "DeletePlayer"),
        ),
    )
    | _rows("maumau.internal.v1.ProcessService", Access.OPERATOR, ("GetProcess", "Drain", "Resume"))
)
"""Method path to access."""
