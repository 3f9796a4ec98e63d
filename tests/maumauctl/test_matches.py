"""Results as the operator takes them back and exports them, seasons, and the books."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc
import pytest
from maumau.internal.v1.result_intake_pb2_grpc import ResultIntakeServiceStub
from redis import Redis

from services.local.stack import Stack
from services.runtime.auth import service_credential
from services.runtime.settings import Settings
from services.wire.times import timestamp
from tests.maumauctl.running import Command, audited
from tests.services.scorers import ENDED, FAMILY, report, seat

Count = Callable[..., None]
SECOND_MS = 1_000


@pytest.fixture
def count(stack: Stack) -> Any:
    """Has scoring count a match of these people, the first of whom won."""
    credential = service_credential(Settings(keys_dir=stack.keys_dir))
    with grpc.insecure_channel(f"127.0.0.1:{stack.process('scoring').internal_port}") as channel:
        untyped: Any = channel  # the stub's types are those of asyncio
        intake: Any = ResultIntakeServiceStub(untyped)

        def counts(match: str, *people: str, ended: int = ENDED) -> None:
            seats = [seat(player, place) for place, player in enumerate(people, 1)]
            intake.ReportResult(report(match, seats, ended=timestamp(ended)), metadata=(credential,), timeout=20)

        yield counts


def exported(ctl: Command, *words: str) -> list[dict[str, Any]]:
    ran = ctl("export-history", FAMILY, *words)
    assert ran.code == 0, ran
    return [json.loads(line) for line in ran.out.splitlines()]


def test_a_voided_match_stays_in_the_history_marked_and_counts_for_nobody(
    ctl: Command, stack: Stack, count: Count
) -> None:
    count("m_void", "p_vera", "p_viktor")
    done = ctl.done("void-match", "m_void", "--why", "a fault", "--yes")
    assert (done["recomputed"], done["repeated_void"]) == (True, False)
    assert ctl.done("void-match", "m_void", "--why", "again", "--yes")["repeated_void"]
    [match] = [match for match in exported(ctl) if match["match_id"] == "m_void"]
    assert match["voided"]
    parts = [json.loads(line) for line in ctl("export-player", "p_vera").out.splitlines()]
    assert [part["statistics"].get("wins", 0) for part in parts if "statistics" in part] == [0] or not any(
        "statistics" in part for part in parts
    )
    assert audited(stack, "void match")[0]["why"] == "a fault"
    assert ctl.done("audit", FAMILY)["differences"] == 0


def test_an_audit_that_finds_something_says_so_by_its_exit_code(ctl: Command, stack: Stack, count: Count) -> None:
    count("m_audited", "p_ann", "p_bob")
    with Redis.from_url(stack.redis_url) as raw:
        (board,) = raw.scan_iter(f"*{{family:{FAMILY}}}:g*:board:all", count=10_000)
        entrant = raw.zrange(board, 0, 0)[0]
        raw.zincrby(board, 1, entrant)
        try:
            ran = ctl("audit", FAMILY)
        finally:
            raw.zincrby(board, -1, entrant)
    assert (ran.code, ran.reason) == (4, "FAULTS")
    assert f"line of entrant {entrant.decode()} on the board all" in ran.out
    assert ctl("audit", FAMILY).code == 0


def test_what_never_was_cannot_be_voided(ctl: Command) -> None:
    assert ctl.refused("void-match", "m_never", "--why", "x", "--yes") == "MATCH_NOT_FOUND"
    assert ctl.refused("void-match", "", "--why", "x", "--yes") == "INVALID_FIELD"
    assert ctl.refused("void-match", "m_never", "--why", "x" * 201, "--yes") == "INVALID_FIELD"
    ran = ctl("void-match", "m_never", "--why", "x")
    assert (ran.code, ran.reason) == (5, "NOT_CONFIRMED")
    assert ctl.refused("audit", "skat") == "UNKNOWN_FAMILY"


def test_a_result_that_is_not_dead_can_be_neither_sent_again_nor_dropped(ctl: Command) -> None:
    assert ctl.done("dead-results") == []
    assert ctl.done("retry-results")["matches"] == []
    assert ctl.refused("retry-results", "m_never") == "MATCH_NOT_FOUND"
    assert ctl.refused("drop-result", "m_never", "--why", "x", "--yes") == "MATCH_NOT_FOUND"
    assert ctl.refused("drop-result", "", "--why", "x", "--yes") == "INVALID_FIELD"
    assert ctl.refused("drop-result", "m_never", "--why", "", "--yes") == "INVALID_FIELD"
    ran = ctl("drop-result", "m_never", "--why", "x")
    assert (ran.code, ran.reason) == (5, "NOT_CONFIRMED")


def test_one_season_runs_at_a_time_and_ends_for_good(ctl: Command, stack: Stack) -> None:
    family = "tranca"
    assert ctl.done("seasons", family) == []
    opened = ctl.done("open-season", family, "2027-spring", "Spring")
    assert (opened["season"], opened["name"], opened["closed"]) == ("2027-spring", "Spring", "")
    assert ctl.done("open-season", family, "2027-spring", "Spring") == opened, "a repeat changes nothing"
    assert ctl.refused("open-season", family, "2027-autumn", "Autumn") == "SEASON_RUNNING"
    ran = ctl("close-season", family, "2027-spring")
    assert (ran.code, ran.reason) == (5, "NOT_CONFIRMED")
    closed = ctl.done("close-season", family, "2027-spring", "--yes")
    assert closed["closed"]
    assert ctl.done("seasons", family) == [closed]
    assert ctl.refused("open-season", family, "2027-spring", "Spring") == "SEASON_RUNNING"
    assert [audited(stack, f"{what} season")[-1]["season"] for what in ("open", "close")] == ["2027-spring"] * 2


def test_seasons_with_bad_names_or_of_no_family_are_refused(ctl: Command) -> None:
    assert ctl.refused("open-season", "skat", "s", "S") == "UNKNOWN_FAMILY"
    assert ctl.refused("open-season", "uno", "Spring!", "S") == "INVALID_FIELD"
    assert ctl.refused("open-season", "uno", "spring", "") == "INVALID_FIELD"
    assert ctl.refused("close-season", "uno", "never", "--yes") == "SEASON_NOT_FOUND"
    assert ctl.refused("close-season", "skat", "never", "--yes") == "UNKNOWN_FAMILY"
    assert ctl.refused("seasons", "skat") == "UNKNOWN_FAMILY"


def test_the_history_is_exported_line_by_line_in_the_order_in_which_it_was_counted(
    ctl: Command, stack: Stack, count: Count, tmp_path: Path
) -> None:
    names = [f"m_export_{number}" for number in range(105)]
    for number, name in enumerate(names):
        count(name, "p_hanna", "p_hugo", ended=ENDED + 3_600_000 + number * SECOND_MS)
    found = [match for match in exported(ctl) if match["match_id"] in names]
    assert [match["match_id"] for match in found] == names
    assert [each["player_id"] for each in found[0]["seats"]] == ["p_hanna", "p_hugo"]
    file = tmp_path / "history.jsonl"
    assert ctl("export-history", FAMILY, "--out", str(file)).out == ""
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert [match["match_id"] for match in lines if match["match_id"] in names] == names
    since, until = found[2]["ended"], found[4]["ended"]
    assert [m["match_id"] for m in exported(ctl, "--since", since, "--until", until)] == names[2:4]
    assert audited(stack, "export history")[-1]["family"] == FAMILY


def test_a_history_of_nothing_or_for_no_time_is_refused(ctl: Command) -> None:
    assert ctl.refused("export-history", "skat") == "UNKNOWN_FAMILY"
    assert ctl.refused("export-history", "uno", "--since", "2026-01-02", "--until", "2026-01-01") == "INVALID_FIELD"
    assert ctl("export-history", "uno", "--since", "yesterday").code == 2
    ran = ctl("export-history", "uno")
    assert (ran.code, ran.out) == (0, "")
