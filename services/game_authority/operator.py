"""`maumau.internal.v1.OperatorService`, as far as rooms and what people do in them are concerned. On the internal port,
for the operator."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from typing import Final

from maumau.internal.v1 import operator_pb2 as pb

from services.game_authority.all_rooms import AllRooms
from services.game_authority.announcing import Announcing
from services.game_authority.commits import Attempt
from services.game_authority.conduct import Conduct, report_message
from services.game_authority.dead_results import DeadDesk
from services.game_authority.presence import Presence
from services.game_authority.rooms import Rooms
from services.rules.room.actions import AbortMatch, CloseRoom, Operator
from services.rules.room.views import room_view
from services.runtime.calls import Context
from services.runtime.logs import bind
from services.runtime.operators import audit, operator_name
from services.runtime.paging import PageTokens, page_size
from services.store import sanctions
from services.store.keys import PlayerId, RoomId
from services.store.reports import Place, Report, place
from services.store.sanctions import READ_AT_ONCE
from services.wire import validate
from services.wire.errors import invalid_field, refusal
from services.wire.sanctions import sanction_message
from services.wire.views import room_message

LONGEST_MUTE_SECONDS: Final = 366 * 24 * 3_600
REPORTS_READ: Final = 500
"""Most reports that one call looks at."""

_PAGES: Final = PageTokens("reports", Place)
_MUTES: Final = PageTokens("mutes", sanctions.Place)


class OperatorService:
    """Rooms, mutes, reports, and results that scoring does not take. Every method raises what `services.wire.errors`
    turns into a status."""

    def __init__(
        self,
        rooms: Rooms,
        presence: Presence,
        all_rooms: AllRooms,
        announcing: Announcing,
        conduct: Conduct,
        dead: DeadDesk,
    ) -> None:
        self._dead = dead
        self._rooms = rooms
        self._presence = presence
        self._all_rooms = all_rooms
        self._announcing = announcing
        self._conduct = conduct

    async def InspectRoom(self, request: pb.InspectRoomRequest, context: Context) -> pb.InspectRoomResponse:  # noqa: N802
        live = await self._rooms.newest(_room_id(request.room_id))
        await self._presence.look(live)
        room = room_message(
            room_view(live.newest.room, None),
            live.newest.clock,
            connected=live.connected | live.seats_here(live.newest.room),
            spectators=live.spectators,
            created_ms=await self._rooms.created_ms(live),
        )
        return pb.InspectRoomResponse(room=room)

    async def ListAllRooms(self, request: pb.ListAllRoomsRequest, context: Context) -> pb.ListAllRoomsResponse:  # noqa: N802
        return await self._all_rooms.page(request)

    async def EndRoom(self, request: pb.EndRoomRequest, context: Context) -> pb.EndRoomResponse:  # noqa: N802
        room_id = _room_id(request.room_id)
        why = validate.operator_reason(request.why, required=True)
        request_id = validate.request_id(request.request_id)
        action = AbortMatch() if request.match_only else CloseRoom(why)
        done = await self._rooms.carry_out(room_id, Attempt(Operator(), action, request_id))
        audit("end match" if request.match_only else "end room", why=why, room=room_id, version=done.version)
        return pb.EndRoomResponse(version=done.version)

    async def Announce(self, request: pb.AnnounceRequest, context: Context) -> pb.AnnounceResponse:  # noqa: N802
        text, request_id = validate.chat_text(request.text), validate.request_id(request.request_id)
        told = await self._announcing.announce(text, request_id)
        audit("announce", text=text, rooms=told)
        return pb.AnnounceResponse(rooms=told)

    async def ListDeadResults(  # noqa: N802
        self, request: pb.ListDeadResultsRequest, context: Context
    ) -> pb.ListDeadResultsResponse:
        return await self._dead.page(request)

    async def RetryDeadResult(  # noqa: N802
        self, request: pb.RetryDeadResultRequest, context: Context
    ) -> pb.RetryDeadResultResponse:
        room = await self._dead.retry(request.match_id)
        audit("retry result", match=request.match_id, room=room)
        return pb.RetryDeadResultResponse(room_id=room)

    async def DropDeadResult(  # noqa: N802
        self, request: pb.DropDeadResultRequest, context: Context
    ) -> pb.DropDeadResultResponse:
        why = validate.operator_reason(request.why, required=True)
        room = await self._dead.drop(request.match_id)
        audit("drop result", why=why, match=request.match_id, room=room)
        return pb.DropDeadResultResponse(room_id=room)

    async def MutePlayer(self, request: pb.MutePlayerRequest, context: Context) -> pb.MutePlayerResponse:  # noqa: N802
        player, why = PlayerId(validate.player_id(request.player_id)), validate.operator_reason(request.why)
        seconds = request.seconds
        if not 0 <= seconds <= LONGEST_MUTE_SECONDS:
            raise invalid_field("seconds", seconds, f"0 to {LONGEST_MUTE_SECONDS}")
        await self._conduct.mutes.put(player, round((time.time() + seconds) * 1000) if seconds else 0, why)
        audit("mute" if seconds else "unmute", why=why, player=player, seconds=seconds)
        return pb.MutePlayerResponse()

    async def ListMutes(self, request: pb.ListMutesRequest, context: Context) -> pb.ListMutesResponse:  # noqa: N802
        size = page_size(request.page_size, default=READ_AT_ONCE, most=READ_AT_ONCE)
        found = await self._conduct.mutes.listed(_MUTES.read(request.page_token), size)
        more = _MUTES.write(sanctions.place(found[-1])) if len(found) == size else ""
        return pb.ListMutesResponse(mutes=[sanction_message(*each) for each in found], next_page_token=more)

    async def ListReports(self, request: pb.ListReportsRequest, context: Context) -> pb.ListReportsResponse:  # noqa: N802
        size, after = page_size(request.page_size), _PAGES.read(request.page_token)
        player = validate.player_id(request.player_id) if request.player_id else ""
        found: list[Report] = []
        read = 0
        while read < REPORTS_READ and len(found) < size:
            some = await self._conduct.reports.listed(after, size)
            if not some:
                return _reports_page(found, None)
            for report in some:
                after, read = place(report), read + 1
                if player in ("", report.complaint.player) and not (request.open_only and report.closed_ms):
                    found.append(report)
                if len(found) == size:
                    break
        return _reports_page(found, after)

    async def ExportPlayer(  # noqa: N802
        self, request: pb.ExportPlayerRequest, context: Context
    ) -> AsyncIterator[pb.ExportPlayerResponse]:
        player = PlayerId(validate.player_id(request.player_id))
        audit("export player", player=player)
        async for part in self._conduct.export(player):
            yield part

    async def DeletePlayer(self, request: pb.DeletePlayerRequest, context: Context) -> pb.DeletePlayerResponse:  # noqa: N802
        player = PlayerId(validate.player_id(request.player_id))
        parts, again = await self._conduct.forget(player)
        audit("delete player", player=player, parts=", ".join(parts))
        return pb.DeletePlayerResponse(parts=parts, again=again)

    async def CloseReport(self, request: pb.CloseReportRequest, context: Context) -> pb.CloseReportResponse:  # noqa: N802
        verdict = validate.operator_reason(request.verdict, "verdict", required=True)
        report = await self._conduct.reports.close(request.report_id[:64], operator_name(), verdict)
        if report is None:
            raise refusal("REPORT_NOT_FOUND")
        audit("close report", why=report.verdict, report=report.id, player=report.complaint.player)
        return pb.CloseReportResponse(report=report_message(report))


def _room_id(text: str) -> RoomId:
    room_id = RoomId(validate.room_id(text))
    bind(room=room_id)
    return room_id


def _reports_page(found: list[Report], last: Place | None) -> pb.ListReportsResponse:
    return pb.ListReportsResponse(
        reports=[report_message(report) for report in found],
        next_page_token="" if last is None else _PAGES.write(last),
    )
