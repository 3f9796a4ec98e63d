"""`python -m tests.simulation`: run seeds, report those that break a promise, and trace one.

python -m tests.simulation --seeds 10000        as many, over all cores
python -m tests.simulation --seed 4711          one, with its trace
python -m tests.simulation --off mark-compare   a control: it must find something
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import islice

from tests.simulation.protections import Protection
from tests.simulation.world import Outcome, simulate


def main() -> int:
    """0 if no promise was broken (with `--off`: if one was), else 1."""
    options = _options()
    off = None if options.off is None else Protection(options.off)
    if options.seed is not None:
        outcome = simulate(options.seed, off)
        print("\n".join(outcome.trace))
        _tell(outcome)
        return int(bool(outcome.violations) is (off is None))
    broken = _run(range(options.first, options.first + options.seeds), options.jobs, off)
    return int(broken > 0) if off is None else int(broken == 0)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description="Simulate the authority.")
    parser.add_argument("--seed", type=int, help="run this one and print its trace")
    parser.add_argument("--seeds", type=int, default=1_000, help="how many (default 1000)")
    parser.add_argument("--first", type=int, default=0, help="the first of them (default 0)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes (default: one a core)")
    parser.add_argument("--off", choices=[each.value for each in Protection], help="switch a protection off")
    return parser.parse_args()


def _run(seeds: Iterable[int], jobs: int, off: Protection | None) -> int:
    began, commits, done, broken = time.perf_counter(), 0, 0, []
    for outcome in _outcomes(seeds, jobs, off):
        done, commits = done + 1, commits + outcome.commits
        if outcome.violations:
            broken.append(outcome.seed)
            _tell(outcome)
        if done % 500 == 0:
            print(f"{done} seeds, {len(broken)} broken, {time.perf_counter() - began:.0f} s", flush=True)
    seconds = time.perf_counter() - began
    print(f"{done} seeds, {commits} commits, {seconds:.0f} s; {len(broken)} broken: {broken[:50]}")
    return len(broken)


def _outcomes(seeds: Iterable[int], jobs: int, off: Protection | None) -> Iterator[Outcome]:
    if jobs == 1:
        yield from map(partial(_untraced, off=off), seeds)
        return
    with ProcessPoolExecutor(jobs) as pool:
        rest = iter(seeds)
        while chunk := list(islice(rest, 200)):
            yield from pool.map(partial(_untraced, off=off), chunk, chunksize=5)


def _untraced(seed: int, off: Protection | None) -> Outcome:
    return simulate(seed, off)._replace(trace=[])


def _tell(outcome: Outcome) -> None:
    for violation in outcome.violations[:5]:
        print(f"seed {outcome.seed}: {violation}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
