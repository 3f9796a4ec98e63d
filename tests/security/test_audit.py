"""`make security` says what it found, what it did not find and what it could not ask, and its exit code tells them
apart. Stand-ins answer for pip-audit, bandit and the tests."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import pytest

ROOT: Final = Path(__file__).parents[2]
HOLE: Final = {"id": "GHSA-1", "aliases": ["CVE-2026-1"], "fix_versions": ["2.0"]}
CLEAN: Final = {"name": "redis", "version": "1.0", "vulns": []}
HOLED: Final = {"name": "redis", "version": "1.0", "vulns": [HOLE]}
UNKNOWN: Final = {"name": "cffi", "skip_reason": "not found"}


def today() -> date:
    return datetime.now(UTC).date()


class Tools:
    """A folder of stand-ins; `answer` is pip-audit's, None for a service that cannot be reached."""

    def __init__(self, folder: Path, answer: list[dict[str, Any]] | None, *, bandit: int = 0, tests: int = 0) -> None:
        self._folder = folder
        content = json.dumps({"dependencies": answer})
        self._write("bandit", f"exit {bandit}")
        self._write("python", f'case "$1" in -m) exit {tests};; *) exec {sys.executable} "$@";; esac')
        if answer is None:
            self._write("pip-audit", "echo 'ConnectionError: no route' >&2; exit 1")
        else:
            self._write("pip-audit", f"while [ $1 != -o ]; do shift; done; echo '{content}' >$2; exit 1")

    def _write(self, name: str, script: str) -> None:
        path = self._folder / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    def run(self, waivers: str = "", **environ: str) -> tuple[int, list[str]]:
        """Exit code of `tools/security` and its last three lines."""
        (self._folder / "waivers").write_text(waivers)
        known = {"BIN": str(self._folder), "WAIVERS": str(self._folder / "waivers"), "PATH": os.environ["PATH"]}
        ended = subprocess.run(
            [ROOT / "tools" / "security"], env={**known, **environ}, capture_output=True, text=True, timeout=60
        )
        assert not ended.stderr
        return ended.returncode, ended.stdout.splitlines()[-3:]


@pytest.mark.parametrize(
    ("answer", "code", "verdict"),
    [
        ([CLEAN], 0, "no known hole"),
        ([CLEAN, HOLED], 1, "KNOWN HOLES"),
        ([UNKNOWN, HOLED], 1, "KNOWN HOLES"),
        ([CLEAN, UNKNOWN], 2, "NOT KNOWN"),
        ([], 2, "NOT KNOWN"),
        (None, 2, "NOT KNOWN"),
    ],
    ids=["clean", "holed", "holed and unknown", "unknown", "empty", "unreachable"],
)
def test_holes_no_holes_and_not_knowing_are_told_apart(tmp_path: Path, answer: Any, code: int, verdict: str) -> None:
    ended, told = Tools(tmp_path, answer).run()
    assert ended == code
    assert verdict in told[1]
    assert (told[0].split()[-2:], told[2].split()[-1]) == (["nothing", "found"], "passed"), "the rest ran, too"


@pytest.mark.parametrize("failing", ["bandit", "tests"])
def test_what_the_other_checks_find_counts_though_the_advisories_cannot_be_asked(tmp_path: Path, failing: str) -> None:
    codes: dict[str, Any] = {failing: 1}
    ended, told = Tools(tmp_path, None, **codes).run()
    assert ended == 1
    assert "NOT KNOWN" in told[1]


def test_without_a_network_the_audit_can_be_left_out_on_purpose(tmp_path: Path) -> None:
    ended, told = Tools(tmp_path, None).run(OFFLINE="1")
    assert (ended, "left out" in told[1]) == (0, True)


@pytest.mark.parametrize(
    ("hole", "days", "why", "code"),
    [
        ("GHSA-1", 1, "it does not reach us", 0),
        ("GHSA-1", 0, "it does not reach us", 0),
        ("CVE-2026-1", 1, "it does not reach us", 0),
        ("GHSA-1", -1, "it did not reach us", 1),
        ("GHSA-1", 101, "for good", 1),
        ("GHSA-1", 1, "", 1),
        ("GHSA-2", 1, "another one", 1),
    ],
    ids=["valid", "on its last day", "by another name", "run out", "too long", "without a reason", "of another hole"],
)
def test_a_hole_is_passed_over_for_a_reason_and_a_while(
    tmp_path: Path, hole: str, days: int, why: str, code: int
) -> None:
    tools, day = Tools(tmp_path, [HOLED]), None
    while day != today():  # not over midnight
        day = today()
        ended, _ = tools.run(f"# a comment\n\n{hole} {day + timedelta(days=days)} {why}\n")
    assert ended == code


def test_no_waiver_of_this_release_has_run_out_or_reaches_far_or_says_nothing() -> None:
    for line in (ROOT / "tools" / "waivers").read_text().splitlines():
        if line and not line.startswith("#"):
            _, until, why = line.split(maxsplit=2)
            assert today() <= date.fromisoformat(until) <= today() + timedelta(days=90), line
            assert len(why) >= 20, line
