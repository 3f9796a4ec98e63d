"""How players treat each other: who is muted everywhere, and what they report."""

from __future__ import annotations

import hashlib
import time
from collections.abc import AsyncIterator
from typing import Final

from maumau.internal.v1 import operator_pb2
from maumau.v1 import authority_pb2 as pb

from services.game_authority.commits import Attempt
from services.game_authority.rooms import Rooms
from services.game_authority.streams import admit
from services.rules.room.actions import LeaveSeat, Player
from services.rules.room.reasons import RoomRefusal
from services.rules.room.state import IN_MATCH
from services.runtime.logs import bind, log
from services.runtime.tokens import Session
from services.store.assembly import Store
from services.store.keys import PlayerId, RoomId
from services.store.reports import Complaint, Report, ReportStore, place
from services.store.sanctions import Sanctions
from services.wire import validate
from services.wire.errors import Refusal, invalid_field, refusal
from services.wire.sanctions import sanction_message
from services.wire.times import iso_text, timestamp

REPORTS_AT_ONCE: Final = 100


class Conduct:
    """Methods raise Refusal and `StoreUnavailable`."""

    def __init__(self, store: Store, rooms: Rooms, report_days: int) -> None:
        self._store = store
        self._rooms = rooms
        self.mutes = Sanctions(store.pipelines, store.pipelines.keys.mutes)
        self.reports = ReportStore(store.pipelines, report_days)

    async def refuse_muted(self, player: str) -> None:
        """Raises Refusal (MUTED with the end) for somebody whom the operator muted."""
        until_ms = await self.mutes.until(PlayerId(player))
        if until_ms > time.time() * 1000:
            raise refusal("MUTED", until=iso_text(until_ms))

    async def export(self, player: PlayerId) -> AsyncIterator[operator_pb2.ExportPlayerResponse]:
        """Rooms, a mute, and what the player reported."""
        for room in sorted(await self._store.rooms.player_rooms(player)):
            yield operator_pb2.ExportPlayerResponse(room_id=room)
        if (mute := await self.mutes.of(player)) is not None:
            yield operator_pb2.ExportPlayerResponse(mute=sanction_message(*mute))
        async for report in self._reports_of(player):
            yield operator_pb2.ExportPlayerResponse(report=report_message(report))

    async def forget(self, player: PlayerId) -> tuple[list[str], bool]:
        """Gives up the player's seats and drops what the player reported: a word for each kind, and whether a match
        still runs in which the player sat; such a room stays on the player's list. A mute stays until its end."""
        rooms = await self._store.rooms.player_rooms(player)
        running = [room for room in rooms if await self._leave(room, player)]
        await self._store.rooms.forget_player_rooms(player)
        for room in running:
            await self._store.rooms.add_player_room(player, room)
        reports = [report.id async for report in self._reports_of(player)]
        for report in reports:
            await self.reports.drop(report)
        return (["room"] if rooms else []) + (["report"] if reports else []), bool(running)

    async def _leave(self, room_id: RoomId, player: PlayerId) -> bool:
        """Gives up the seat, if there is one; whether a match was going on in which it was. Leaving may have
        ended that match, and its result then still be on its way."""
        try:
            room = (await self._rooms.newest(room_id)).newest.room
            await self._rooms.carry_out(room_id, Attempt(Player(player), LeaveSeat()))
        except RoomRefusal:
            pass  # closed, or left before
        except Refusal:
            return False
        return room.phase in IN_MATCH and any(seat is not None and seat.player == player for seat in room.seats)

    async def _reports_of(self, player: PlayerId) -> AsyncIterator[Report]:
        after = None
        while page := await self.reports.listed(after, REPORTS_AT_ONCE):
            for report in page:
                if report.complaint.reporter == player:
                    yield report
            after = place(page[-1])

    async def report(self, request: pb.ReportPlayerRequest, reporter: Session) -> str:
        """Keeps what a player says of another; its id. A repeat is one report. Raises Refusal (ROOM_NOT_FOUND,
        INVALID_FIELD)."""
        room_id = RoomId(validate.room_id(request.room_id))
        bind(room=room_id)
        player, text = _checked(request, reporter)
        request_id = validate.request_id(request.request_id)
        room = (await self._rooms.newest(room_id)).newest.room
        admit(room, reporter.player_id)
        number = room.seat_of(player)
        seat = None if number is None else room.seats[number]
        complaint = Complaint(
            room=room_id,
            reporter=PlayerId(reporter.player_id),
            player=player,
            name="" if seat is None else seat.name,
            reason=request.reason,
            text=text,
        )
        report = _report_id(reporter.player_id, request_id)
        if await self.reports.put(report, complaint):
            log.info("player reported", reported=player, report=report)
        return report


def _checked(request: pb.ReportPlayerRequest, reporter: Session) -> tuple[PlayerId, str]:
    player = PlayerId(validate.player_id(request.player_id))
    if player == reporter.player_id:
        raise invalid_field("player_id", player, "another player")
    if request.reason not in pb.ReportReason.values() or not request.reason:
        raise invalid_field("reason", request.reason, "a ReportReason")
    needed = request.reason == pb.REPORT_REASON_OTHER
    return player, validate.chat_text(request.text) if request.text or needed else ""


def _report_id(player: str, request_id: bytes) -> str:
    return f"c_{hashlib.sha256(request_id + player.encode()).hexdigest()[:24]}"


def report_message(report: Report) -> operator_pb2.PlayerReport:
    """A report as the operator gets it."""
    complaint = report.complaint
    return operator_pb2.PlayerReport(
        report_id=report.id,
        time=timestamp(report.time_ms),
        room_id=complaint.room,
        reporter_id=complaint.reporter,
        player_id=complaint.player,
        display_name=complaint.name,
        reason=pb.ReportReason.ValueType(complaint.reason),
        text=complaint.text,
        verdict=report.verdict,
        closed_by=report.closed_by,
        closed=timestamp(report.closed_ms) if report.closed_ms else None,
    )
