"""Two scoring processes, reports for them, and those who ask and operate them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

import grpc
from maumau.internal.v1 import operator_pb2 as operating
from maumau.internal.v1 import result_intake_pb2 as intake
from maumau.internal.v1.operator_pb2_grpc import OperatorServiceStub
from maumau.internal.v1.ratings_pb2_grpc import RatingLookupServiceStub
from maumau.internal.v1.result_intake_pb2_grpc import ResultIntakeServiceStub
from maumau.v1 import events_pb2, rules_pb2
from maumau.v1 import scoring_pb2 as pb
from maumau.v1.scoring_pb2_grpc import ScoringServiceStub

from services.rules.registry import GAMES
from services.runtime.auth import operator_credential
from services.wire.times import timestamp
from tests.services.rig import Player, Rig, sign_in

PERSON, BOT = events_pb2.SEAT_KIND_PERSON, events_pb2.SEAT_KIND_BOT
ENDED = 1_800_000_000_000
FAMILY = next(iter(GAMES))


def seat(player: str, place: int = 2, **fields: Any) -> pb.MatchSeat:
    """A person's seat, or a bot's for an empty id."""
    kind = PERSON if player else BOT
    fields = {"kind": kind, "display_name": player.title(), "winner": place == 1, "turns": 5, **fields}
    return pb.MatchSeat(player_id=player, place=place, **fields)


def report(
    match_id: str = "m_1", seats: Sequence[pb.MatchSeat] = (), scores: Sequence[int] = (0, 30), **fields: Any
) -> intake.ReportResultRequest:
    people = list(seats) or [seat("p_ana", 1), seat("p_ben", 2)]
    for number, person in enumerate(people):
        person.partnership = number if number < len(scores) else 0
    record: dict[str, Any] = {
        "room_id": "r_1",
        "ruleset": rules_pb2.Ruleset(preset=FAMILY, game=FAMILY),
        "scores": scores,
        "cause": events_pb2.MATCH_END_CAUSE_TARGET_REACHED,
        "started": timestamp(ENDED - 60_000),
        "ended": timestamp(ENDED),
        "first_version": 4,
        "last_version": 90,
        "watchable": True,
        **fields,
    }
    counts = [intake.SeatCounts(rounds=3, rounds_won=3 - number) for number in range(len(people))][:3]
    counts += [intake.SeatCounts()] * (len(people) - len(counts))
    return intake.ReportResultRequest(match=pb.MatchRecord(match_id=match_id, seats=people, **record), counts=counts)


class Scorers:
    """Two scoring processes, somebody who asks, and the authority's way in."""

    def __init__(self, publics: list[grpc.aio.Channel], internals: list[grpc.aio.Channel], ana: Player) -> None:
        self.public = [ScoringServiceStub(channel) for channel in publics]
        self.intake = [ResultIntakeServiceStub(channel) for channel in internals]
        self.ask = self.public[0]
        self.metadata = ana.metadata
        self.ana = ana
        self.lookups = RatingLookupServiceStub(internals[0])

    async def count(self, *reports: intake.ReportResultRequest) -> None:
        for one in reports:
            await self.intake[0].ReportResult(one)

    async def statistics(self, player: str, family: str = FAMILY) -> pb.Statistics:
        request = pb.GetStatisticsRequest(player_id=player, family=family)
        return (await self.ask.GetStatistics(request, metadata=self.metadata)).statistics

    async def board(self, **fields: Any) -> pb.GetLeaderboardResponse:
        return await self.ask.GetLeaderboard(pb.GetLeaderboardRequest(family=FAMILY, **fields), metadata=self.metadata)

    async def match(self, match_id: str) -> pb.MatchRecord:
        return (await self.ask.GetMatch(pb.GetMatchRequest(match_id=match_id), metadata=self.metadata)).match

    async def rating(self, player: str, family: str = FAMILY) -> pb.Rating:
        request = pb.GetRatingRequest(player_id=player, family=family)
        return (await self.ask.GetRating(request, metadata=self.metadata)).rating

    async def rank(self, player: str, **fields: Any) -> pb.GetRankResponse:
        request = pb.GetRankRequest(player_id=player, family=FAMILY, **fields)
        return await self.ask.GetRank(request, metadata=self.metadata)

    async def wins(self, **fields: Any) -> dict[str, int]:
        """Wins by player on a board of at most 100 lines."""
        return {entry.player_id: entry.score for entry in (await self.board(page_size=100, **fields)).entries}


async def two_scorers(rig: Rig) -> Scorers:
    both = [await rig.scoring() for _ in range(2)]
    ana = await sign_in(await rig.matchmaking(), "Ana")
    return Scorers([public for public, _ in both], [internal for _, internal in both], ana)


class Operator:
    """The operator, at each of the processes in turn."""

    def __init__(self, channels: Sequence[grpc.aio.Channel], credential: tuple[str, str]) -> None:
        self.stubs = [OperatorServiceStub(channel) for channel in channels]
        self.stub = self.stubs[0]
        self.metadata = (credential,)

    async def void(self, match: str, process: int = 0) -> operating.VoidMatchResponse:
        request = operating.VoidMatchRequest(match_id=match, why="a test")
        return await self.stubs[process].VoidMatch(request, metadata=self.metadata)

    async def audit(self, family: str = FAMILY) -> operating.AuditFamilyResponse:
        return await self.stub.AuditFamily(operating.AuditFamilyRequest(family=family), metadata=self.metadata)

    def open_season(self, season: str, name: str = "A season", family: str = FAMILY) -> Any:
        request = operating.OpenSeasonRequest(family=family, season_id=season, name=name)
        return self.stub.OpenSeason(request, metadata=self.metadata)

    def close_season(self, season: str, family: str = FAMILY) -> Any:
        request = operating.CloseSeasonRequest(family=family, season_id=season)
        return self.stub.CloseSeason(request, metadata=self.metadata)

    async def delete(self, player: str) -> list[str]:
        request = operating.DeletePlayerRequest(player_id=player)
        return list((await self.stub.DeletePlayer(request, metadata=self.metadata)).families)

    async def export(self, player: str) -> list[operating.ExportPlayerResponse]:
        request = operating.ExportPlayerRequest(player_id=player)
        call: Any = self.stub.ExportPlayer(request, metadata=self.metadata)
        found: AsyncIterator[operating.ExportPlayerResponse] = call
        return [part async for part in found]


def operator_of(rig: Rig, channels: Sequence[grpc.aio.Channel]) -> Operator:
    return Operator(channels, operator_credential(rig.settings))
