"""What follows from results: ratings, boards of spans of time, seasons; and what operators do to them."""

from __future__ import annotations

import asyncio
import random
from datetime import UTC, datetime
from typing import Any

import grpc
import pytest
from maumau.internal.v1 import ratings_pb2
from maumau.internal.v1 import result_intake_pb2 as intake
from maumau.v1 import events_pb2, rules_pb2
from maumau.v1 import scoring_pb2 as pb
from prometheus_client import REGISTRY

from services.rules.registry import GAMES
from services.wire.times import timestamp
from tests.e2e.eventually import eventually
from tests.services.rig import refused
from tests.services.scorers import ENDED, FAMILY, Operator, Scorers, report, seat

DESERTED, ABORTED = events_pb2.MATCH_END_CAUSE_DESERTED, events_pb2.MATCH_END_CAUSE_ABORTED
TABLE = ("p_ana", "p_ben", "p_cid", "p_dan")


def four(match: str = "m_1", **changed: Any) -> Any:
    """Ana first to Dan fourth; `p_ben={"deserted": True}` changes Ben's seat."""
    seats = [seat(name, **{"place": place, **changed.pop(name, {})}) for place, name in enumerate(TABLE, 1)]
    return report(match, seats, scores=(0, 10, 20, 30), **changed)


def at(year: int, month: int, day: int, hour: int = 0, minute: int = 0) -> int:
    """A time in UTC, in ms."""
    return int(datetime(year, month, day, hour, minute, tzinfo=UTC).timestamp() * 1000)


def mattered(*matches: str) -> list[Any]:
    """Matches of random people and outcomes, always the same."""
    chance = random.Random(7)
    found = []
    for match in matches:
        names = chance.sample([f"p_{number}" for number in range(12)], 4)
        seats = [seat(name, place, bot_turns=chance.randrange(3)) for place, name in enumerate(names, 1)]
        seats[chance.randrange(4)].deserted = chance.random() < 0.2
        found.append(
            report(match, seats, scores=(0, 5, 9, 30), ended=timestamp(ENDED + chance.randrange(40) * 86_400_000))
        )
    return found


async def test_a_rated_match_moves_ratings_once_however_often_it_is_reported(scorers: Scorers) -> None:
    for _ in range(3):
        await scorers.count(four())
    answers: list[Any] = [scorers.intake[turn % 2].ReportResult(four()) for turn in range(5)]
    assert all(answer.repeated_result for answer in await asyncio.gather(*answers))
    ratings = [await scorers.rating(name) for name in TABLE]
    assert [rating.matches for rating in ratings] == [1] * 4
    mus = [rating.mu for rating in ratings]
    assert mus == sorted(mus, reverse=True)
    assert mus[0] > 25 > mus[-1]
    assert all(rating.provisional and rating.sigma < 25 / 3 for rating in ratings)
    assert ratings[0].ordinal == ratings[0].mu - 3 * ratings[0].sigma
    assert [(await scorers.statistics(name)).matches for name in TABLE] == [1] * 4


async def test_a_rating_is_no_longer_provisional_after_enough_matches(scorers: Scorers) -> None:
    for number in range(10):
        assert (await scorers.rating("p_ana" if number else "")).provisional
        await scorers.count(four(f"m_{number}"))
    rating = await scorers.rating("p_ana")
    assert (rating.matches, rating.provisional) == (10, False)


async def test_who_has_no_match_has_a_beginners_rating_and_a_stranger_none(scorers: Scorers) -> None:
    own = await scorers.rating("")
    assert (own.player_id, own.mu, own.sigma, own.matches) == (scorers.ana.id, 25.0, 25 / 3, 0)
    unknown = pb.GetRatingRequest(player_id="p_x", family=FAMILY)
    assert (await refused(scorers.ask.GetRating(unknown, metadata=scorers.metadata)))[1] == "PLAYER_NOT_FOUND"
    nowhere = pb.GetRatingRequest(family="bridge")
    assert (await refused(scorers.ask.GetRating(nowhere, metadata=scorers.metadata)))[1] == "UNKNOWN_FAMILY"


async def test_matchmaking_learns_the_ratings_of_those_who_are_known(scorers: Scorers) -> None:
    await scorers.count(four())
    request = ratings_pb2.LookUpRatingsRequest(family=FAMILY, player_ids=["p_dan", "p_x", "p_ana"])
    found = (await scorers.lookups.LookUpRatings(request)).ratings
    assert [rating.player_id for rating in found] == ["p_dan", "p_ana"]
    assert found[1].mu == (await scorers.rating("p_ana")).mu
    for players in ([], ["p"] * 17, [""]):
        call = scorers.lookups.LookUpRatings(ratings_pb2.LookUpRatingsRequest(family=FAMILY, player_ids=players))
        assert (await refused(call))[1] == "INVALID_FIELD"


