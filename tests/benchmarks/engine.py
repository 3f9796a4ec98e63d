"""How fast the games are played, beside RLCard's UNO and OpenSpiel's crazy eights in the same run.

Random legal play in place, one thread. A decision is one action of one seat (a play, draw, pass or answer), listing its
legal actions included; deals are in the time and not counted. Time is CPU time of the process that plays, with caches
warm and the garbage collector set as the authority sets it. Each
repetition measures RLCard right before and after each of our tables, and a ratio is to the mean of the two, so that
what else the machine does weighs on both; its median is quoted.
"""

from __future__ import annotations

import argparse
import datetime
import gc
import json
import random
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any, Final, NamedTuple

from services.rules import engine
from services.rules.cards import Card
from services.rules.ruleset import Ruleset, make_ruleset
from tests.benchmarks import machine, results
from tests.benchmarks.other_engines import NotInstalledError, OtherEngines


class Table(NamedTuple):
    """What is played, and how many times RLCard's speed with as many players it should reach at least."""

    preset: str
    seats: int
    least: float | None = None


TABLES: Final = (
    Table("mau-mau-32", 2, 1.5),
    Table("mau-mau-32", 4, 1.5),
    Table("mau-mau-brasil", 4, 1.5),
    Table("uno-mattel", 2, 1.5),
    Table("uno-mattel", 4, 1.5),
    Table("uno", 4),
    Table("uno-casa", 4),
    Table("tranca", 4, 0.5),
    Table("tranca-jogatina", 4, 0.5),
)
BESIDE: Final = (("rlcard round", 4), ("spiel", 2), ("spiel", 4))
"""Also measured, for the record: RLCard below its state dictionaries, and OpenSpiel's crazy eights through Python."""

LONGEST: Final = 5_000
WARM_UP_SECONDS: Final = 2.0


@dataclass(frozen=True)
class Row:
    """Decisions per second, and ratios to RLCard's `UnoGame.step` with as many players: least, median, most."""

    name: str
    seats: int
    per_second: float
    ratios: tuple[float, float, float]
    least: float | None = None

    @property
    def holds(self) -> bool:
        return self.least is None or self.ratios[1] >= self.least


def main(words: Sequence[str]) -> int:
    """Measures, prints a table and, unless it was a quick run, keeps it. Exit code 1 where a table is too slow, 3
    where the other engines cannot be had."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks engine", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="each table once, for a second; keeps nothing")
    parser.add_argument("--seconds", type=float, help="of each measurement (1; quick: 0.5)")
    parser.add_argument("--repeats", type=int, help="of everything (5; quick: 1)")
    chosen = parser.parse_args(words)
    seconds, repeats = chosen.seconds or (0.5 if chosen.quick else 1.0), chosen.repeats or (1 if chosen.quick else 5)
    try:
        others = OtherEngines()
    except NotInstalledError as reason:
        print(reason, file=sys.stderr)
        return 3
    with others:
        rows = _measured(others, seconds, repeats)
    facts = machine.facts()
    print(_table(facts, rows))
    if not chosen.quick:
        print(f"kept in {_keep(facts, rows)}")
    return 0 if all(row.holds for row in rows) else 1


def _measured(others: OtherEngines, seconds: float, repeats: int) -> list[Row]:
    rulesets = {table.preset: make_ruleset(table.preset) for table in TABLES}
    for table in TABLES:
        decisions_per_second(rulesets[table.preset], table.seats, WARM_UP_SECONDS, seed=0)
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)
    rates: dict[tuple[str, int], list[tuple[float, float]]] = {}
    for repeat in range(1, repeats + 1):
        for table in TABLES:
            before = others.decisions_per_second("rlcard", table.seats, seconds / 2)
            rate = decisions_per_second(rulesets[table.preset], table.seats, seconds, seed=repeat)
            after = others.decisions_per_second("rlcard", table.seats, seconds / 2)
            rates.setdefault((table.preset, table.seats), []).append((rate, rate * 2 / (before + after)))
            rates.setdefault(("RLCard UnoGame.step", table.seats), []).append(((before + after) / 2, 1.0))
        for name, players in BESIDE:
            rlcard = others.decisions_per_second("rlcard", players, seconds / 2)
            rate = others.decisions_per_second(name, players, seconds / 2)
            title = {"spiel": "OpenSpiel crazy_eights", "rlcard round": "RLCard UnoRound"}[name]
            rates.setdefault((title, players), []).append((rate, rate / rlcard))
    least = {(table.preset, table.seats): table.least for table in TABLES}
    return [_row(name, seats, seen, least.get((name, seats))) for (name, seats), seen in rates.items()]


def _row(name: str, seats: int, seen: list[tuple[float, float]], least: float | None) -> Row:
    ratios = [ratio for _, ratio in seen]
    return Row(name, seats, median(rate for rate, _ in seen), (min(ratios), median(ratios), max(ratios)), least)


def decisions_per_second(ruleset: Ruleset, seats: int, seconds: float, seed: int) -> float:
    """Random rounds one after the other, each from a new deal."""
    rng, decisions = random.Random(seed), 0
    shuffler = OneGenerator(rng)
    began = time.process_time()
    while time.process_time() - began < seconds:
        decisions += _play_round(ruleset, seats, shuffler, rng)
    return decisions / (time.process_time() - began)


class OneGenerator:
    """Shuffles from one generator, as the other engines do."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def shuffle(self, cards: Sequence[Card], round_: int, counter: int) -> list[Card]:
        order = list(cards)
        self.rng.shuffle(order)
        return order


