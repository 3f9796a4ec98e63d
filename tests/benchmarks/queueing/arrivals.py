"""Who asks for a match on a simulated day, and when. The same seed gives the same day.

Every player comes once, more of them at noon and most in the evening, plays up to thirty matches in a row (eight in the
mean, which is an hour), and asks for the next one some minutes after the one before, whatever came of it, so that all
ways of matching see the same tickets. One in seven brings friends of about the own strength. Ratings are normal, 25 in
the mean with a deviation of 6. Three in ten name a region. Patience is 60 s in the median; one in ten gives up before,
by chance.
"""

from __future__ import annotations

import math
import random
from typing import Final, NamedTuple, TypeVar

Drawn = TypeVar("Drawn")

DAY_MS: Final = 24 * 3_600_000
MEAN_RATING, DEVIATION = 25.0, 6.0
TABLES: Final = (("mau-mau-32", 4, 40), ("uno", 4, 30), ("tranca", 4, 20), ("uno", 2, 10))
"""Preset, seats, and how many of a hundred like it."""
REGIONS: Final = (("", 70), ("br", 20), ("eu", 10))
PARTIES: Final = ((1, 86), (2, 11), (3, 3))


class Arrival(NamedTuple):
    """A ticket that will be asked for. `gives_up_ms` after its arrival it is taken back if it still waits; 0: never."""

    at_ms: int
    players: tuple[str, ...]
    ratings: tuple[float, ...]
    preset: str
    seats: int
    region: str
    pace: int
    patience_ms: int
    gives_up_ms: int


def arrivals(players: int, seed: int, day_ms: int = DAY_MS) -> list[Arrival]:
    """The tickets of a day of this many players, in order. A shorter day has the same curve."""
    chance = random.Random(seed)
    left = [f"player {number}" for number in range(players)]
    coming: list[Arrival] = []
    while left:
        size = min(_drawn(chance, PARTIES), len(left))
        group = tuple(left.pop() for _ in range(size))
        coming += _session(chance, group, day_ms)
    return sorted(coming)


def _session(chance: random.Random, players: tuple[str, ...], day_ms: int) -> list[Arrival]:
    leader = chance.gauss(MEAN_RATING, DEVIATION)
    ratings = (leader, *(chance.gauss(leader, 3.0) for _ in players[1:]))
    preset, seats, _ = chance.choices(TABLES, [table[2] for table in TABLES])[0]
    if seats < len(players):
        preset, seats = TABLES[0][:2]
    region, pace = _drawn(chance, REGIONS), chance.choice((0, 0, 1, 2, 2, 3))
    patience_ms = round(min(180.0, max(8.0, chance.lognormvariate(math.log(60), 0.5))) * 1000)
    at_ms, found = _time_of_day(chance, day_ms), []
    for _ in range(_matches(chance)):
        gives_up_ms = round(chance.expovariate(1 / 30) * 1000) + 2_000 if chance.random() < 0.1 else 0
        if at_ms < day_ms:
            found.append(Arrival(at_ms, players, ratings, preset, seats, region, pace, patience_ms, gives_up_ms))
        at_ms += patience_ms + 10_000 + round(chance.lognormvariate(math.log(300), 0.4) * 1000)
    return found


def _drawn(chance: random.Random, weighed: tuple[tuple[Drawn, int], ...]) -> Drawn:
    return chance.choices([value for value, _ in weighed], [weight for _, weight in weighed])[0]


def _matches(chance: random.Random) -> int:
    """One to thirty, eight in the mean."""
    matches = 1
    while matches < 30 and chance.random() < 7 / 8:
        matches += 1
    return matches


def _time_of_day(chance: random.Random, day_ms: int) -> int:
    kind = chance.random()
    if kind < 0.55:
        hour = chance.gauss(20.5, 2.0)
    elif kind < 0.75:
        hour = chance.gauss(12.5, 1.0)
    else:
        hour = chance.uniform(0, 24)
    return int(hour % 24 / 24 * day_ms)
