"""`maumau.internal.v1.OperatorService`, as far as results are concerned. On the internal port, for the operator."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from typing import Final

from maumau.internal.v1 import operator_pb2 as pb

from services.runtime.calls import Context
from services.runtime.operators import audit
from services.scoring.audit import MOST_EXAMPLES, Auditor
from services.scoring.desk import Desk, plain_id, rating_message, statistics_message
from services.scoring.exporting import history_of
from services.scoring.handlers import season_message
from services.scoring.histories import Histories
from services.scoring.rebuilding import Rebuilder
from services.scoring.standing_boards import StandingBoards
from services.store.keys import PlayerId
from services.store.ledgers import ANOTHER, UNKNOWN, Ledgers
from services.store.scoring import Known, in_all
from services.wire import validate
from services.wire.errors import invalid_field, refusal
from services.wire.times import read_span

RECOMPUTED_SECONDS: Final = 20.0
"""Longest time that a call waits for a recomputation, which goes on behind it."""
LONGEST_NAME: Final = 64
_EXPORTED_AT_ONCE: Final = 50
_SEASON_ID: Final = re.compile(r"[a-z0-9-]{1,32}")


class OperatorService:
    """Voiding, audits, seasons, export and deletion."""

    def __init__(
        self,
        desk: Desk,
        ledgers: Ledgers,
        rebuilder: Rebuilder,
        auditor: Auditor,
        histories: Histories,
        boards: StandingBoards,
    ) -> None:
        self._desk = desk
        self._ledgers = ledgers
        self._rebuilder = rebuilder
        self._auditor = auditor
        self._histories = histories
        self._boards = boards

    async def VoidMatch(self, request: pb.VoidMatchRequest, context: Context) -> pb.VoidMatchResponse:  # noqa: N802
        """Takes a result back and has the pool recomputed. Raises Refusal: MATCH_NOT_FOUND, INVALID_FIELD."""
        match = plain_id(request.match_id, "match_id", "MATCH_NOT_FOUND")
        why = validate.operator_reason(request.why)
        pool = await self._desk.store.pool_of(match)
        voided = None if pool is None else await self._ledgers.void(pool, match)
        if pool is None or voided is None:
            raise refusal("MATCH_NOT_FOUND")
        position, repeated = voided
        audit("void match", why=why, match=match, family=pool, repeated=repeated)
        recomputed = await self._rebuilder.wait_computed(pool, position, _patience(context))
        return pb.VoidMatchResponse(recomputed=recomputed, repeated_void=repeated)

    async def AuditFamily(self, request: pb.AuditFamilyRequest, context: Context) -> pb.AuditFamilyResponse:  # noqa: N802
        """Replays a ledger beside the running state. Raises Refusal: UNKNOWN_FAMILY."""
        audit = await self._auditor.audit(self._desk.family(request.family))
        return pb.AuditFamilyResponse(
            entries=audit.entries,
            compared=audit.compared,
            differences=len(audit.differences),
            examples=audit.differences[:MOST_EXAMPLES],
        )

    async def OpenSeason(self, request: pb.OpenSeasonRequest, context: Context) -> pb.OpenSeasonResponse:  # noqa: N802
        """Opens a season. Raises Refusal: UNKNOWN_FAMILY, SEASON_RUNNING, INVALID_FIELD."""
        family = self._desk.family(request.family)
        if not _SEASON_ID.fullmatch(request.season_id):
            raise invalid_field("season_id", request.season_id, "1 to 32 of a-z 0-9 -")
        if not 1 <= len(request.name) <= LONGEST_NAME:
            raise invalid_field("name", request.name, f"1 to {LONGEST_NAME} characters")
        answer = await self._ledgers.open_season(family, request.season_id, request.name)
        if answer.kind == ANOTHER or answer.season is None:
            raise refusal("SEASON_RUNNING", season_id=answer.other)
        audit("open season", family=family, season=request.season_id)
        return pb.OpenSeasonResponse(season=season_message(answer.season))

    async def CloseSeason(self, request: pb.CloseSeasonRequest, context: Context) -> pb.CloseSeasonResponse:  # noqa: N802
        """Closes the running season. Raises Refusal: UNKNOWN_FAMILY, SEASON_NOT_FOUND, INVALID_FIELD."""
        family = self._desk.family(request.family)
        season = plain_id(request.season_id, "season_id", "SEASON_NOT_FOUND")
        answer = await self._ledgers.close_season(family, season)
        if answer.kind == UNKNOWN or answer.season is None:
            raise refusal("SEASON_NOT_FOUND")
        audit("close season", family=family, season=season)
        return pb.CloseSeasonResponse(season=season_message(answer.season))

    async def ListFamilySeasons(  # noqa: N802
        self, request: pb.ListFamilySeasonsRequest, context: Context
    ) -> pb.ListFamilySeasonsResponse:
        """Raises Refusal: UNKNOWN_FAMILY."""
        seasons = await self._ledgers.seasons(self._desk.family(request.family))
        return pb.ListFamilySeasonsResponse(seasons=[season_message(season) for season in seasons])

    async def ExportHistory(  # noqa: N802
        self, request: pb.ExportHistoryRequest, context: Context
    ) -> AsyncIterator[pb.ExportHistoryResponse]:
        """Raises Refusal: UNKNOWN_FAMILY, INVALID_FIELD."""
        family = self._desk.family(request.family)
        begin, end = read_span(request)
        audit("export history", family=family)
        async for record in history_of(self._desk, self._ledgers, family, begin, end):
            yield pb.ExportHistoryResponse(match=record)

    async def ExportPlayer(  # noqa: N802
        self, request: pb.ExportPlayerRequest, context: Context
    ) -> AsyncIterator[pb.ExportPlayerResponse]:
        """All that scoring keeps of a player. Raises Refusal: INVALID_FIELD."""
        player = PlayerId(validate.player_id(request.player_id))
        audit("export player", player=player)
        known = await in_all(self._desk.store, self._desk.families, player)
        for family, one in known.items():
            yield pb.ExportPlayerResponse(statistics=statistics_message(player, family, [one]))
            yield pb.ExportPlayerResponse(rating=rating_message(player, family, one))
            for span in await self._boards.spans(family):
                place = await self._boards.around(family, span, one.entrant, 0)
                if place is not None:
                    yield pb.ExportPlayerResponse(board=pb.BoardPlace(family=family, span=span, entry=place.entry))
        async for response in self._exported_matches(known):
            yield response

    async def _exported_matches(self, known: dict[str, Known]) -> AsyncIterator[pb.ExportPlayerResponse]:
        before = None
        while entries := await self._histories.entries(known, before, _EXPORTED_AT_ONCE):
            for record in await self._desk.records(entries):
                if record is not None:
                    yield pb.ExportPlayerResponse(match=record)
            before = entries[-1][0]

    async def DeletePlayer(self, request: pb.DeletePlayerRequest, context: Context) -> pb.DeletePlayerResponse:  # noqa: N802
        """Forgets a player in all families. Raises Refusal: INVALID_FIELD."""
        player = PlayerId(validate.player_id(request.player_id))
        families = [family for family in self._desk.families if await self._ledgers.forget(family, player)]
        audit("delete player", player=player, parts=", ".join(families))
        return pb.DeletePlayerResponse(families=families)


def _patience(context: Context) -> float:
    """How long a call may wait for what goes on without it."""
    left = context.time_remaining()
    return RECOMPUTED_SECONDS if left is None else min(RECOMPUTED_SECONDS, max(0.0, left - 1.0))
