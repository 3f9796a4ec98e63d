"""The history of a rating family as it was counted, for the operator."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Final

from maumau.v1 import scoring_pb2 as pb

from services.scoring.desk import Desk
from services.store.ledgers import Ledgers
from services.store.scoring import MatchEntry

RECORDS_AT_ONCE: Final = 100


async def history_of(
    desk: Desk, ledgers: Ledgers, family: str, from_ms: int = 0, until_ms: int = 0
) -> AsyncIterator[pb.MatchRecord]:
    """The records in the order of the ledger; only those that ended between the two times, in ms since 1970 (until 0:
    all). Those that are no longer kept are left out."""
    async for page in ledgers.entries(family):
        matches = [entry.match for entry in page if entry.kind == "result"]
        for first in range(0, len(matches), RECORDS_AT_ONCE):
            asked = [(MatchEntry(0, match), family) for match in matches[first : first + RECORDS_AT_ONCE]]
            for record in await desk.records(asked):
                if record is not None and _is_between(record, from_ms, until_ms):
                    yield record


def _is_between(record: pb.MatchRecord, from_ms: int, until_ms: int) -> bool:
    ended_ms = record.ended.ToMilliseconds()
    return ended_ms >= from_ms and (not until_ms or ended_ms < until_ms)
