"""The internal side of scoring: results come in, at least once each, and count once; logs come in and are kept."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection

from maumau.internal.v1 import result_intake_pb2 as pb
from maumau.internal.v1.result_intake_pb2 import ReportResultRequest, ReportResultResponse
from maumau.v1.scoring_pb2 import MatchRecord

from services.runtime import metrics
from services.runtime.calls import Context
from services.runtime.logs import bind, log
from services.scoring import counting
from services.scoring.reports import entrants_in, hide_forgotten, read_archived, read_report
from services.store.archive import ArchiveStore
from services.store.keys import RoomId
from services.store.scoring import Applied, ScoringStore
from services.wire import validate
from services.wire.errors import invalid_field, refusal


class ResultIntakeService:
    """`maumau.internal.v1.ResultIntakeService`, for game authorities."""

    def __init__(self, store: ScoringStore, archive: ArchiveStore, families: Collection[str]) -> None:
        self._store = store
        self._archive = archive
        self._families = families

    async def ReportResult(self, request: ReportResultRequest, context: Context) -> ReportResultResponse:  # noqa: N802
        """Counts the result, or says that it counts already. Raises Refusal: INVALID_FIELD, RESULT_CONFLICT."""
        report = read_report(request, self._families)
        bind(match=report.match.match_id, room=report.match.room_id)
        answer = await counting.take(self._store, report)
        if not isinstance(answer, Applied):
            metrics.results.labels("conflicting").inc()
            log.error("another result of a match that has one", pool=answer.pool)
            raise refusal("RESULT_CONFLICT", match_id=report.match.match_id)
        metrics.results.labels("repeated" if answer.repeated else "applied").inc()
        return ReportResultResponse(repeated_result=answer.repeated)

    async def ArchiveLog(  # noqa: N802
        self, requests: AsyncIterator[pb.ArchiveLogRequest], context: Context
    ) -> pb.ArchiveLogResponse:
        """Keeps the log once all of it is here. Raises Refusal: INVALID_FIELD for a match that no match can be, or a
        log with a hole."""
        about, following, chunks = pb.ArchivedMatch(), 0, dict[int, bytes]()
        async for request in requests:
            if request.HasField("match"):
                about = request.match
                read_archived(about)
                bind(match=about.match.match_id, room=about.match.room_id)
                following = about.match.first_version
            if not request.content or request.versions < 1 or request.first_version != following:
                raise invalid_field("first_version", request.first_version, f"{following}, and content")
            chunks[following] = request.content
            following += request.versions
        if not chunks or following != about.match.last_version + 1:
            raise invalid_field("match.last_version", about.match.last_version, "the end of the last chunk")
        kept = about.SerializeToString(deterministic=True)
        await self._archive.keep(RoomId(about.match.room_id), about.match.match_id, kept, chunks)
        metrics.logs_archived.inc()
        return pb.ArchiveLogResponse(versions=following - about.match.first_version)

    async def GetArchivedLog(  # noqa: N802
        self, request: pb.GetArchivedLogRequest, context: Context
    ) -> pb.GetArchivedLogResponse:
        """A chunk of a log, and its match, in which pseudonyms stand for players who were forgotten. Raises Refusal:
        MATCH_NOT_FOUND."""
        room = RoomId(validate.room_id(request.room_id))
        match = request.match_id or await self._archive.last_match(room)
        kept = None if match is None else await self._archive.about(room, match)
        if match is None or kept is None:
            raise refusal("MATCH_NOT_FOUND")
        about = pb.ArchivedMatch.FromString(kept)
        await self._hide_forgotten(about)
        if request.after_version >= about.match.last_version:
            return pb.GetArchivedLogResponse(match=about)
        content = await self._archive.chunk(room, match, request.after_version + 1)
        return pb.GetArchivedLogResponse(match=about, content=content or b"")

    async def _hide_forgotten(self, about: pb.ArchivedMatch) -> None:
        found = await self._store.record(about.match.match_id)
        if found is None:
            return
        family, stored = found
        record = MatchRecord.FromString(stored.content)
        hide_forgotten(about, record, await self._store.entrants(family, entrants_in(record)))
