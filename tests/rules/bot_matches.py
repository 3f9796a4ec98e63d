"""Whole matches between bots, on the engine alone."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

from services.rules import engine
from services.rules.actions import Accuse, Action
from services.rules.bots import BotLevel, choose
from services.rules.outcome import Outcome
from services.rules.ruleset import make_ruleset
from services.rules.shuffler import SeededShuffler
from services.rules.views import Phase

LONGEST_MATCH = 5_000
Probe = Callable[[Any, int, Action, list[Any]], None]
"""Is shown the state before, the seat, its action, and the events."""


def play_match(preset: str, levels: Sequence[BotLevel], seed: int, probe: Probe | None = None) -> Outcome:
    """One match of a single round or deal; the dealer follows from the seed. Heuristic bots accuse out of turn."""
    ruleset = make_ruleset(preset, {"match.target": "single"})
    shuffler, chance = SeededShuffler(seed), random.Random(seed)
    state = engine.new_match(ruleset, len(levels), seed % len(levels), shuffler).state
    for _ in range(LONGEST_MATCH):
        if engine.phase(state) is Phase.MATCH_OVER:
            outcome = engine.outcome(state)
            assert outcome is not None
            return outcome
        seat = _who_acts(state, levels, chance)
        legal = engine.legal_actions(state, seat)
        action = choose(levels[seat], engine.view(state, seat), legal, seat, ruleset, chance)
        step = engine.apply(state, seat, action, shuffler)
        if probe is not None:
            probe(state, seat, action, step.events)
        state = step.state
    raise AssertionError("the match has no end")


def _who_acts(state: Any, levels: Sequence[BotLevel], chance: random.Random) -> int:
    for seat in engine.may_act(state):
        sharp = levels[seat] is not BotLevel.RANDOM
        if sharp and any(isinstance(action, Accuse) for action in engine.legal_actions(state, seat)):
            return seat
    return chance.choice(engine.must_act(state))