def _play_round(ruleset: Ruleset, seats: int, shuffler: OneGenerator, rng: random.Random) -> int:
    game, chance = engine.game_of(ruleset), rng.random
    state = game.new_match(ruleset, seats, 0, shuffler).state
    legal_actions, advance, must_act = game.legal_actions, game.advance, game.must_act
    for decisions in range(LONGEST):
        waited_for = must_act(state)
        if not waited_for:
            return decisions
        seat = waited_for[0]
        actions = legal_actions(state, seat)
        advance(state, seat, actions[int(chance() * len(actions))], shuffler, None)
    return LONGEST


def _table(facts: dict[str, Any], rows: list[Row]) -> str:
    lines = [
        f"{facts['machine']}; Python {facts['python']}; commit {facts['commit']}"
        f"{' with changes' if facts['changed'] else ''}; load {facts['load_before']:.1f}",
        "",
        "| rules | seats | decisions/s | to RLCard's UnoGame.step (range) | to reach | |",
        "| --- | ---: | ---: | --- | ---: | --- |",
    ]
    for row in rows:
        low, middle, high = row.ratios
        verdict = "" if row.least is None else "reached" if row.holds else "TOO SLOW"
        ratio = f"{middle:.2f} ({low:.2f} to {high:.2f})"
        lines.append(f"| {row.name} | {row.seats} | {row.per_second:,.0f} | {ratio} | {row.least or ''} | {verdict} |")
    return "\n".join(lines)


def _keep(facts: dict[str, Any], rows: list[Row]) -> str:
    """Writes `engine-<date>-<commit>`, as JSON and as a table; the table's path."""
    now = datetime.datetime.now(datetime.UTC)
    stem = results.FOLDER / f"engine-{now:%Y-%m-%d-%H%M}-{facts['commit']}"
    record = {"date": now.isoformat(timespec="seconds"), **facts, "rows": [asdict(row) for row in rows]}
    stem.with_suffix(".json").write_text(json.dumps(record, indent=1) + "\n")
    stem.with_suffix(".md").write_text(f"{now:%Y-%m-%d %H:%M} UTC. {_table(facts, rows)}\n")
    return str(stem.with_suffix(".md"))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