async def test_a_match_against_bots_counts_for_sums_only(scorers: Scorers) -> None:
    await scorers.count(report(seats=[seat("p_ana", 1), seat("")]))
    assert (await scorers.statistics("p_ana")).wins == 1
    assert (await scorers.rating("p_ana")).matches == 0
    assert not (await scorers.board()).entries
    assert (await scorers.match("m_1")).unrated


async def test_leaving_before_everybody_had_a_turn_is_noted_and_moves_no_rating(scorers: Scorers) -> None:
    left = {"deserted": True}
    await scorers.count(four("m_1", unrated=True, p_ben=left), four("m_2", unrated=True, p_ben=left, cause=DESERTED))
    for name in TABLE:
        assert (await scorers.rating(name)).matches == 0
    ben, ana = await scorers.statistics("p_ben"), await scorers.statistics("p_ana")
    assert (ben.abandoned, ben.matches, ben.deserted) == (2, 0, 0)
    assert (ana.abandoned, ana.matches) == (0, 1), "one match was played to its end by the others"


async def test_leaving_later_is_the_last_place_and_the_others_are_ranked_among_themselves(scorers: Scorers) -> None:
    await scorers.count(four("m_1", p_ana={"deserted": True}))
    mus = {name: (await scorers.rating(name)).mu for name in TABLE}
    assert sorted(mus, key=mus.__getitem__, reverse=True) == ["p_ben", "p_cid", "p_dan", "p_ana"]
    ana = await scorers.statistics("p_ana")
    assert (ana.deserted, ana.wins, ana.average_place_thousandths) == (1, 0, 4000)
    assert (await scorers.wins())["p_ana"] == 0


async def test_a_win_by_default_is_a_win_and_keeps_a_streak(scorers: Scorers) -> None:
    for number in range(4):
        await scorers.count(four(f"m_{number}"))
    gone: dict[str, Any] = {name: {"deserted": True} for name in TABLE[1:]}
    await scorers.count(four("m_5", cause=DESERTED, **gone))
    ana = await scorers.statistics("p_ana")
    assert (ana.wins, ana.streak, ana.best_streak, ana.default_wins) == (5, 5, 5, 1)
    await scorers.count(report("m_6", [seat("p_ana", 2), seat("p_ben", 1)]))
    ana = await scorers.statistics("p_ana")
    assert (ana.streak, ana.best_streak) == (0, 5)


async def test_a_result_reported_again_leaves_every_place_as_it_was(scorers: Scorers) -> None:
    await scorers.count(
        four("m_1"), four("m_2", p_ana={"place": 2, "winner": False}, p_ben={"place": 1, "winner": True})
    )
    before = list((await scorers.board(page_size=100)).entries)
    await scorers.count(four("m_1"))
    assert list((await scorers.board(page_size=100)).entries) == before


async def test_each_span_of_time_has_its_board(scorers: Scorers) -> None:
    days = {"m_1": at(2026, 12, 31, 23, 59), "m_2": at(2027, 1, 1), "m_3": at(2027, 1, 4)}
    for match, ended in days.items():
        await scorers.count(four(match, ended=timestamp(ended), started=timestamp(ended - 1)))

    async def wins(period: pb.Period.ValueType, year: int, month: int, day: int) -> int:
        return (await scorers.wins(period=period, at=timestamp(at(year, month, day)))).get("p_ana", 0)

    assert [await wins(pb.PERIOD_DAY, 2026, 12, 31), await wins(pb.PERIOD_DAY, 2027, 1, 1)] == [1, 1]
    assert await wins(pb.PERIOD_DAY, 2027, 1, 2) == 0
    assert [await wins(pb.PERIOD_WEEK, 2026, 12, 28), await wins(pb.PERIOD_WEEK, 2027, 1, 3)] == [2, 2], "one ISO week"
    assert await wins(pb.PERIOD_WEEK, 2027, 1, 4) == 1
    assert [await wins(pb.PERIOD_MONTH, 2026, 12, 1), await wins(pb.PERIOD_MONTH, 2027, 1, 31)] == [1, 2]
    assert (await scorers.wins())["p_ana"] == 3
    ranked = await scorers.rank("p_ben", period=pb.PERIOD_DAY, at=timestamp(days["m_1"]))
    assert (ranked.entry.rank, ranked.entry.matches, ranked.above[0].player_id) == (2, 1, "p_ana")


