"""Random rounds of all games, under presets and random mixes of options, and what must hold in each.

`python -m tests.rules.rounds ROUNDS [SEED]` plays as many as wanted and prints the seed of each part; a fault names
the seed of its round, and `python -m tests.rules.rounds --only ROUND_SEED` plays that round again.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

from services.rules import engine
from services.rules.ruleset import Ruleset, make_ruleset
from tests.rules import shedding_checks, shedding_play, shedding_secrets, tranca_checks, tranca_play, tranca_secrets

TRANCA_SHARE: Final = 0.12
"""A deal of Tranca has five times the actions of a round of the other games."""

PRESET_SHARE: Final = 0.3
"""Rounds under a preset as it is."""

TABLE_SHARE: Final = 0.3
MOMENT_SHARE: Final = 0.05
SECRETS_SHARE: Final = 0.05
"""Moments at which these are looked at."""

AGAIN_SHARE: Final = 0.05
"""Rounds that are played twice."""

A_PART: Final = 1_000


class Kind(NamedTuple):
    """How one kind of game is played at random, and what is looked at."""

    presets: tuple[str, ...]
    random_ruleset: Callable[[random.Random], Ruleset]
    play: Callable[[Ruleset, str, int], Iterator[Any]]
    check_table: Callable[[Any], None]
    check_moment: Callable[[Any, random.Random], None]
    check_end: Callable[[Any], None]
    check_secrets: Callable[[Any, random.Random], bool]


SHEDDING: Final = Kind(
    shedding_play.PRESETS,
    shedding_play.random_ruleset,
    shedding_play.play,
    shedding_checks.check_table,
    shedding_checks.check_moment,
    shedding_checks.check_end,
    shedding_secrets.check_secrets,
)
TRANCA: Final = Kind(
    tranca_play.PRESETS,
    tranca_play.random_ruleset,
    tranca_play.play,
    tranca_checks.check_table,
    tranca_checks.check_moment,
    tranca_checks.check_end,
    tranca_secrets.check_secrets,
)


def check_round(seed: str) -> int:
    """Plays one round, checks it, and says how many actions it took. The seed decides everything about it."""
    rng = random.Random(f"{seed}/checks")
    kind = TRANCA if rng.random() < TRANCA_SHARE else SHEDDING
    plain = rng.random() < PRESET_SHARE
    ruleset = make_ruleset(rng.choice(kind.presets)) if plain else kind.random_ruleset(rng)
    actions, last = 0, None
    for last in kind.play(ruleset, seed, 1):
        actions += 1
        _check(kind, last, rng)
    assert last is not None
    kind.check_end(last)
    if rng.random() < AGAIN_SHARE:
        *_, same = kind.play(ruleset, seed, 1)
        assert engine.encode(same.state) == engine.encode(last.state), "the same seed gives the same match"
    return actions


def _check(kind: Kind, moment: Any, rng: random.Random) -> None:
    if rng.random() < TABLE_SHARE:
        kind.check_table(moment)
    if rng.random() < MOMENT_SHARE:
        kind.check_moment(moment, rng)
    if rng.random() < SECRETS_SHARE:
        kind.check_secrets(moment, rng)


def check_rounds(seed: str, first: int, count: int) -> int:
    """Plays the rounds of a seed with these numbers; how many actions they took. A fault names its round."""
    actions = 0
    for number in range(first, first + count):
        try:
            actions += check_round(f"{seed}/{number}")
        except Exception as fault:
            fault.add_note(f"in the round {seed}/{number}: python -m tests.rules.rounds --only {seed}/{number}")
            raise
    return actions


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.rules.rounds", description="Random rounds of all games.")
    parser.add_argument("rounds", nargs="?", type=int, default=2_000, help="how many rounds (2000)")
    parser.add_argument("seed", nargs="?", default=f"{random.SystemRandom().getrandbits(32):08x}", help="of them all")
    parser.add_argument("--only", metavar="ROUND_SEED", help="one round again")
    asked = parser.parse_args(words)
    if asked.only:
        print(f"round {asked.only}: {check_round(asked.only)} actions")
        return 0
    began = time.monotonic()
    for first in range(0, asked.rounds, A_PART):
        count = min(A_PART, asked.rounds - first)
        actions = check_rounds(asked.seed, first, count)
        taken = time.monotonic() - began
        print(f"seed {asked.seed}: rounds {first} to {first + count - 1}, {actions} actions, {taken:.0f} s", flush=True)
    print(f"{asked.rounds} rounds hold; seed {asked.seed}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
