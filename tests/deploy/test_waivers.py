"""Known holes in dependencies are waived with a reason, and not for long."""

from __future__ import annotations

import datetime
import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TODAY = datetime.datetime.now(datetime.UTC).date()


def test_no_waiver_has_run_out_or_reaches_far_or_says_nothing() -> None:
    for line in (ROOT / "tools" / "waivers").read_text().splitlines():
        if line and not line.startswith("#"):
            _, until, why = line.split(maxsplit=2)
            assert TODAY <= datetime.date.fromisoformat(until) <= TODAY + datetime.timedelta(days=90), line
            assert len(why) >= 20, line


@pytest.mark.parametrize(("days", "passed_over"), [(0, True), (30, True), (-1, False)])
def test_a_waiver_counts_until_its_last_day(tmp_path: Path, days: int, passed_over: bool) -> None:
    waivers = tmp_path / "waivers"
    waivers.write_text(f"# why\n\nPYSEC-2026-1 {TODAY + datetime.timedelta(days=days)} we never parse such files\n")
    for name, script in (("bandit", "exit 0"), ("pip-audit", 'echo "asked with $*"; exit 1')):
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / name).chmod(0o755)
    environ = {**os.environ, "BIN": str(tmp_path), "WAIVERS": str(waivers)}
    ended = subprocess.run([ROOT / "tools" / "security"], env=environ, capture_output=True, text=True)
    assert ended.returncode == 1, "what else is found is still found"
    assert ("--ignore-vuln PYSEC-2026-1" in ended.stdout) is passed_over
    assert ("has run out" in ended.stderr) is not passed_over
