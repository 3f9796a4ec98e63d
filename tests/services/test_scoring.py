"""Results over real sockets: counted once, found by id, in histories, sums and boards that agree."""

from __future__ import annotations

import asyncio
from typing import Any

import grpc
import pytest
from maumau.internal.v1 import result_intake_pb2 as intake
from maumau.internal.v1.result_intake_pb2_grpc import ResultIntakeServiceStub
from maumau.v1 import events_pb2, rules_pb2
from maumau.v1 import scoring_pb2 as pb

from services.game_authority.archive import CHUNK_BYTES
from services.rules.registry import GAMES
from services.runtime.paging import PageTokens
from services.scoring.standing_boards import LATEST_MS
from services.store.boards import ALL_TIME
from services.wire.times import timestamp
from tests.services.rig import Rig, raw_call, refused, sign_in
from tests.services.scorers import ENDED, FAMILY, PERSON, Scorers, report, seat


async def test_twenty_reporters_at_two_processes_count_a_result_once(scorers: Scorers) -> None:
    calls: list[Any] = [scorers.intake[turn % 2].ReportResult(report()) for turn in range(20)]
    answers = await asyncio.gather(*calls)
    assert sorted(answer.repeated_result for answer in answers) == [False] + [True] * 19
    statistics = await scorers.statistics("p_ana")
    assert (statistics.matches, statistics.wins, statistics.rounds) == (1, 1, 3)


async def test_each_of_twenty_matches_counts(scorers: Scorers) -> None:
    """The control: only the repeat is left out."""
    await asyncio.gather(*(scorers.count(report(f"m_{number}")) for number in range(20)))
    assert (await scorers.statistics("p_ana")).matches == 20


async def test_a_repeat_may_differ_in_what_does_not_count(scorers: Scorers) -> None:
    await scorers.count(report())
    renamed = report(seats=[seat("p_ana", 1, display_name="Ana L."), seat("p_ben")], ended=timestamp(ENDED + 5))
    assert (await scorers.intake[1].ReportResult(renamed)).repeated_result


async def test_another_result_of_a_known_match_conflicts_and_the_first_stands(scorers: Scorers) -> None:
    await scorers.count(report())
    others = [
        report(seats=[seat("p_ana", 2), seat("p_ben", 1)]),
        report(scores=(0, 31)),
        report(cause=events_pb2.MATCH_END_CAUSE_DESERTED),
        report(seats=[seat("p_ana", 1), seat("p_eve", 2)]),
    ]
    for other in others:
        code, reason, metadata = await refused(scorers.intake[1].ReportResult(other))
        assert (code, reason, metadata) == (grpc.StatusCode.ALREADY_EXISTS, "RESULT_CONFLICT", {"match_id": "m_1"})
    assert ((await scorers.statistics("p_ana")).wins, (await scorers.statistics("p_ben")).wins) == (1, 0)
    found = await scorers.ask.GetMatch(pb.GetMatchRequest(match_id="m_1"), metadata=scorers.metadata)
    assert found.match == report().match


def _bad_reports() -> dict[str, tuple[intake.ReportResultRequest, str]]:
    unknown = rules_pb2.Ruleset(game="bridge")
    more_counts = report()
    more_counts.counts.add()
    return {
        "no match": (intake.ReportResultRequest(), "match.match_id"),
        "id with spaces": (report("m 1"), "match.match_id"),
        "no room": (report(room_id=""), "match.room_id"),
        "unknown family": (report(ruleset=unknown), "match.ruleset.game"),
        "no cause": (report(cause=0), "match.cause"),
        "ended before it started": (report(ended=timestamp(1)), "match.ended"),
        "one seat": (report(seats=[seat("p_ana", 1)]), "match.seats"),
        "eleven seats": (report(seats=[seat(f"p_{n}") for n in range(11)]), "match.seats"),
        "one player twice": (report(seats=[seat("p_ana", 1), seat("p_ana")]), "match.seats[1].player_id"),
        "person without id": (report(seats=[seat("p_ana", 1), seat("", kind=PERSON)]), "match.seats[1].player_id"),
        "free seat": (report(seats=[seat("p_ana", 1), seat("", kind=1)]), "match.seats[1].kind"),
        "place 0": (report(seats=[seat("p_ana", 1), seat("p_ben", 0)]), "match.seats[1].place"),
        "place beyond the table": (report(seats=[seat("p_ana", 1), seat("p_ben", 3)]), "match.seats[1].place"),
        "winner at place 2": (report(seats=[seat("p_ana", 1), seat("p_ben", 2, winner=True)]), "match.seats[1].winner"),
        "counts of another table": (more_counts, "counts"),
    }


