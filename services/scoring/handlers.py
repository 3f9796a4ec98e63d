"""`maumau.v1.ScoringService`: what came of matches, for everybody who has a session."""

from __future__ import annotations

from maumau.v1 import scoring_pb2 as pb

from services.runtime.auth import caller
from services.runtime.calls import Context
from services.scoring.desk import Desk, plain_id, rating_message, statistics_message
from services.scoring.histories import Histories
from services.scoring.reports import as_shown_to, entrants_in, fill_in
from services.scoring.standing_boards import StandingBoards
from services.store.keys import PlayerId
from services.store.ledgers import Ledgers, Season
from services.wire.errors import refusal
from services.wire.times import timestamp


class ScoringService:
    """Histories, sums, ratings, boards and seasons."""

    def __init__(self, desk: Desk, histories: Histories, boards: StandingBoards, ledgers: Ledgers) -> None:
        self._desk = desk
        self._histories = histories
        self._boards = boards
        self._ledgers = ledgers

    async def GetMatch(self, request: pb.GetMatchRequest, context: Context) -> pb.GetMatchResponse:  # noqa: N802
        """The match. Raises Refusal: MATCH_NOT_FOUND, INVALID_FIELD."""
        found = await self._desk.store.record(plain_id(request.match_id, "match_id", "MATCH_NOT_FOUND"))
        if found is None:
            raise refusal("MATCH_NOT_FOUND")
        family, stored = found
        record = pb.MatchRecord.FromString(stored.content)
        record.voided = stored.voided
        fill_in(record, await self._desk.store.entrants(family, entrants_in(record)))
        return pb.GetMatchResponse(match=as_shown_to(PlayerId(caller().player_id), record))

    async def ListMatches(self, request: pb.ListMatchesRequest, context: Context) -> pb.ListMatchesResponse:  # noqa: N802
        """A page of a player's matches, newest first. Raises Refusal: PLAYER_NOT_FOUND, UNKNOWN_FAMILY, BAD_PAGE_TOKEN,
        INVALID_FIELD."""
        return await self._histories.page(request)

    async def GetStatistics(self, request: pb.GetStatisticsRequest, context: Context) -> pb.GetStatisticsResponse:  # noqa: N802
        """Sums over a player's matches, zeros for one who has played none. Raises Refusal: PLAYER_NOT_FOUND,
        UNKNOWN_FAMILY."""
        families = self._desk.chosen(request.family)
        player, known = await self._desk.player(request.player_id)
        of_families = [one for family, one in known.items() if family in families]
        return pb.GetStatisticsResponse(statistics=statistics_message(player, request.family, of_families))

    async def GetRating(self, request: pb.GetRatingRequest, context: Context) -> pb.GetRatingResponse:  # noqa: N802
        """A player's rating, a beginner's for one who has no rated match. Raises Refusal: PLAYER_NOT_FOUND,
        UNKNOWN_FAMILY."""
        family = self._desk.family(request.family)
        player, known = await self._desk.player(request.player_id)
        return pb.GetRatingResponse(rating=rating_message(player, family, known.get(family)))

    async def GetLeaderboard(self, request: pb.GetLeaderboardRequest, context: Context) -> pb.GetLeaderboardResponse:  # noqa: N802
        """A page of a board. Raises Refusal: UNKNOWN_FAMILY, BAD_PAGE_TOKEN, INVALID_FIELD, SEASON_NOT_FOUND."""
        return await self._boards.page(request)

    async def GetRank(self, request: pb.GetRankRequest, context: Context) -> pb.GetRankResponse:  # noqa: N802
        """A player's line and its neighbours. Raises Refusal: UNKNOWN_FAMILY, PLAYER_NOT_FOUND, INVALID_FIELD,
        SEASON_NOT_FOUND."""
        return await self._boards.rank(request)

    async def ListSeasons(self, request: pb.ListSeasonsRequest, context: Context) -> pb.ListSeasonsResponse:  # noqa: N802
        """Seasons, newest first. Raises Refusal: UNKNOWN_FAMILY."""
        seasons = await self._ledgers.seasons(self._desk.family(request.family))
        return pb.ListSeasonsResponse(seasons=[season_message(season) for season in seasons])


def season_message(season: Season) -> pb.Season:
    closed = timestamp(season.closed_ms) if season.closed_ms else None
    return pb.Season(season_id=season.season, name=season.name, opened=timestamp(season.opened_ms), closed=closed)