async def test_a_board_of_today_is_that_of_now(scorers: Scorers) -> None:
    now = int(datetime.now(UTC).timestamp() * 1000)
    await scorers.count(four(started=timestamp(now - 1), ended=timestamp(now)))
    for period in (pb.PERIOD_DAY, pb.PERIOD_WEEK, pb.PERIOD_MONTH):
        today, asked = await scorers.wins(period=period, at=timestamp(now)), await scorers.wins(period=period)
        assert today["p_ana"] == 1
        assert asked in (today, {}), "empty only if midnight went by"


async def test_a_board_that_is_past_its_time_is_gone(scorers: Scorers) -> None:
    long_ago = at(2020, 5, 5)
    await scorers.count(four(started=timestamp(long_ago), ended=timestamp(long_ago)))
    assert not await scorers.wins(period=pb.PERIOD_MONTH, at=timestamp(long_ago))
    assert (await scorers.wins())["p_ana"] == 1


async def test_a_season_is_opened_counted_closed_and_kept(scorers: Scorers, operator: Operator) -> None:
    await scorers.count(four("m_1"))
    opened = (await operator.open_season("2027-spring", "Spring")).season
    assert (opened.name, opened.HasField("closed")) == ("Spring", False)
    assert (await operator.open_season("2027-spring")).season == opened
    await scorers.count(four("m_2"))
    assert await scorers.wins(period=pb.PERIOD_SEASON) == {"p_ana": 1, "p_ben": 0, "p_cid": 0, "p_dan": 0}
    closed = (await operator.close_season("2027-spring")).season
    assert closed.closed.ToMilliseconds() >= closed.opened.ToMilliseconds() == opened.opened.ToMilliseconds()
    await scorers.count(four("m_3"))
    await operator.open_season("2027-summer", "Summer")
    await scorers.count(four("m_4"), four("m_5"))
    listed = await scorers.ask.ListSeasons(pb.ListSeasonsRequest(family=FAMILY), metadata=scorers.metadata)
    assert [(season.season_id, season.HasField("closed")) for season in listed.seasons] == [
        ("2027-summer", False),
        ("2027-spring", True),
    ]
    assert (await scorers.wins(period=pb.PERIOD_SEASON, season_id="2027-spring"))["p_ana"] == 1
    assert (await scorers.wins(period=pb.PERIOD_SEASON))["p_ana"] == 2
    ranked = await scorers.rank("p_dan", period=pb.PERIOD_SEASON, season_id="2027-spring")
    assert (ranked.entry.rank, ranked.entry.score) == (2, 0)


async def test_what_no_season_can_be_is_refused(scorers: Scorers, operator: Operator) -> None:
    await operator.open_season("one")
    assert (await refused(operator.open_season("two")))[1:] == ("SEASON_RUNNING", {"season_id": "one"})
    await operator.close_season("one")
    beyond = pb.GetLeaderboardRequest(family=FAMILY, period=pb.PERIOD_SEASON, season_id="five")
    for call, reason in (
        (operator.open_season("one"), "SEASON_RUNNING"),
        (operator.close_season("three"), "SEASON_NOT_FOUND"),
        (operator.open_season("Not An Id"), "INVALID_FIELD"),
        (operator.open_season("four", ""), "INVALID_FIELD"),
        (operator.open_season("four", family="bridge"), "UNKNOWN_FAMILY"),
        (operator.close_season(""), "INVALID_FIELD"),
        (scorers.ask.GetLeaderboard(beyond, metadata=scorers.metadata), "SEASON_NOT_FOUND"),
    ):
        assert (await refused(call))[1] == reason


async def test_voiding_a_match_is_as_if_it_had_never_been_and_the_history_says_so(
    scorers: Scorers, operator: Operator
) -> None:
    matches = mattered(*(f"m_{number}" for number in range(30)))
    await operator.open_season("one")
    await scorers.count(*matches)
    players = [f"p_{number}" for number in range(12)]
    answer = await operator.void("m_3")
    assert (answer.recomputed, answer.repeated_void) == (True, False)
    with_void = [(await scorers.rating(name, FAMILY), await scorers.statistics(name)) for name in players]
    boards = [await scorers.wins(), await scorers.wins(period=pb.PERIOD_SEASON)]
    assert (await scorers.match("m_3")).voided
    assert not (await scorers.match("m_4")).voided

    other = list(GAMES)[1]
    for one in matches:
        if one.match.match_id != "m_3":
            one.match.match_id += "_without"
            one.match.ruleset.CopyFrom(rules_pb2.Ruleset(preset=other, game=other))
    await scorers.count(*(one for one in matches if one.match.match_id != "m_3"))
    for (rating, statistics), name in zip(with_void, players, strict=True):
        rating.family = statistics.family = other
        assert await scorers.rating(name, other) == rating
        assert await scorers.statistics(name, other) == statistics
    request = pb.GetLeaderboardRequest(family=other, page_size=100)
    there = await scorers.ask.GetLeaderboard(request, metadata=scorers.metadata)
    assert [{entry.player_id: entry.score for entry in there.entries}] * 2 == boards
    assert (await operator.audit()).differences == 0


