"""The internal side of scoring: results come in, at least once each, and count once."""

from __future__ import annotations

from collections.abc import Collection

from maumau.internal.v1.result_intake_pb2 import ReportResultRequest, ReportResultResponse

from services.runtime import metrics
from services.runtime.calls import Context
from services.runtime.logs import bind, log
from services.scoring.reports import read_report
from services.store.scoring import Applied, ScoringStore
from services.wire.errors import refusal


class ResultIntakeService:
    """`maumau.internal.v1.ResultIntakeService`, for game authorities."""

    def __init__(self, store: ScoringStore, families: Collection[str]) -> None:
        self._store = store
        self._families = families

    async def ReportResult(self, request: ReportResultRequest, context: Context) -> ReportResultResponse:  # noqa: N802
        """Counts the result, or says that it counts already. Raises Refusal: INVALID_FIELD, RESULT_CONFLICT."""
        result = read_report(request, self._families)
        bind(match=result.match, room=request.match.room_id)
        answer = await self._store.apply(result)
        if not isinstance(answer, Applied):
            metrics.results.labels("conflicting").inc()
            log.error("another result of a match that has one", pool=answer.pool)
            raise refusal("RESULT_CONFLICT", match_id=result.match)
        metrics.results.labels("repeated" if answer.repeated else "applied").inc()
        return ReportResultResponse(repeated_result=answer.repeated)
