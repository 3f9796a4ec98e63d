"""Histories as calls ask for them: a player's matches, newest first, in pages, and only those that are wanted."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from maumau.v1 import scoring_pb2 as pb

from services.runtime.auth import caller
from services.runtime.paging import PageTokens, page_size
from services.scoring.desk import Desk, plain_id
from services.scoring.reports import as_shown_to
from services.store.keys import PlayerId
from services.store.scoring import Known, MatchEntry
from services.wire.times import read_span

MOST_LOOKED_AT: Final = 200
"""Matches that one call looks at, to find those that are wanted."""


class Histories:
    """Histories by request."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._tokens = PageTokens("matches", MatchEntry)

    async def page(self, request: pb.ListMatchesRequest) -> pb.ListMatchesResponse:
        """Raises Refusal: PLAYER_NOT_FOUND, UNKNOWN_FAMILY, BAD_PAGE_TOKEN, INVALID_FIELD."""
        limit = page_size(request.page_size)
        begin, end = read_span(request)
        before = self._tokens.read(request.page_token)
        if before is None and request.HasField("ended_until"):
            before = MatchEntry(end, "")
        families = self._desk.chosen(request.family)
        wanted = Wanted.of(request)
        player, known = await self._desk.player(request.player_id)
        known = {family: one for family, one in known.items() if family in families}
        look_at = limit if wanted.all else MOST_LOOKED_AT
        entries = await self.entries(known, before, look_at + 1, begin)
        found, looked_at = list[pb.MatchRecord](), 0
        for record in await self._desk.records(entries[:look_at]):
            looked_at += 1
            if record is not None and wanted.has(record, player):
                found.append(as_shown_to(PlayerId(caller().player_id), record))
            if len(found) == limit:
                break
        more = self._tokens.write(entries[looked_at - 1][0]) if looked_at < len(entries) else ""
        return pb.ListMatchesResponse(matches=found, next_page_token=more)

    async def entries(
        self, known: Mapping[str, Known], before: MatchEntry | None, limit: int, oldest_ms: int = 0
    ) -> list[tuple[MatchEntry, str]]:
        """Matches of a player with their families, newest first."""
        histories = await asyncio.gather(
            *(self._desk.store.history(family, one.entrant, before, limit, oldest_ms) for family, one in known.items())
        )
        return _newest(zip(known, histories, strict=True), limit)


class Wanted(NamedTuple):
    """Which matches of a history are asked for."""

    preset: str
    companion: str
    won: bool
    rated: bool

    @classmethod
    def of(cls, request: pb.ListMatchesRequest) -> Wanted:
        """Raises Refusal: PLAYER_NOT_FOUND."""
        companion = request.with_player_id
        if companion:
            plain_id(companion, "with_player_id", "PLAYER_NOT_FOUND")
        return cls(request.preset, companion, request.won, request.rated)

    @property
    def all(self) -> bool:
        return self == Wanted("", "", won=False, rated=False)

    def has(self, record: pb.MatchRecord, player: PlayerId) -> bool:
        """Whether this match of the player is wanted."""
        return (
            self.preset in ("", record.ruleset.preset)
            and (not self.rated or not (record.unrated or record.voided))
            and (not self.companion or any(seat.player_id == self.companion for seat in record.seats))
            and (not self.won or any(seat.winner for seat in record.seats if seat.player_id == player))
        )


def _newest(histories: Iterable[tuple[str, list[MatchEntry]]], limit: int) -> list[tuple[MatchEntry, str]]:
    merged = heapq.merge(*([(entry, family) for entry in found] for family, found in histories), reverse=True)
    return [pair for pair, _ in zip(merged, range(limit), strict=False)]
