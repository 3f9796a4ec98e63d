"""How fast the games are played: `python -m tests.benchmarks.engine [seconds]`.

Random legal play in place, one thread. A decision is one action of one seat, listing its legal actions included; deals
are part of the time but not counted. Then what one stored action costs: `apply`, `encode`, `decode` and the view. Time
is CPU time of this process, which a busy machine disturbs least.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable

from services.rules import engine
from services.rules.ruleset import Ruleset, make_ruleset
from services.rules.shuffler import SeededShuffler

TABLES = (("mau-mau-32", 4), ("mau-mau-brasil", 4), ("uno-mattel", 2), ("uno-mattel", 4), ("uno", 4), ("uno-casa", 4))
LONGEST = 5_000


def decisions_per_second(ruleset: Ruleset, seats: int, seconds: float) -> float:
    """Random rounds one after the other, each from a new deal."""
    rng, decisions, number = random.Random(1), 0, 0
    began = time.process_time()
    while time.process_time() - began < seconds:
        number += 1
        decisions += _play_round(ruleset, seats, SeededShuffler(number), rng)
    return decisions / (time.process_time() - began)


def _play_round(ruleset: Ruleset, seats: int, shuffler: SeededShuffler, rng: random.Random) -> int:
    state = engine.copy(engine.new_match(ruleset, seats, 0, shuffler).state)
    legal_actions, advance, must_act, chance = engine.legal_actions, engine.advance, engine.must_act, rng.random
    for decisions in range(LONGEST):
        waited_for = must_act(state)
        if not waited_for:
            return decisions
        actions = legal_actions(state, waited_for[0])
        advance(state, waited_for[0], actions[int(chance() * len(actions))], shuffler)
    return LONGEST


def microseconds(work: Callable[[], object]) -> float:
    """The best of five runs of a thousand."""
    best = float("inf")
    for _ in range(5):
        began = time.process_time()
        for _ in range(1000):
            work()
        best = min(best, time.process_time() - began)
    return best * 1000


def stored_action_costs(ruleset: Ruleset, seats: int) -> dict[str, float]:
    """Microseconds of each part of one action that is stored and shown."""
    shuffler = SeededShuffler(2)
    state = engine.new_match(ruleset, seats, 0, shuffler).state
    (seat,) = engine.must_act(state)
    action = engine.legal_actions(state, seat)[0]
    stored = engine.encode(state)
    return {
        "legal_actions": microseconds(lambda: engine.legal_actions(state, seat)),
        "apply": microseconds(lambda: engine.apply(state, seat, action, shuffler)),
        "encode": microseconds(lambda: engine.encode(state)),
        "decode": microseconds(lambda: engine.decode(ruleset, stored)),
        "view": microseconds(lambda: engine.view(state, seat)),
    }


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 3.0
    for preset, seats in TABLES:
        ruleset = make_ruleset(preset)
        rates = sorted(decisions_per_second(ruleset, seats, seconds / 3) for _ in range(3))
        costs = ", ".join(f"{part} {cost:.1f}" for part, cost in stored_action_costs(ruleset, seats).items())
        print(
            f"{preset:15} {seats} seats  {rates[1]:9,.0f} decisions/s ({rates[0]:,.0f} to {rates[2]:,.0f})  µs: {costs}"
        )


if __name__ == "__main__":
    main()
