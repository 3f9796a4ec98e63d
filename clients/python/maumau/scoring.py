"""Results, ratings and leaderboards, as the scoring service keeps them."""

from __future__ import annotations

from collections.abc import AsyncIterator

from maumau.calls import Calls
from maumau.v1 import scoring_pb2, scoring_pb2_grpc

_PAGE = 100


class Scoring:
    """Reads of a client. An empty `player_id` is the caller; a `family` is a game, for instance `mau-mau-32`."""

    def __init__(self, calls: Calls, stub: scoring_pb2_grpc.ScoringServiceStub) -> None:
        self._calls = calls
        self._stub = stub

    async def match(self, match_id: str) -> scoring_pb2.MatchRecord:
        """A match that ended. Raises Refused with MATCH_NOT_FOUND, also for the moment until scoring has it."""
        request = scoring_pb2.GetMatchRequest(match_id=match_id)
        return (await self._calls.call(self._stub.GetMatch, request, repeatable=True)).match

    async def matches(self, player_id: str = "", family: str = "") -> AsyncIterator[scoring_pb2.MatchRecord]:
        """A player's matches, newest first."""
        request = scoring_pb2.ListMatchesRequest(player_id=player_id, family=family, page_size=_PAGE)
        while True:
            answer = await self._calls.call(self._stub.ListMatches, request, repeatable=True)
            for match in answer.matches:
                yield match
            if not answer.next_page_token:
                return
            request.page_token = answer.next_page_token

    async def statistics(self, player_id: str = "", family: str = "") -> scoring_pb2.Statistics:
        request = scoring_pb2.GetStatisticsRequest(player_id=player_id, family=family)
        return (await self._calls.call(self._stub.GetStatistics, request, repeatable=True)).statistics

    async def rating(self, family: str, player_id: str = "") -> scoring_pb2.Rating:
        request = scoring_pb2.GetRatingRequest(player_id=player_id, family=family)
        return (await self._calls.call(self._stub.GetRating, request, repeatable=True)).rating

    async def leaderboard(
        self,
        family: str,
        period: scoring_pb2.Period.ValueType = scoring_pb2.PERIOD_ALL_TIME,
        *,
        season_id: str = "",
        lines: int = 20,
    ) -> list[scoring_pb2.LeaderboardEntry]:
        """The best `lines` players, 1 to 100."""
        request = scoring_pb2.GetLeaderboardRequest(family=family, period=period, season_id=season_id, page_size=lines)
        return list((await self._calls.call(self._stub.GetLeaderboard, request, repeatable=True)).entries)

    async def rank(
        self,
        family: str,
        player_id: str = "",
        period: scoring_pb2.Period.ValueType = scoring_pb2.PERIOD_ALL_TIME,
        *,
        season_id: str = "",
    ) -> scoring_pb2.GetRankResponse:
        """A player's line and those next to it."""
        request = scoring_pb2.GetRankRequest(player_id=player_id, family=family, period=period, season_id=season_id)
        return await self._calls.call(self._stub.GetRank, request, repeatable=True)

    async def seasons(self, family: str) -> list[scoring_pb2.Season]:
        """Newest first."""
        request = scoring_pb2.ListSeasonsRequest(family=family)
        return list((await self._calls.call(self._stub.ListSeasons, request, repeatable=True)).seasons)