def recomputations() -> float:
    return REGISTRY.get_sample_value("maumau_recomputations_total") or 0.0


async def test_a_void_is_repeated_at_another_process_and_an_unknown_match_is_told(
    scorers: Scorers, operator: Operator
) -> None:
    await scorers.count(four())
    before = recomputations()
    await operator.void("m_1")
    again = await operator.void("m_1", process=1)
    assert (again.recomputed, again.repeated_void) == (True, True)
    await eventually(lambda: recomputations() == before + 1, "the recomputation is counted, once")
    assert await scorers.wins() == {}
    assert (await scorers.intake[0].ReportResult(four())).repeated_result, "reported again it does not count again"
    assert await scorers.wins() == {}
    with pytest.raises(grpc.aio.AioRpcError, match="no such match"):
        await operator.void("m_2")


async def test_an_audit_finds_nothing_however_results_came_in(scorers: Scorers, operator: Operator) -> None:
    matches = mattered(*(f"m_{number}" for number in range(60)))
    calls: list[Any] = [scorers.intake[turn % 2].ReportResult(one) for turn, one in enumerate(matches)]
    await asyncio.gather(*calls)
    await operator.delete("p_3")
    await operator.void("m_5")
    audit = await operator.audit()
    assert (audit.entries, audit.differences, list(audit.examples)) == (62, 0, [])
    assert audit.compared > 11


async def test_results_that_come_in_while_a_pool_is_recomputed_count_once(scorers: Scorers, operator: Operator) -> None:
    matches = mattered(*(f"m_{number}" for number in range(80)))
    await scorers.count(*matches[:40])

    async def report_all() -> None:
        for one in matches[40:]:
            await scorers.intake[1].ReportResult(one)

    voids = [operator.void(f"m_{number}", process=number % 2) for number in (1, 2, 3)]
    reporting = asyncio.create_task(report_all())
    assert all(answer.recomputed for answer in await asyncio.gather(*voids))
    await reporting
    audit = await operator.audit()
    assert (audit.entries, audit.differences) == (83, 0)
    total = sum([(await scorers.statistics(f"p_{number}")).matches for number in range(12)])
    assert total == 4 * 77


async def test_a_deleted_player_is_a_pseudonym_in_others_matches_and_nothing_else(
    scorers: Scorers, operator: Operator
) -> None:
    await scorers.count(four("m_1"), four("m_2"))
    ratings = [await scorers.rating(name) for name in ("p_ana", "p_cid", "p_dan")]
    assert await operator.delete("p_ben") == [FAMILY]
    assert await operator.delete("p_ben") == []
    for call in (
        scorers.ask.GetStatistics(pb.GetStatisticsRequest(player_id="p_ben"), metadata=scorers.metadata),
        scorers.ask.ListMatches(pb.ListMatchesRequest(player_id="p_ben"), metadata=scorers.metadata),
        scorers.ask.GetRating(pb.GetRatingRequest(player_id="p_ben", family=FAMILY), metadata=scorers.metadata),
        scorers.ask.GetRank(pb.GetRankRequest(player_id="p_ben", family=FAMILY), metadata=scorers.metadata),
    ):
        assert (await refused(call))[1] == "PLAYER_NOT_FOUND"
    assert "p_ben" not in await scorers.wins()
    [first, second] = [(await scorers.match(match)).seats[1] for match in ("m_1", "m_2")]
    assert first.player_id == second.player_id == "deleted-2"
    assert first.display_name == ""
    assert [await scorers.rating(name) for name in ("p_ana", "p_cid", "p_dan")] == ratings
    assert await operator.export("p_ben") == []
    await operator.void("m_1")
    assert (await operator.audit()).differences == 0
    assert "p_ben" not in await scorers.wins()


