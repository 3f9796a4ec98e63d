"""How fast results are counted and places are read on full boards, and whether a long ledger gives the running state.

A pool of a million players with a board of all time, of a day, a week, a month and a season is written; then results of
four of them are counted and places with their neighbours read, one after the other, through the store as the service
uses it, from this process over a Unix socket. Percentiles are over single calls as their caller waits.

In another pool, matches of a few hundred players are counted as they come in, eight at a time, among them draws,
leavers and bots' turns; some are voided and the pool is recomputed; then the ledger is replayed beside what is stored.
"""

from __future__ import annotations

import argparse
import asyncio
import datetime
import gc
import json
import random
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Any, Final, NamedTuple

import msgspec
from maumau.internal.v1.result_intake_pb2 import ReportResultRequest, SeatCounts
from maumau.v1 import events_pb2, rules_pb2, scoring_pb2

from services.rules.registry import GAMES
from services.scoring.audit import Auditor
from services.scoring.counting import take
from services.scoring.periods import spans_of
from services.scoring.rebuilding import Rebuilder
from services.scoring.reports import read_report
from services.scoring.standings import BEGINNER, encode
from services.store.assembly import Store
from services.store.boards import ALL_TIME, WIN, Boards
from services.store.connect import StoreSettings
from services.store.keys import Entrant
from services.store.ledgers import Ledgers
from services.store.rebuilds import Rebuilds
from services.store.scoring import ScoringStore
from services.wire.times import timestamp
from tests.benchmarks import machine, results
from tests.servers import Kind, kinds, running

FULL, LONG = "uno", "mau-mau-32"
"""The pool with many players and the one with many matches."""
SEASON: Final = "bench"
MOST_P99_MS: Final = 2.0
_BATCH: Final = 2_000
_VOIDS: Final = 3


class Figures(NamedTuple):
    """Of one kind of call, in ms."""

    what: str
    calls: int
    p50: float
    p99: float
    slowest: float


def main(words: Sequence[str]) -> int:
    """Measures, prints and keeps. 1 if something was slower than it should be, or recomputation differed."""
    parser = argparse.ArgumentParser(prog="scoring")
    parser.add_argument("--players", type=int, default=1_000_000, help="lines on each board; 0 leaves boards out")
    parser.add_argument("--matches", type=int, default=100_000, help="matches in the long ledger; 0 leaves it out")
    parser.add_argument("--calls", type=int, default=5_000, help="measured calls of each kind")
    parser.add_argument("--server", choices=kinds(), default=kinds()[0])
    options = parser.parse_args(words)
    facts = machine.facts()
    record = asyncio.run(_measure(options.server, options.players, options.matches, options.calls))
    text = _table(facts, record)
    print(text)
    now = datetime.datetime.now(datetime.UTC)
    stem = results.FOLDER / f"scoring-{now:%Y-%m-%d-%H%M}-{facts['commit']}"
    stem.with_suffix(".json").write_text(
        json.dumps({"date": now.isoformat(timespec="seconds"), **facts, **record}, indent=1) + "\n"
    )
    stem.with_suffix(".md").write_text(f"{now:%Y-%m-%d %H:%M} UTC. {text}\n")
    slow = any(figures["p99"] >= MOST_P99_MS for figures in record["calls"] if figures["bound"])
    return int(slow or (record["audit"] is not None and record["audit"]["differences"] > 0))


async def _measure(server: Kind, players: int, matches: int, calls: int) -> dict[str, Any]:
    with running(server) as started:
        async with Store(StoreSettings(url=started.url, prefix="bench", command_timeout_ms=60_000)) as store:
            figures = await _full_boards(store, players, calls) if players else []
            audit = await _long_ledger(store, matches) if matches else None
    return {"server": server, "players": players, "calls": figures, "audit": audit}


async def _full_boards(store: Store, players: int, calls: int) -> list[dict[str, Any]]:
    await _fill(store, players)
    print(f"{players:,} players are written", flush=True)
    gc.freeze()
    figures = [figure async for figure in _on_full_boards(store, players, calls)]
    print("calls are measured", flush=True)
    return figures