@pytest.mark.parametrize(("bad", "field"), _bad_reports().values(), ids=_bad_reports().keys())
async def test_an_impossible_result_is_refused_by_field_and_counts_nothing(
    scorers: Scorers, bad: intake.ReportResultRequest, field: str
) -> None:
    code, reason, metadata = await refused(scorers.intake[0].ReportResult(bad))
    assert (code, reason, metadata["field"]) == (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_FIELD", field)
    assert not (await scorers.board()).entries
    await scorers.count(report())
    assert [entry.player_id for entry in (await scorers.board()).entries] == ["p_ana", "p_ben"]


async def test_sums_hold_what_the_reports_said(scorers: Scorers) -> None:
    counts = intake.SeatCounts(rounds=3, rounds_won=2, calls_missed=1, accusations_right=4, accusations_wrong=5)
    first = report("m_1", [seat("p_ana", 1, turns=9, bot_turns=2), seat("p_ben"), seat("")], scores=(40, 10, 20))
    first.counts[0].CopyFrom(counts)
    second = report("m_2", [seat("p_ben", 1), seat("p_ana", 2, deserted=True), seat("")], scores=(0, -7, 20))
    await scorers.count(first, second)
    expected = pb.Statistics(
        player_id="p_ana", family=FAMILY, matches=2, wins=1, points=33, average_place_thousandths=2000
    )  # places 1 and, as the leaver of three, 3
    expected.MergeFrom(pb.Statistics(rounds=6, rounds_won=4, calls_missed=1, accusations_right=4, accusations_wrong=5))
    expected.MergeFrom(pb.Statistics(turns=14, bot_turns=2, deserted=1, best_streak=1))
    assert await scorers.statistics("p_ana") == expected
    over_all = await scorers.statistics("p_ana", "")
    assert (over_all.family, over_all.matches, over_all.points) == ("", 2, 33)


async def test_a_player_without_matches_has_zeros_and_a_stranger_is_not_found(scorers: Scorers) -> None:
    own = await scorers.statistics("")
    assert own == pb.Statistics(player_id=scorers.ana.id, family=FAMILY)
    for call in (
        scorers.ask.GetStatistics(pb.GetStatisticsRequest(player_id="p_x"), metadata=scorers.metadata),
        scorers.ask.ListMatches(pb.ListMatchesRequest(player_id="p_x"), metadata=scorers.metadata),
        scorers.ask.GetRank(pb.GetRankRequest(player_id="p_x", family=FAMILY), metadata=scorers.metadata),
    ):
        assert (await refused(call))[:2] == (grpc.StatusCode.NOT_FOUND, "PLAYER_NOT_FOUND")


async def test_an_aborted_match_is_in_the_history_and_counts_nowhere(scorers: Scorers) -> None:
    aborted = report(
        seats=[seat(scorers.ana.id, 0), seat("p_ben", 0)], cause=events_pb2.MATCH_END_CAUSE_ABORTED, unrated=True
    )
    await scorers.count(aborted)
    listed = await scorers.ask.ListMatches(pb.ListMatchesRequest(), metadata=scorers.metadata)
    assert [match.match_id for match in listed.matches] == ["m_1"]
    assert (await scorers.statistics("")).matches == 0
    assert not (await scorers.board()).entries


async def test_an_unrated_match_counts_for_sums_and_not_for_the_board(scorers: Scorers) -> None:
    await scorers.count(report(unrated=True))
    assert (await scorers.statistics("p_ana")).wins == 1
    assert not (await scorers.board()).entries


async def test_a_match_is_found_by_its_id_and_a_wrong_id_is_not(scorers: Scorers) -> None:
    await scorers.count(report())
    for stub in scorers.public:
        found = await stub.GetMatch(pb.GetMatchRequest(match_id="m_1"), metadata=scorers.metadata)
        assert found.match == report().match
    for wrong in ("m_2", "x" * 5_000, "{pool:uno}"):
        call = scorers.ask.GetMatch(pb.GetMatchRequest(match_id=wrong), metadata=scorers.metadata)
        assert (await refused(call))[:2] == (grpc.StatusCode.NOT_FOUND, "MATCH_NOT_FOUND")
    call = scorers.ask.GetMatch(pb.GetMatchRequest(), metadata=scorers.metadata)
    assert (await refused(call))[2]["field"] == "match_id"


async def test_the_room_of_a_match_without_spectators_is_told_to_its_players_alone(scorers: Scorers) -> None:
    """Whoever knows a room's id may ask to sit there."""
    own = [seat(scorers.ana.id, 1), seat("p_ben", 2)]
    await scorers.count(report("m_hidden", watchable=False), report("m_own", seats=own, watchable=False), report())
    assert (await scorers.match("m_hidden")).room_id == ""
    assert (await scorers.match("m_own")).room_id == (await scorers.match("m_1")).room_id == "r_1"
    listed = await scorers.ask.ListMatches(pb.ListMatchesRequest(player_id="p_ben"), metadata=scorers.metadata)
    assert {match.match_id: match.room_id for match in listed.matches} == {"m_hidden": "", "m_own": "r_1", "m_1": "r_1"}


async def test_a_history_over_all_games_is_newest_first_and_pages_meet_without_gap_or_repeat(scorers: Scorers) -> None:
    for number in range(23):
        game = list(GAMES)[number % len(GAMES)]
        ruleset = rules_pb2.Ruleset(preset=game, game=game)
        await scorers.count(report(f"m_{number:02}", ruleset=ruleset, ended=timestamp(ENDED + number // 2)))
    found, token = list[pb.MatchRecord](), ""
    while True:
        request = pb.ListMatchesRequest(player_id="p_ben", page_size=4, page_token=token)
        page = await scorers.ask.ListMatches(request, metadata=scorers.metadata)
        found += page.matches
        token = page.next_page_token
        if not token:
            break
    assert len({match.match_id for match in found}) == len(found) == 23
    ended = [match.ended.ToMilliseconds() for match in found]
    assert ended == sorted(ended, reverse=True)
    of_one = pb.ListMatchesRequest(player_id="p_ben", page_size=100, family=FAMILY)
    only = await scorers.ask.ListMatches(of_one, metadata=scorers.metadata)
    assert {match.ruleset.game for match in only.matches} == {FAMILY}


@pytest.mark.parametrize("lines", [2**31, 2**53 - 1, 2**63 - 1, 2**64 - 1, -1])
async def test_a_board_is_read_from_any_line_that_a_made_up_token_says_or_not_at_all(
    scorers: Scorers, lines: int
) -> None:
    await scorers.count(report())
    token = PageTokens[tuple[str, int]]("board", tuple).write((ALL_TIME, lines))
    request = pb.GetLeaderboardRequest(family=FAMILY, page_token=token)
    call = scorers.ask.GetLeaderboard(request, metadata=scorers.metadata)
    if 0 <= lines < 2**53:
        assert not (await call).entries
    else:
        assert (await refused(call))[1] == "BAD_PAGE_TOKEN"


async def test_a_page_token_of_another_list_is_refused(scorers: Scorers) -> None:
    await scorers.count(*(report(f"m_{number}") for number in range(3)))
    board = await scorers.board(page_size=1)
    assert board.next_page_token
    for token in (board.next_page_token, "x", "AAAA"):
        request = pb.ListMatchesRequest(player_id="p_ana", page_token=token)
        call = scorers.ask.ListMatches(request, metadata=scorers.metadata)
        assert (await refused(call))[:2] == (grpc.StatusCode.INVALID_ARGUMENT, "BAD_PAGE_TOKEN")


async def test_equal_wins_share_a_place_in_list_rank_and_neighbours_alike(scorers: Scorers) -> None:
    wins = {"p_a": 3, "p_b": 2, "p_c": 2, "p_d": 1}
    for player, number in wins.items():
        other = f"p_z{player[-1]}"
        await scorers.count(
            *(report(f"m_{player}{n}", [seat(player, 1), seat(other)], scores=(1, 2)) for n in range(number))
        )
    entries = (await scorers.board(page_size=4)).entries
    assert [(entry.rank, entry.player_id, entry.score) for entry in entries] == [
        (1, "p_a", 3),
        (2, "p_b", 2),
        (2, "p_c", 2),
        (4, "p_d", 1),
    ]
    assert (entries[0].display_name, entries[0].matches) == ("P_A", 3)
    for entry in entries:
        request = pb.GetRankRequest(player_id=entry.player_id, family=FAMILY, neighbours=2)
        ranked = await scorers.ask.GetRank(request, metadata=scorers.metadata)
        assert ranked.entry == entry
        around = [*ranked.above, ranked.entry, *ranked.below]
        whole = list((await scorers.board(page_size=100)).entries)
        first = whole.index(around[0])
        assert around == whole[first : first + len(around)]
    last = await scorers.ask.GetRank(pb.GetRankRequest(player_id="p_za", family=FAMILY), metadata=scorers.metadata)
    assert (last.entry.rank, len(last.above), len(last.below)) == (5, 3, 0)


async def test_a_board_is_read_in_pages(scorers: Scorers) -> None:
    for number in range(7):
        await scorers.count(report(f"m_{number}", [seat(f"p_{number}", 1), seat("p_loser")]))
    found, token, pages = list[str](), "", 0
    while True:
        page = await scorers.board(page_size=3, page_token=token)
        found += [entry.player_id for entry in page.entries]
        token, pages = page.next_page_token, pages + 1
        if not token:
            break
    assert (found, pages) == ([*(f"p_{number}" for number in range(7)), "p_loser"], 3)


async def test_what_no_board_is_kept_of_is_said(scorers: Scorers) -> None:
    cases: list[tuple[pb.GetLeaderboardRequest, grpc.StatusCode, str]] = [
        (pb.GetLeaderboardRequest(), grpc.StatusCode.INVALID_ARGUMENT, "UNKNOWN_FAMILY"),
        (pb.GetLeaderboardRequest(family="bridge"), grpc.StatusCode.INVALID_ARGUMENT, "UNKNOWN_FAMILY"),
        (pb.GetLeaderboardRequest(family=FAMILY, period=99), grpc.StatusCode.INVALID_ARGUMENT, "INVALID_FIELD"),  # type: ignore[arg-type]
        (
            pb.GetLeaderboardRequest(family=FAMILY, period=pb.PERIOD_SEASON),
            grpc.StatusCode.NOT_FOUND,
            "SEASON_NOT_FOUND",
        ),
        (
            pb.GetLeaderboardRequest(family=FAMILY, period=pb.PERIOD_DAY, at=timestamp(LATEST_MS)),
            grpc.StatusCode.INVALID_ARGUMENT,
            "INVALID_FIELD",
        ),
    ]
    for request, code, reason in cases:
        assert (await refused(scorers.ask.GetLeaderboard(request, metadata=scorers.metadata)))[:2] == (code, reason)


async def test_the_intake_takes_no_ones_word_without_the_servers_credential(rig: Rig) -> None:
    public, internal = await rig.scoring()
    ana = await sign_in(await rig.matchmaking())
    path = "/maumau.internal.v1.ResultIntakeService/ReportResult"
    assert (await refused(raw_call(public, path, ana.metadata)))[1] == "UNKNOWN_METHOD"
    bare = grpc.aio.insecure_channel(rig.internal_addresses[-1])
    for metadata, reason in (
        ((), "NOT_SIGNED_IN"),
        (ana.metadata, "BAD_TOKEN"),
        ((("authorization", "Service " + "0" * 64),), "BAD_TOKEN"),
    ):
        assert (await refused(raw_call(bare, path, metadata)))[1] == reason
    assert (await refused(raw_call(internal, path)))[1] == "INVALID_FIELD", "the control: with it, the result is read"
    await bare.close()


# Logs.


def archived(match_id: str = "m_1", first: int = 4, last: int = 9) -> intake.ArchivedMatch:
    record = report(match_id, first_version=first, last_version=last).match
    return intake.ArchivedMatch(match=record, ruleset=b"{}", watchable=True)


def log_of(about: intake.ArchivedMatch, *chunks: tuple[int, int]) -> list[intake.ArchiveLogRequest]:
    """Messages with chunks of so many versions from such a version on."""
    messages = [
        intake.ArchiveLogRequest(first_version=first, versions=versions, content=f"from {first}".encode())
        for first, versions in chunks
    ]
    if messages:
        messages[0].match.CopyFrom(about)
    return messages


async def test_a_log_is_kept_in_chunks_and_found_by_version_at_any_process(scorers: Scorers) -> None:
    for _ in range(2):  # a repeat changes nothing
        kept = await scorers.intake[0].ArchiveLog(iter(log_of(archived(), (4, 3), (7, 3))))
        assert kept.versions == 6
    for after, content in ((0, b"from 4"), (3, b"from 4"), (5, b"from 4"), (6, b"from 7"), (8, b"from 7"), (9, b"")):
        request = intake.GetArchivedLogRequest(room_id="r_1", match_id="m_1", after_version=after)
        answer = await scorers.intake[1].GetArchivedLog(request)
        assert (answer.match, answer.content) == (archived(), content)


async def test_the_last_match_of_a_room_is_found_without_its_id(scorers: Scorers) -> None:
    await scorers.intake[0].ArchiveLog(iter(log_of(archived("m_2", 20, 21), (20, 2))))
    await scorers.intake[0].ArchiveLog(iter(log_of(archived("m_1", 4, 5), (4, 2))))
    answer = await scorers.intake[0].GetArchivedLog(intake.GetArchivedLogRequest(room_id="r_1"))
    assert answer.match.match.match_id == "m_2"
    for room, match in (("r_2", ""), ("r_1", "m_3"), ("r_2", "m_1")):
        call = scorers.intake[0].GetArchivedLog(intake.GetArchivedLogRequest(room_id=room, match_id=match))
        assert (await refused(call))[:2] == (grpc.StatusCode.NOT_FOUND, "MATCH_NOT_FOUND")


@pytest.mark.parametrize("chunks", [(), ((4, 3),), ((4, 3), (8, 2)), ((5, 5),), ((4, 7),), ((4, 3), (4, 6))])
async def test_a_log_with_a_hole_or_without_its_end_is_not_kept(
    scorers: Scorers, chunks: tuple[tuple[int, int], ...]
) -> None:
    call = scorers.intake[0].ArchiveLog(iter(log_of(archived(), *chunks)))
    assert (await refused(call))[:2] == (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_FIELD")
    asked = scorers.intake[0].GetArchivedLog(intake.GetArchivedLogRequest(room_id="r_1"))
    assert (await refused(asked))[1] == "MATCH_NOT_FOUND"


async def test_a_chunk_of_a_log_comes_through_however_little_clients_may_send(rig: Rig) -> None:
    rig.settings = rig.settings.model_copy(update={"max_message_bytes": 1_024})
    _, internal = await rig.scoring()
    stub, content = ResultIntakeServiceStub(internal), bytes(CHUNK_BYTES)
    chunk = intake.ArchiveLogRequest(match=archived(), first_version=4, versions=6, content=content)
    await stub.ArchiveLog(iter([chunk]))
    answer = await stub.GetArchivedLog(intake.GetArchivedLogRequest(room_id="r_1", match_id="m_1"))
    assert answer.content == content
