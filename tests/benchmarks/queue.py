"""The queue: a simulated day of 10,000 players through the real matching and a real Redis, beside the same day with
those first who came first; and how many tickets one matching process takes in a second.

    make bench queue [ARGS="--part day --players 10000 --seed 1 --keep"]

To reach: the spread of ratings in a match (median) at most half of the baseline's, the wait (p95) at most twice, nobody
left behind; 1,000 tickets a second on at most one core."""

from __future__ import annotations

import argparse
import asyncio
import datetime
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from services.runtime.key_folder import prepare_key_folder
from tests.benchmarks import machine, results
from tests.benchmarks.queueing.arrivals import Arrival, arrivals
from tests.benchmarks.queueing.day import plain_day, real_day
from tests.benchmarks.queueing.first_come import propose
from tests.benchmarks.queueing.speed import measure_speed
from tests.servers import kinds, running

ROUND_MS: Final = 2_000
SPREAD_RATIO: Final = 0.5
WAIT_RATIO: Final = 2.0
TICKETS_PER_SECOND: Final = 1_000


def compare(url: str, prefix: str, keys_dir: Path, coming: Sequence[Arrival], round_ms: int) -> dict[str, Any]:
    """Both ways on the same tickets, and what is not reached."""
    began = time.perf_counter()
    ours = asyncio.run(real_day(url, prefix, keys_dir, coming, round_ms)).figures()
    first_come = plain_day(coming, propose, round_ms).figures()
    ratios = {
        "spread": round(ours["spread_median"] / first_come["spread_median"], 3),
        "wait_p95": round(ours["wait_p95_s"] / first_come["wait_p95_s"], 3),
    }
    missed = [
        sentence
        for is_missed, sentence in (
            (ratios["spread"] > SPREAD_RATIO, f"the spread is {ratios['spread']} of the baseline's"),
            (ratios["wait_p95"] > WAIT_RATIO, f"the longest waits are {ratios['wait_p95']} times the baseline's"),
            (ours["left_behind"] > 0, f"{ours['left_behind']} tickets were left behind"),
            (ours["overdue_max_s"] * 1000 > round_ms, f"a ticket waited {ours['overdue_max_s']} s beyond its patience"),
        )
        if is_missed
    ]
    return {
        "tickets": len(coming),
        "took_s": round(time.perf_counter() - began, 1),
        "ours": ours,
        "first_come": first_come,
        "ratios": ratios,
        "missed": missed,
    }


def main(words: Sequence[str]) -> int:
    """Measures, prints, and with `--keep` writes the records; 1 if something is not reached."""
    options = _options(words)
    missed = list[str]()
    with running(kinds()[0]) as server, tempfile.TemporaryDirectory() as keys:
        prepare_key_folder(Path(keys))
        if options.part in ("day", "both"):
            facts = machine.facts()
            day = compare(server.url, "day", Path(keys), arrivals(options.players, options.seed), ROUND_MS)
            day = {"players": options.players, "seed": options.seed, **day}
            _tell("queue-day", facts, day_table(day), day, keep=options.keep)
            missed += day["missed"]
        if options.part in ("speed", "both"):
            facts = machine.facts()
            speed = measure_speed(server.url, Path(keys), TICKETS_PER_SECOND, options.seconds)
            _tell("queue-speed", facts, _speed_line(speed), speed, keep=options.keep)
            missed += speed["missed"]
    for sentence in missed:
        print(f"not reached: {sentence}", file=sys.stderr)
    return 1 if missed else 0


def _options(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench queue", description=__doc__)
    parser.add_argument("--part", choices=("day", "speed", "both"), default="both")
    parser.add_argument("--players", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=10.0, help="how long tickets come for the speed")
    parser.add_argument("--keep", action="store_true", help="write the records into tests/benchmarks/results")
    return parser.parse_args(words)


def day_table(day: dict[str, Any]) -> str:
    """A day for people."""
    rows = "".join(f"| {name} | {value} | {day['first_come'][name]} |\n" for name, value in day["ours"].items())
    return (
        f"A day of {day['players']} players, {day['tickets']} tickets, seed {day['seed']}: spread "
        f"{day['ratios']['spread']} and p95 of the wait {day['ratios']['wait_p95']} of first come, first served.\n\n"
        f"| figure | ours | first come |\n| --- | ---: | ---: |\n{rows}"
    )


def _speed_line(speed: dict[str, Any]) -> str:
    return (
        f"{speed['opened']} tickets in {speed['seconds']} s, {speed['matched']} matched by then: "
        f"the rounds of one matching process took {speed['cores']} cores.\n"
    )


def _tell(name: str, facts: dict[str, Any], text: str, figures: dict[str, Any], *, keep: bool) -> None:
    commit = facts["commit"] + (" with changes" if facts["changed"] else "")
    head = f"{facts['machine']}; Python {facts['python']}; commit {commit}; load {facts['load_before']:.1f}"
    print(f"{head}\n\n{text}")
    if keep:
        now = datetime.datetime.now(datetime.UTC)
        stem = results.FOLDER / f"{name}-{now:%Y-%m-%d-%H%M}-{facts['commit']}"
        record = {"date": now.isoformat(timespec="seconds"), **facts, **figures}
        stem.with_suffix(".json").write_text(json.dumps(record, indent=1) + "\n")
        stem.with_suffix(".md").write_text(f"{now:%Y-%m-%d %H:%M} UTC. {head}\n\n{text}")


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