async def _fill(store: Store, players: int) -> None:
    """Writes the pool as if its players had played, all with the standing of a beginner."""
    keys, send = store.pipelines.keys.pool(FULL), store.pipelines.writes.command
    await Ledgers(store.pipelines).open_season(FULL, SEASON, "A season")
    chance, standing = random.Random(1), encode(BEGINNER)
    about = msgspec.msgpack.Encoder().encode
    spans = [span.name for span in spans_of(_now_ms(), SEASON)]
    for batch in _batches((_entrant(number) for number in range(1, players + 1)), _BATCH):
        scores = [str(chance.randrange(1, 400) - WIN * int(chance.expovariate(1 / 20))) for _ in batch]
        await asyncio.gather(
            send("HSET", keys.numbers, *(part for one in batch for part in (_player(one), one))),
            send("HSET", keys.entrants, *(part for one in batch for part in (one, about((_player(one), "A player"))))),
            send("HSET", keys.standings(0), *(part for one in batch for part in (one, standing))),
            send("ZADD", keys.board(0, ALL_TIME), *(part for pair in zip(scores, batch, strict=True) for part in pair)),
        )
    for span in spans:
        if span != ALL_TIME:
            await send("COPY", keys.board(0, ALL_TIME), keys.board(0, span))
    await send("SADD", keys.spans(0), *spans)
    await send("HSET", keys.head, "entrants", players)


async def _on_full_boards(store: Store, players: int, calls: int) -> Any:
    scoring, boards = ScoringStore(store.pipelines, 365), Boards(store.pipelines)
    chance = random.Random(2)

    def somebody() -> Entrant:
        return _entrant(chance.randrange(1, players + 1))

    def result(number: int) -> ReportResultRequest:
        return _report(f"b_{number}", FULL, [_player(somebody()) for _ in range(4)], chance, _now_ms())

    reports = [read_report(result(number), GAMES) for number in range(calls)]
    distinct = [report for report in reports if len({player for player, _ in report.people}) == 4]
    yield await _timed("count a result of four, on five boards", (partial(take, scoring, one) for one in distinct))
    for neighbours in (3, 25):
        places = (partial(boards.around, FULL, ALL_TIME, somebody(), neighbours) for _ in range(calls))
        yield await _timed(f"place with {neighbours} neighbours each way", places)
    pages = (partial(boards.page, FULL, ALL_TIME, chance.randrange(players), 100) for _ in range(calls))
    yield await _timed("a page of 100 anywhere", pages, bound=False)


