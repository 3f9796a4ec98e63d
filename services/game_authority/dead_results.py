"""Results that scoring refused for good, as the operator sees them, sends them again, or drops them."""

from __future__ import annotations

from typing import Final

import msgspec
from maumau.internal.v1 import operator_pb2 as pb

from services.rules.room.step import MatchResult
from services.runtime.paging import PageTokens, page_size
from services.store.dead import DeadResult, DeadResults, Place
from services.store.keys import DEAD_MS
from services.wire.errors import invalid_field, refusal
from services.wire.times import timestamp

READ_AT_ONCE: Final = 1_000
LONGEST_MATCH_ID: Final = 64

_PAGES: Final = PageTokens("dead results", Place)
_decode = msgspec.msgpack.Decoder(MatchResult).decode


class DeadDesk:
    """Methods raise Refusal: MATCH_NOT_FOUND, BAD_PAGE_TOKEN, INVALID_FIELD; and `StoreUnavailable`."""

    def __init__(self, dead: DeadResults) -> None:
        self._dead = dead

    async def page(self, request: pb.ListDeadResultsRequest) -> pb.ListDeadResultsResponse:
        """A page of them."""
        size, after = page_size(request.page_size), _PAGES.read(request.page_token)
        found = await self._dead.listed(after, size)
        more = _PAGES.write(_place(found[-1])) if len(found) == size else ""
        return pb.ListDeadResultsResponse(results=[_message(result) for result in found], next_page_token=more)

    async def retry(self, match: str) -> str:
        """Sends the result of a match to scoring again; its room."""
        result = await self._of_match(match)
        if not await self._dead.retry(result):
            raise refusal("MATCH_NOT_FOUND")
        return result.room

    async def drop(self, match: str) -> str:
        """Forgets the result of a match; its room."""
        result = await self._of_match(match)
        if not await self._dead.drop(result):
            raise refusal("MATCH_NOT_FOUND")
        return result.room

    async def _of_match(self, match: str) -> DeadResult:
        if not 1 <= len(match) <= LONGEST_MATCH_ID:
            raise invalid_field("match_id", match[:LONGEST_MATCH_ID], "an id")
        after = None
        while page := await self._dead.listed(after, READ_AT_ONCE):
            for result in page:
                if _decode(result.entry).match_id == match:
                    return result
            after = _place(page[-1])
        raise refusal("MATCH_NOT_FOUND")


def _place(result: DeadResult) -> Place:
    return Place(result.partition, result.id)


def _message(result: DeadResult) -> pb.DeadResult:
    told = _decode(result.entry)
    return pb.DeadResult(
        match_id=told.match_id,
        room_id=result.room,
        family=told.family,
        refused=timestamp(result.given_up_ms),
        reason=result.why,
        forgotten=timestamp(result.given_up_ms + DEAD_MS),
    )
