"""Figures for people and for the record: a table, and files in `results/`, one a run."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any, Final

FOLDER: Final = Path(__file__).with_name("results")

_HEAD: Final = """\
| rooms | shape | think s | who | actions/s | p50 ms | p99 ms | server µs | redis µs | CPU ratio (range) | p50 ratio \
| p99 ratio | clients, cores | others, cores |
| ---: | --- | ---: | --- | ---: | ---: | ---: | ---: | ---: | --- | ---: | ---: | ---: | ---: |"""


def heading(facts: dict[str, Any]) -> str:
    """What was measured where, and the head of the table. µs are of CPU for one accepted action; a ratio is to the
    sketch of the same repetition."""
    libraries = ", ".join(f"{name} {version}" for name, version in facts["libraries"].items())
    commit = facts["commit"] + (" with changes" if facts["changed"] else "")
    return (
        f"{facts['machine']}; Python {facts['python']}; {libraries}; {facts['redis']}; commit {commit}; "
        f"load before {facts['load_before']:.1f}\n\n{_HEAD}"
    )


def line(row: dict[str, Any]) -> str:
    """One row of the table."""
    ratios = row["ratios"]
    cpu = "1" if ratios is None else "{1} ({0} to {2})".format(*ratios["cpu"])
    delays = ("1", "1") if ratios is None else (ratios["p50"][1], ratios["p99"][1])
    cells = [
        row["rooms"],
        row["shape"],
        f"{row['think']:g}",
        row["subject"],
        row["actions_per_second"],
        row["p50_ms"],
        row["p99_ms"],
        row["cpu_us"]["server"],
        row["cpu_us"]["redis"],
        cpu,
        *delays,
        row["client_cores"],
        row["other_cores"],
    ]
    return "| " + " | ".join(map(str, cells)) + " |"


def keep(name: str, facts: dict[str, Any], rows: list[dict[str, Any]]) -> Path:
    """Writes `<name>-<date>-<commit>`, as JSON and as a table; the table's path."""
    now = datetime.datetime.now(datetime.UTC)
    FOLDER.mkdir(exist_ok=True)
    stem = FOLDER / f"{name}-{now:%Y-%m-%d-%H%M}-{facts['commit']}"
    record = {"date": now.isoformat(timespec="seconds"), **facts, "rows": rows}
    stem.with_suffix(".json").write_text(json.dumps(record, indent=1) + "\n")
    table = stem.with_suffix(".md")
    table.write_text(f"{now:%Y-%m-%d %H:%M} UTC. {heading(facts)}\n" + "\n".join(map(line, rows)) + "\n")
    return table