async def _timed(what: str, calls: Iterable[Callable[[], Awaitable[Any]]], *, bound: bool = True) -> dict[str, Any]:
    taken = []
    for call in calls:
        begun = time.perf_counter()
        await call()
        taken.append((time.perf_counter() - begun) * 1000)
    taken.sort()
    p50, p99 = taken[len(taken) // 2], taken[len(taken) * 99 // 100]
    return {
        **Figures(what, len(taken), round(p50, 3), round(p99, 3), round(taken[-1], 1))._asdict(),
        "bound": bound,
        "scheduled": machine.scheduling(),
    }


async def _long_ledger(store: Store, matches: int) -> dict[str, Any]:
    """Counts the matches, voids some, recomputes, and compares."""
    scoring, ledgers, rebuilds = ScoringStore(store.pipelines, 365), Ledgers(store.pipelines), Rebuilds(store.pipelines)
    chance = random.Random(3)
    names = [f"q_{number}" for number in range(500)]
    begun = time.perf_counter()
    left = iter(range(matches))

    async def count_some() -> None:
        for number in left:
            people = chance.sample(names, chance.choice((2, 3, 4, 4)))
            ended = _now_ms() - chance.randrange(100 * 86_400_000)
            await take(scoring, read_report(_report(f"l_{number}", LONG, people, chance, ended), GAMES))

    await asyncio.gather(*(count_some() for _ in range(8)))
    counted = time.perf_counter() - begun
    as_counted = await Auditor(ledgers, rebuilds).audit(LONG)
    for number in range(_VOIDS):
        await ledgers.void(LONG, f"l_{number * matches // _VOIDS}")
    begun = time.perf_counter()
    await Rebuilder(ledgers, rebuilds, [LONG]).rebuild(LONG)
    recomputed = time.perf_counter() - begun
    audit = await Auditor(ledgers, rebuilds).audit(LONG)
    return {
        "matches": matches,
        "counted_seconds": round(counted, 1),
        "recomputed_seconds": round(recomputed, 1),
        "compared": as_counted.compared + audit.compared,
        "differences": len(as_counted.differences) + len(audit.differences),
        "voids": _VOIDS,
    }


def _report(match: str, pool: str, people: Sequence[str], chance: random.Random, ended: int) -> ReportResultRequest:
    seats = [
        scoring_pb2.MatchSeat(
            kind=events_pb2.SEAT_KIND_PERSON,
            player_id=player,
            display_name="A player",
            place=place,
            winner=place == 1,
            partnership=place - 1,
            turns=20,
            bot_turns=chance.choice((0, 0, 0, 0, 3)),
            deserted=place > 1 and chance.random() < 0.05,
        )
        for place, player in enumerate(people, 1)
    ]
    if chance.random() < 0.1:  # the last two share a place
        seats[-1].place = seats[-2].place
        seats[-1].winner = seats[-2].winner
    record = scoring_pb2.MatchRecord(
        match_id=match,
        room_id="r",
        ruleset=rules_pb2.Ruleset(preset=pool, game=pool),
        seats=seats,
        scores=[chance.randrange(100) for _ in people],
        cause=events_pb2.MATCH_END_CAUSE_TARGET_REACHED,
        started=timestamp(ended - 60_000),
        ended=timestamp(ended),
        first_version=1,
        last_version=90,
    )
    return ReportResultRequest(match=record, counts=[SeatCounts(rounds=3, rounds_won=1) for _ in people])


def _table(facts: dict[str, Any], record: dict[str, Any]) -> str:
    commit = facts["commit"] + (" with changes" if facts["changed"] else "")
    head = (
        f"{facts['machine']}; Python {facts['python']}; {record['server']}; commit {commit}; "
        f"load before {facts['load_before']:.1f}"
    )
    parts = [_calls_table(record)] if record["calls"] else []
    if record["audit"] is not None:
        parts.append(
            "{matches:,} matches counted in {counted_seconds:.0f} s; {voids} of them voided and the rest recomputed in "
            "{recomputed_seconds:.0f} s; {compared:,} standings and lines compared with the replayed ledger before and "
            "after: {differences} differ.".format(**record["audit"])
        )
    return "\n\n".join([head, *parts])


def _calls_table(record: dict[str, Any]) -> str:
    rows = [
        f"| {one['what']} | {one['calls']:,} | {one['p50']:.2f} | {one['p99']:.2f} | {one['slowest']:.1f} | "
        + (("held |" if one["p99"] < MOST_P99_MS else "BROKEN |") if one["bound"] else "no bound |")
        for one in record["calls"]
    ]
    return "\n".join(
        [
            f"{record['players']:,} players on each of five boards; p99 below {MOST_P99_MS:g} ms is promised. "
            f"Scheduled as {record['calls'][0]['scheduled']}.",
            "",
            "| call at the store | calls | p50 ms | p99 ms | slowest ms | |",
            "| --- | ---: | ---: | ---: | ---: | --- |",
            *rows,
        ]
    )


def _entrant(number: int) -> Entrant:
    return Entrant(f"{number:09d}")


def _player(entrant: Entrant) -> str:
    return f"p_{int(entrant)}"


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def _batches(items: Iterable[Entrant], size: int) -> Iterator[list[Entrant]]:
    left = iter(items)
    while batch := list(islice(left, size)):
        yield batch
