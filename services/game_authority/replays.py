"""Replays of matches that ended: from the archive, or from the room's log as long as scoring does not have it.

A replay is for those who had a seat in the match, and for everybody where spectators could watch it (once they are no
longer behind). To all others the room does not exist, whether it does or not.

A log keeps ids and names for as long as there is a replay. What is shown names only those whom scoring's record of the
match still names: not who was forgotten since, and not who only came by.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import grpc
from maumau.internal.v1 import result_intake_pb2 as intake
from maumau.internal.v1.result_intake_pb2_grpc import ResultIntakeServiceStub
from maumau.v1 import authority_pb2 as pb
from maumau.v1 import events_pb2, scoring_pb2

from services.game_authority.archive import KeptVersion, unpack
from services.game_authority.live_room import LiveRoom
from services.game_authority.rooms import Rooms
from services.game_authority.versions import may_watch
from services.rules.room.actions import Actor, Player, RoomAction, Timeout
from services.rules.room.ending import match_result
from services.rules.room.journal import decode_entry
from services.rules.room.state import Room, RoomPhase
from services.runtime.channels import PassedOn, passed_on
from services.runtime.paging import PageTokens
from services.runtime.routes import SCORING
from services.store.keys import RoomId
from services.store.rooms import RoomStore
from services.wire.errors import Refusal, refusal
from services.wire.results import archived_match, replay_step, result_message
from services.wire.updates import actor_message

LONGEST_MATCH_ID: Final = 64
_NAMES_SOMEBODY: Final = ("seat_taken", "seat_left", "seat_removed", "host_changed")
"""Events with an id of a player."""


class _Place(NamedTuple):
    """Where a page ends."""

    match_id: str
    version: int


class _Found(NamedTuple):
    """A match, and versions of its log from the one asked for on."""

    about: intake.ArchivedMatch
    versions: list[KeptVersion]


_PAGES: Final = PageTokens("replay", _Place)


class Replays:
    """See the module. Raises Refusal: ROOM_NOT_FOUND, MATCH_NOT_FOUND, MATCH_RUNNING, BAD_PAGE_TOKEN; what the call to
    scoring raises; `StoreUnavailable`."""

    def __init__(self, store: RoomStore, rooms: Rooms, scoring: ResultIntakeServiceStub, limit_seconds: float) -> None:
        """`limit_seconds` is for one call to scoring."""
        self._store = store
        self._rooms = rooms
        self._scoring = scoring
        self._limit_seconds = limit_seconds

    async def page(self, room_id: RoomId, request: pb.GetReplayRequest, player: str, size: int) -> pb.GetReplayResponse:
        """At most `size` versions of a match, with all cards."""
        place = _PAGES.read(request.page_token) or _Place(request.match_id, 0)
        if request.match_id not in ("", place.match_id) or place.version < 0:
            raise refusal("BAD_PAGE_TOKEN")
        live = await self._room(room_id)
        room = None if live is None else live.newest.room
        found = await self._find(room_id, room, place, size)
        now_ms = 0 if live is None else live.newest.clock.now
        if found is None or not _may_see(found.about, player):
            raise _not_found(room, place.match_id, player)
        if _is_ahead_of_spectators(found.about, player, now_ms):
            raise refusal("MATCH_RUNNING")
        return _response(found, place.version, size)

    async def _room(self, room_id: RoomId) -> LiveRoom | None:
        try:
            return await self._rooms.newest(room_id)
        except Refusal as refused:
            if refused.reason != "ROOM_NOT_FOUND":
                raise
            return None

    async def _find(self, room_id: RoomId, room: Room | None, place: _Place, size: int) -> _Found | None:
        last = None if room is None else room.match
        if room is not None and last is not None and place.match_id in ("", last.proof.match_id):
            if last.outcome is None and place.match_id:
                return None
            if last.outcome is not None:
                place = place._replace(match_id=last.proof.match_id)
                found = await self._in_the_archive(room_id, place)
                if found is None and room.phase is RoomPhase.FINISHED:  # nobody else has those seats since
                    found = await self._in_the_room(room, place.version, size)
                return found
        return await self._in_the_archive(room_id, place)

    async def _in_the_room(self, room: Room, after: int, size: int) -> _Found:
        assert room.match is not None
        result, first, last = match_result(room), room.match.first_version, room.match.last_version
        room_id = RoomId(room.id)
        ended = await self._store.log(room_id, last - 1, 1)
        record = result_message(result, 0, ended[0].time if ended else 0).match
        entries = await self._store.log(room_id, max(after, first - 1), size)
        versions = [KeptVersion(entry.version, entry.time, entry.payload) for entry in entries if entry.version <= last]
        return _Found(archived_match(result, record), versions)

    async def _in_the_archive(self, room_id: RoomId, place: _Place) -> _Found | None:
        if len(place.match_id) > LONGEST_MATCH_ID:
            return None
        request = intake.GetArchivedLogRequest(room_id=room_id, match_id=place.match_id, after_version=place.version)
        try:
            answer = await self._scoring.GetArchivedLog(request, timeout=self._limit_seconds)
        except grpc.aio.AioRpcError as error:
            refused = passed_on(error, SCORING)
            if isinstance(refused, PassedOn) and refused.reason == "MATCH_NOT_FOUND":
                return None
            raise refused from error
        versions = unpack(answer.content) if answer.content else []
        return _Found(answer.match, [version for version in versions if version.version > place.version])


def _may_see(about: intake.ArchivedMatch, player: str) -> bool:
    return about.watchable or _had_a_seat(about.match.seats, player)


def _had_a_seat(seats: Sequence[scoring_pb2.MatchSeat], player: str) -> bool:
    return any(seat.player_id == player for seat in seats)


def _is_ahead_of_spectators(about: intake.ArchivedMatch, player: str, now_ms: int) -> bool:
    """Whether spectators of the room have not seen the end yet. A room outlives its matches by more than any delay."""
    if _had_a_seat(about.match.seats, player) or not now_ms:
        return False
    return about.match.ended.ToMilliseconds() + about.spectator_delay_seconds * 1000 > now_ms


def _not_found(room: Room | None, match_id: str, player: str) -> Refusal:
    """What a player hears for whom there is no such replay."""
    if room is None or not may_watch(room, player):
        return refusal("ROOM_NOT_FOUND")
    runs = room.match is not None and room.match.outcome is None
    if runs and match_id in ("", room.match.proof.match_id if room.match else ""):
        return refusal("MATCH_RUNNING")
    return refusal("MATCH_NOT_FOUND")


def _response(found: _Found, after: int, size: int) -> pb.GetReplayResponse:
    record = found.about.match
    page = found.versions[:size]
    last = page[-1].version if page else record.last_version
    more = _PAGES.write(_Place(record.match_id, last)) if last < record.last_version else ""
    response = pb.GetReplayResponse(
        match_id=record.match_id,
        engine_revision=record.engine_revision,
        steps=[_step(version, record.seats) for version in page],
        next_page_token=more,
    )
    if not after:
        response.MergeFrom(
            pb.GetReplayResponse(
                proof=record.proof,
                seed=record.seed,
                ruleset=found.about.ruleset,
                first_version=record.first_version,
                last_version=record.last_version,
            )
        )
    return response


def _step(version: KeptVersion, seats: Sequence[scoring_pb2.MatchSeat]) -> pb.ReplayStep:
    told = decode_entry(version.payload)
    actor = actor_message(told.actor, _seat_of_actor(told.actor, told.action, seats))
    step = replay_step(version.version, version.time, actor, told.action, told.events)
    for event in step.events:
        _hide_others(event, seats)
    return step


def _hide_others(event: events_pb2.Event, seats: Sequence[scoring_pb2.MatchSeat]) -> None:
    kind = event.WhichOneof("event")
    if kind not in _NAMES_SOMEBODY:
        return
    told = getattr(event, kind)
    if not told.player_id or any(seat.player_id == told.player_id for seat in seats):
        return
    told.player_id = _pseudonym_at(seats, told.seat) if kind != "host_changed" else ""
    if kind == "seat_taken":
        told.display_name = ""


def _pseudonym_at(seats: Sequence[scoring_pb2.MatchSeat], number: int) -> str:
    """Of the forgotten player who sat there; empty where nobody did who is."""
    return seats[number].player_id if number < len(seats) and not seats[number].display_name else ""


def _seat_of_actor(actor: Actor, action: RoomAction, seats: Sequence[scoring_pb2.MatchSeat]) -> int | None:
    if isinstance(action, Timeout):
        return action.seat
    if not isinstance(actor, Player):
        return None
    return next((number for number, seat in enumerate(seats) if seat.player_id == actor.id), None)
