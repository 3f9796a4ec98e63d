"""The bot runner: matches by real clients, and a report of each."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest
from maumau.bots.choosers import Level, chooser
from maumau.bots.report import MatchReport, Versions
from maumau.bots.runner import BotRun, run_matches
from maumau.connection import Mode
from maumau.v1 import actions_pb2, cards_pb2, room_pb2

from tests.clients.fake_server import FakeServer, status_of

Action = actions_pb2.Action


def play(rank: cards_pb2.Rank.ValueType) -> Action:
    return Action(play=Action.Play(card=cards_pb2.Card(suit=cards_pb2.SUIT_CLUBS, rank=rank)))


async def played(
    fake: FakeServer, *, seats: int = 3, matches: int = 1, tables: int = 1, mode: Mode = "play"
) -> tuple[bool, list[MatchReport]]:
    reports: list[MatchReport] = []
    run = BotRun("mau-mau-32", seats, matches=matches, tables=tables, address=fake.address, mode=mode, match_seconds=30)
    ok = await run_matches(run, reports.append)
    return ok, reports


@pytest.mark.parametrize("mode", ["play", "unary"])
async def test_a_match_is_reported_as_one_line_of_json(fake: FakeServer, mode: Mode) -> None:
    ok, (report,) = await played(fake, mode=mode)
    line = json.loads(report.as_json())
    assert ok
    assert "\n" not in report.as_json()
    assert line.pop("duration_seconds") > 0
    seats = line.pop("seats")
    assert line == {
        "room": "room-1",
        "match": "match-1",
        "ruleset": "mau-mau-32",
        "ok": True,
        "error": "",
        "cause": "single_round",
        "scores": [1, 0, 0],
        "places": [1, 2, 2],
        "winners": [0],
        "rounds": 1,
        "version": 14,
        "accepted": 7,
        "refused": {},
        "unknown": 0,
    }
    assert [seat["accepted"] for seat in seats] == [3, 2, 2]
    assert [seat["player"] for seat in seats] == ["player-1", "player-2", "player-3"]
    for seat in seats:
        seen = seat["versions"]
        assert seen["last"] == 14
        assert seen["count"] == seen["last"] - seen["first"] + 1
        assert seen["holes"] == seen["repeats"] == seen["resets"] == 0


async def test_matches_are_spread_over_tables_and_all_are_played(fake: FakeServer) -> None:
    ok, reports = await played(fake, seats=2, matches=5, tables=2)
    assert ok
    assert len({report.room for report in reports}) == 5
    assert len(fake.names) == 4


async def test_a_match_outlives_a_server_that_is_restarted(fake: FakeServer) -> None:
    fake.restart_at_act = 8
    ok, (report,) = await played(fake)
    assert ok, report.error
    assert fake.restarts == 1


async def test_refusals_are_counted_by_their_reason_and_tried_again(fake: FakeServer) -> None:
    fake.refuse_kind = "play"
    fake.refuse_acts += [status_of("STALE"), status_of("RATE_LIMITED", 0.01)]
    ok, (report,) = await played(fake)
    assert ok
    assert json.loads(report.as_json())["refused"] == {"RATE_LIMITED": 1, "STALE": 1}


async def test_a_match_that_cannot_be_played_is_reported_as_failed(fake: FakeServer) -> None:
    fake.refuse_creates = [status_of("SERVER_FULL")]
    ok, (report,) = await played(fake)
    line = json.loads(report.as_json())
    assert not ok
    assert not line["ok"]
    assert "SERVER_FULL" in line["error"]


def test_holes_repeats_and_resets_are_told_apart() -> None:
    versions = Versions()
    for version in (3, 4, 6, 6):
        versions.see(version)
    versions.begin_anew(20, changed=True)
    versions.see(21)
    assert (versions.first, versions.last, versions.holes, versions.repeats) == (3, 21, 1, 1)
    assert (versions.resets, versions.changed) == (1, 1)


def test_the_same_seed_chooses_the_same() -> None:
    view = room_pb2.RoomView()
    legal = [play(rank) for rank in (cards_pb2.RANK_SEVEN, cards_pb2.RANK_EIGHT, cards_pb2.RANK_NINE)]
    levels: tuple[Level, ...] = ("random", "heuristic")
    for level in levels:
        one, two = (chooser(level, "seed") for _ in range(2))
        assert [one(view, legal) for _ in range(50)] == [two(view, legal) for _ in range(50)]


@pytest.mark.parametrize(
    ("legal", "chosen"),
    [
        ([Action(draw=Action.Draw()), play(cards_pb2.RANK_SEVEN)], "play"),
        ([Action(speak=Action.Speak()), Action(draw=Action.Draw())], "draw"),
        ([Action(discard=Action.Discard()), Action(lay_meld=Action.LayMeld())], "lay_meld"),
    ],
)
def test_the_heuristic_rather_plays_than_draws(legal: Sequence[Action], chosen: str) -> None:
    assert chooser("heuristic", "seed")(room_pb2.RoomView(), legal).WhichOneof("action") == chosen