async def test_an_archived_match_names_nobody_who_was_deleted(scorers: Scorers, operator: Operator) -> None:
    one = four("m_1", first_version=4, last_version=9)
    await scorers.count(one)
    chunk = intake.ArchiveLogRequest(first_version=4, versions=6, content=b"log")
    chunk.match.match.CopyFrom(one.match)
    await scorers.intake[0].ArchiveLog(iter([chunk]))
    await operator.delete("p_ben")
    found = (await scorers.intake[1].GetArchivedLog(intake.GetArchivedLogRequest(room_id="r_1"))).match.match
    assert [each.player_id for each in found.seats] == ["p_ana", "deleted-2", "p_cid", "p_dan"]
    assert [bool(each.display_name) for each in found.seats] == [True, False, True, True]


async def test_a_report_that_comes_again_does_not_bring_back_a_deleted_player(
    scorers: Scorers, operator: Operator
) -> None:
    await scorers.count(four())
    await operator.delete("p_ben")
    assert (await scorers.intake[1].ReportResult(four())).repeated_result
    assert await operator.export("p_ben") == []
    unknown = pb.GetStatisticsRequest(player_id="p_ben")
    assert (await refused(scorers.ask.GetStatistics(unknown, metadata=scorers.metadata)))[1] == "PLAYER_NOT_FOUND"


async def test_control_of_others_nothing_is_deleted(scorers: Scorers, operator: Operator) -> None:
    await scorers.count(four())
    assert await operator.delete("p_eve") == []
    assert (await scorers.match("m_1")).seats[1].player_id == "p_ben"


async def test_an_export_holds_all_that_is_kept_of_a_player_and_of_nobody_else(
    scorers: Scorers, operator: Operator
) -> None:
    other = list(GAMES)[1]
    await scorers.count(four("m_1"), four("m_2", ruleset=rules_pb2.Ruleset(preset=other, game=other)))
    await scorers.count(report("m_3", [seat("p_cid", 1), seat("p_dan")]))
    parts = await operator.export("p_ana")
    assert [part.statistics.family for part in parts if part.HasField("statistics")] == [FAMILY, other]
    assert [part.rating.matches for part in parts if part.HasField("rating")] == [1, 1]
    spans = [part.board.span for part in parts if part.HasField("board") and part.board.family == FAMILY]
    assert spans[0] == "all"
    assert {part.match.match_id for part in parts if part.HasField("match")} == {"m_1", "m_2"}
    assert await operator.export("p_nobody") == []


async def test_a_history_is_filtered_by_what_one_wants_to_see(scorers: Scorers, operator: Operator) -> None:
    for number in range(6):
        seats = [seat("p_ana", 1 + number % 2), seat("p_ben" if number < 3 else "p_cid", 2 - number % 2)]
        preset = rules_pb2.Ruleset(preset=f"house-{number // 2}", game=FAMILY)
        await scorers.count(report(f"m_{number}", seats, ruleset=preset, ended=timestamp(ENDED + number)))
    await operator.void("m_4")

    async def found(**fields: Any) -> list[int]:
        request = pb.ListMatchesRequest(player_id="p_ana", **fields)
        page = await scorers.ask.ListMatches(request, metadata=scorers.metadata)
        return [int(match.match_id[2:]) for match in page.matches]

    assert await found() == [5, 4, 3, 2, 1, 0]
    assert await found(with_player_id="p_ben") == [2, 1, 0]
    assert await found(won=True) == [4, 2, 0]
    assert await found(rated=True) == [5, 3, 2, 1, 0]
    assert await found(preset="house-1") == [3, 2]
    assert await found(ended_from=timestamp(ENDED + 2), ended_until=timestamp(ENDED + 5)) == [4, 3, 2]
    assert await found(with_player_id="p_nobody") == []
    request = pb.ListMatchesRequest(ended_from=timestamp(5), ended_until=timestamp(5))
    assert (await refused(scorers.ask.ListMatches(request, metadata=scorers.metadata)))[1] == "INVALID_FIELD"


async def test_a_filtered_history_has_pages_without_gap_or_repeat(scorers: Scorers) -> None:
    for number in range(17):
        other = "p_ben" if number % 3 == 0 else "p_cid"
        await scorers.count(report(f"m_{number:02}", [seat("p_ana", 1), seat(other)], ended=timestamp(ENDED + number)))
    found, token = list[str](), ""
    while True:
        request = pb.ListMatchesRequest(player_id="p_ana", with_player_id="p_ben", page_size=2, page_token=token)
        page = await scorers.ask.ListMatches(request, metadata=scorers.metadata)
        found += [match.match_id for match in page.matches]
        token = page.next_page_token
        if not token:
            break
    assert found == ["m_15", "m_12", "m_09", "m_06", "m_03", "m_00"]
