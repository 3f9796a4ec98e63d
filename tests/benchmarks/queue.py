"""The queue: a simulated day of 10,000 players through the real matching and a real Redis, beside the same day with
those first who came first; and how many tickets one matching process takes in a second.

    make bench queue [ARGS="--players 10000 --seed 1 --seconds 20 --keep"]

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
    """Measures, prints, and with `--keep` writes the record; 1 if something is not reached."""
    options = _options(words)
    facts = machine.facts()
    with running(kinds()[0]) as server, tempfile.TemporaryDirectory() as keys:
        prepare_key_folder(Path(keys))
        day = compare(server.url, "day", Path(keys), arrivals(options.players, options.seed), ROUND_MS)
        speed = measure_speed(server.url, Path(keys), TICKETS_PER_SECOND, options.seconds)
    text = _table(facts, options, day, speed)
    print(text)
    if options.keep:
        _keep(facts, text, {"players": options.players, "seed": options.seed, "day": day, "speed": speed})
    missed = [*day["missed"], *speed["missed"]]
    for sentence in missed:
        print(f"not reached: {sentence}", file=sys.stderr)
    return 1 if missed else 0


def _options(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench queue", description=__doc__)
    parser.add_argument("--players", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=20.0, help="how long tickets come for the speed")
    parser.add_argument("--keep", action="store_true", help="write the record into tests/benchmarks/results")
    return parser.parse_args(words)


def _table(facts: dict[str, Any], options: argparse.Namespace, day: dict[str, Any], speed: dict[str, Any]) -> str:
    commit = facts["commit"] + (" with changes" if facts["changed"] else "")
    head = (
        f"{facts['machine']}; Python {facts['python']}; commit {commit}; load {facts['load_before']:.1f}\n\n"
        f"A day of {options.players} players, {day['tickets']} tickets, seed {options.seed}: "
        f"spread {day['ratios']['spread']} and p95 of the wait {day['ratios']['wait_p95']} of those of first come, "
        f"first served.\n"
        f"\n| figure | ours | first come |\n| --- | ---: | ---: |\n"
    )
    rows = "".join(f"| {name} | {value} | {day['first_come'][name]} |\n" for name, value in day["ours"].items())
    return (
        f"{head}{rows}\n{speed['matched']} of {speed['opened']} tickets matched in {speed['seconds']} s, "
        f"{speed['per_second']} a second, by one matchmaking process on {speed['cores']} cores.\n"
    )


def _keep(facts: dict[str, Any], text: str, record: dict[str, Any]) -> None:
    now = datetime.datetime.now(datetime.UTC)
    stem = results.FOLDER / f"queue-{now:%Y-%m-%d-%H%M}-{facts['commit']}"
    whole = {"date": now.isoformat(timespec="seconds"), **facts, **record}
    stem.with_suffix(".json").write_text(json.dumps(whole, indent=1) + "\n")
    stem.with_suffix(".md").write_text(f"{now:%Y-%m-%d %H:%M} UTC. {text}")


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
