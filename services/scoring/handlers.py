"""`maumau.v1.ScoringService`: what came of matches, for everybody who has a session."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from maumau.v1 import scoring_pb2 as pb

from services.runtime.auth import caller
from services.runtime.calls import Context
from services.runtime.errors import Refused
from services.runtime.paging import PageTokens, page_size
from services.store.keys import PlayerId
from services.store.players import PlayerStore
from services.store.scoring import BoardLine, MatchEntry, ScoringStore
from services.wire.errors import invalid_field, refusal

MOST_NEIGHBOURS: Final = 25
DEFAULT_NEIGHBOURS: Final = 3
LONGEST_ID: Final = 128


class _Position(NamedTuple):
    """How many lines of a board were read."""

    lines: int


class ScoringService:
    """Histories, sums and boards. Boards of a span of time, seasons and ratings are not offered yet."""

    def __init__(self, store: ScoringStore, players: PlayerStore, families: Sequence[str]) -> None:
        self._store = store
        self._players = players
        self._families = tuple(families)
        self._match_tokens = PageTokens("matches", MatchEntry)
        self._board_tokens = PageTokens("board", _Position)

    async def GetMatch(self, request: pb.GetMatchRequest, context: Context) -> pb.GetMatchResponse:  # noqa: N802
        """The match. Raises Refusal: MATCH_NOT_FOUND."""
        record = await self._store.record(_id(request.match_id, "match_id", "MATCH_NOT_FOUND"))
        if record is None:
            raise refusal("MATCH_NOT_FOUND")
        return pb.GetMatchResponse(match=pb.MatchRecord.FromString(record))

    async def ListMatches(self, request: pb.ListMatchesRequest, context: Context) -> pb.ListMatchesResponse:  # noqa: N802
        """A page of a player's matches, newest first. A page may have fewer matches than asked for, also before the
        last. Raises Refusal: PLAYER_NOT_FOUND, UNKNOWN_FAMILY, BAD_PAGE_TOKEN, INVALID_FIELD."""
        limit = page_size(request.page_size)
        before = self._match_tokens.read(request.page_token)
        families = self._chosen(request.family)
        player = await self._known_player(request.player_id)
        histories = await asyncio.gather(
            *(self._store.history(family, player, before, limit + 1) for family in families)
        )
        entries = _newest(zip(families, histories, strict=True), limit + 1)
        more = self._match_tokens.write(entries[limit - 1][0]) if len(entries) > limit else ""
        return pb.ListMatchesResponse(matches=await self._records(entries[:limit]), next_page_token=more)

    async def GetStatistics(self, request: pb.GetStatisticsRequest, context: Context) -> pb.GetStatisticsResponse:  # noqa: N802
        """Sums over a player's matches, zeros for one who has played none. Raises Refusal: PLAYER_NOT_FOUND,
        UNKNOWN_FAMILY."""
        families = self._chosen(request.family)
        player = await self._known_player(request.player_id)
        sums = await asyncio.gather(*(self._store.totals(family, player) for family in families))
        total = {field: sum(part.get(field, 0) for part in sums) for field in set().union(*sums)}
        return pb.GetStatisticsResponse(statistics=_statistics(player, request.family, total))

    async def GetLeaderboard(self, request: pb.GetLeaderboardRequest, context: Context) -> pb.GetLeaderboardResponse:  # noqa: N802
        """A page of the board. Equal wins share the better place, the next one is skipped (1, 2, 2, 4), and equal ones
        stand in the order of their player ids. Raises Refusal: UNKNOWN_FAMILY, BAD_PAGE_TOKEN, INVALID_FIELD."""
        family = self._board_of(request.family, request.period, "GetLeaderboard")
        limit = page_size(request.page_size)
        first = (self._board_tokens.read(request.page_token) or _Position(0)).lines
        if first < 0:
            raise refusal("BAD_PAGE_TOKEN")
        page = await self._store.board(family, first, limit)
        read = first + len(page.lines)
        more = self._board_tokens.write(_Position(read)) if page.lines and read < page.size else ""
        return pb.GetLeaderboardResponse(entries=await self._lines(family, page.lines), next_page_token=more)

    async def GetRank(self, request: pb.GetRankRequest, context: Context) -> pb.GetRankResponse:  # noqa: N802
        """A player's line and its neighbours. Raises Refusal: UNKNOWN_FAMILY, PLAYER_NOT_FOUND, INVALID_FIELD."""
        family = self._board_of(request.family, request.period, "GetRank")
        neighbours = request.neighbours if request.HasField("neighbours") else DEFAULT_NEIGHBOURS
        if not 0 <= neighbours <= MOST_NEIGHBOURS:
            raise invalid_field("neighbours", neighbours, f"0 to {MOST_NEIGHBOURS}")
        player = _player(request.player_id)
        page = await self._store.around(family, player, neighbours)
        if page is None:
            raise refusal("PLAYER_NOT_FOUND")
        own = next(number for number, line in enumerate(page.lines) if line.player == player)
        lines = await self._lines(family, page.lines)
        return pb.GetRankResponse(entry=lines[own], above=lines[:own], below=lines[own + 1 :])

    def _chosen(self, family: str) -> tuple[str, ...]:
        if not family:
            return self._families
        if family not in self._families:
            raise refusal("UNKNOWN_FAMILY", value=family, expected=f"one of {', '.join(self._families)}")
        return (family,)

    def _board_of(self, family: str, period: pb.Period.ValueType, method: str) -> str:
        if not family:
            raise refusal("UNKNOWN_FAMILY", value="", expected=f"one of {', '.join(self._families)}")
        if period not in pb.Period.values():
            raise invalid_field("period", period, "a Period")
        if period not in (pb.PERIOD_UNSPECIFIED, pb.PERIOD_ALL_TIME):
            raise Refused("NOT_AVAILABLE_YET", method=f"/maumau.v1.ScoringService/{method}")
        return self._chosen(family)[0]

    async def _known_player(self, asked: str) -> PlayerId:
        """The player of a request. One who is not the caller must have a profile here, or a match."""
        player = _player(asked)
        if player == caller().player_id or await self._players.profile(player) is not None:
            return player
        totals = await asyncio.gather(*(self._store.totals(family, player) for family in self._families))
        if not any(totals):
            raise refusal("PLAYER_NOT_FOUND")
        return player

    async def _records(self, entries: Sequence[tuple[MatchEntry, str]]) -> list[pb.MatchRecord]:
        found = await asyncio.gather(*(self._store.record_in(family, entry.match) for entry, family in entries))
        return [pb.MatchRecord.FromString(record) for record in found if record is not None]

    async def _lines(self, family: str, lines: Sequence[BoardLine]) -> list[pb.LeaderboardEntry]:
        about = await self._store.names_and_matches(family, [line.player for line in lines])
        return [
            pb.LeaderboardEntry(
                rank=line.place, player_id=line.player, display_name=name, score=line.wins, matches=matches
            )
            for line, (name, matches) in zip(lines, about, strict=True)
        ]


def _player(asked: str) -> PlayerId:
    return PlayerId(_id(asked, "player_id", "PLAYER_NOT_FOUND") if asked else caller().player_id)


def _id(text: str, field: str, missing: str) -> str:
    """An id as it came. Raises Refusal: INVALID_FIELD for none, `missing` for what nothing here can be called."""
    if not text:
        raise invalid_field(field, "", "an id")
    if len(text) > LONGEST_ID:
        raise refusal(missing)
    return text


def _newest(histories: Iterable[tuple[str, list[MatchEntry]]], limit: int) -> list[tuple[MatchEntry, str]]:
    merged = heapq.merge(*([(entry, family) for entry in found] for family, found in histories), reverse=True)
    return [pair for pair, _ in zip(merged, range(limit), strict=False)]


def _statistics(player: PlayerId, family: str, total: dict[str, int]) -> pb.Statistics:
    matches = total.get("matches", 0)
    places = total.pop("places", 0)
    average = (places * 1000 + matches // 2) // matches if matches else 0
    return pb.Statistics(player_id=player, family=family, average_place_thousandths=average, **total)
