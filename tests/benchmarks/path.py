"""The path of an action: rooms of four clients through the server, beside a sketch of the bare path in the same run.

Each repetition measures the sketch, then the server at the authority's own port and through Envoy, on the same Redis
(AOF every second), one right after the other; a ratio is taken within a repetition and its median is quoted. Whatever
else the machine does meanwhile is told as `others`, in cores.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final

from services.local.stack import Stack
from tests.benchmarks import machine, results
from tests.benchmarks.subjects import measure_server, measure_sketch, running_stack, write_profile

LIMIT: Final = {"play": 2.0}
"""A two-way stream should cost the server at most so many times the CPU of its sketch, with nobody thinking."""


@dataclass(frozen=True)
class Case:
    """What is compared: `rooms` of four, the `shape` of their calls (play; act, with Watch), the kind of `players`
    (sdk, or stream: the least that a client can do), and whether also through Envoy."""

    rooms: int
    shape: str
    players: str
    envoy: bool


FULL: Final = (
    Case(50, "play", "sdk", envoy=True),
    Case(50, "play", "stream", envoy=False),
    Case(50, "act", "sdk", envoy=True),
    Case(200, "play", "sdk", envoy=True),
    Case(200, "play", "stream", envoy=False),
    Case(200, "act", "sdk", envoy=True),
)
QUICK: Final = (Case(50, "play", "sdk", envoy=True), Case(50, "play", "stream", envoy=False))


def main(words: Sequence[str]) -> int:
    """Measures, prints a table and, unless it was a quick run, keeps it. Exit code 1 where a limit does not hold."""
    chosen = _parser().parse_args(words)
    cases = [case for case in (QUICK if chosen.quick else FULL) if chosen.rooms in (None, case.rooms)]
    repeats, seconds = chosen.repeats or (1 if chosen.quick else 3), chosen.seconds or (3.0 if chosen.quick else 4.0)
    facts = machine.facts()
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as var_dir, running_stack(Path(var_dir), chosen.profile) as stack:
        facts["redis"] = f"{stack.redis_label}, appendfsync everysec"
        print(results.heading(facts))
        for case in cases:
            for row in _rows(case, _measure(stack, case, repeats, seconds)):
                print(results.line(row), flush=True)
                rows.append(row)
        if chosen.profile:
            write_profile(stack, chosen.profile)
    if not chosen.quick or chosen.keep:
        print(f"kept in {results.keep('path', facts, rows)}")
    return 0 if _within_limits(rows) else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks path", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="50 rooms, two-way stream, once; keeps nothing")
    parser.add_argument("--rooms", type=int, help="only the cases with so many rooms")
    parser.add_argument("--repeats", type=int, help="repetitions of each case (3; quick: 1)")
    parser.add_argument("--seconds", type=float, help="length of each window (4; quick: 3)")
    parser.add_argument("--keep", action="store_true", help="keep the figures of a quick run too")
    parser.add_argument("--profile", type=Path, help="also sample the authority's stack into this file")
    return parser


Runs = dict[str, list[list[dict[str, Any]]]]
"""By subject (sketch, port, Envoy): of each repetition the figures of each think time."""


def _measure(stack: Stack, case: Case, repeats: int, seconds: float) -> Runs:
    load: dict[str, Any] = {"rooms": case.rooms, "thinks": [0.0, 1.0], "seconds": seconds}
    runs: Runs = {"sketch": [], "port": []}
    for _ in range(repeats):
        runs["sketch"].append(measure_sketch(stack, case.shape, **load))
        runs["port"].append(measure_server(stack, case.players, case.shape, through_envoy=False, **load))
        if case.envoy:
            through = measure_server(stack, case.players, case.shape, through_envoy=True, **load)
            runs.setdefault("Envoy", []).append(through)
    return runs


def _rows(case: Case, runs: Runs) -> Iterator[dict[str, Any]]:
    """One row for each think time and subject."""
    for window in range(len(runs["sketch"][0])):
        base = [repetition[window] for repetition in runs["sketch"]]
        for subject, repetitions in runs.items():
            found = [repetition[window] for repetition in repetitions]
            yield {
                "rooms": case.rooms,
                "shape": case.shape,
                "think": found[0]["think"],
                "subject": "sketch" if subject == "sketch" else f"{case.players}, {subject}",
                **{name: _middle([one[name] for one in found]) for name in ("actions_per_second", "p50_ms", "p99_ms")},
                "cpu_us": {name: _middle([one["cpu_us"][name] for one in found]) for name in found[0]["cpu_us"]},
                "ratios": None if subject == "sketch" else _ratios(found, base),
                **{name: _middle([one[name] for one in found]) for name in ("client_cores", "other_cores")},
                "refused": [one["refused"] for one in found if one["refused"]],
            }


def _ratios(found: list[dict[str, Any]], base: list[dict[str, Any]]) -> dict[str, list[float]]:
    """Least, median and greatest ratio to the sketch of the same repetition."""
    pairs = list(zip(found, base, strict=True))
    return {
        "cpu": _spread([one["cpu_us"]["server"] / other["cpu_us"]["server"] for one, other in pairs]),
        "p50": _spread([one["p50_ms"] / other["p50_ms"] for one, other in pairs]),
        "p99": _spread([one["p99_ms"] / other["p99_ms"] for one, other in pairs]),
    }


def _spread(values: list[float]) -> list[float]:
    return [round(value, 2) for value in (min(values), median(values), max(values))]


def _middle(values: list[float | None]) -> float | None:
    """The median; None where nothing was seen."""
    known = [value for value in values if value is not None]
    return round(median(known), 2) if known else None


def _within_limits(rows: list[dict[str, Any]]) -> bool:
    """Whether the server's CPU keeps to its limits at its own port; says so where it does not."""
    kept = True
    for row in rows:
        limit = LIMIT.get(row["shape"])
        if limit is None or row["think"] or row["ratios"] is None or "Envoy" in row["subject"]:
            continue
        if (ratio := row["ratios"]["cpu"][1]) > limit:
            print(
                f"{row['rooms']} rooms, {row['shape']}, {row['subject']}: {ratio} times the sketch's CPU, not {limit}"
            )
            kept = False
    return kept
