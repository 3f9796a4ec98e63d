"""Random play of Tranca, shared by its tests."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Final, NamedTuple

from services.rules import engine
from services.rules.actions import Action, Add, Discard, DrawStock, Keep, Meld, Redraw, TakeDiscard
from services.rules.registry import GAMES
from services.rules.ruleset import Ruleset, Value, make_ruleset
from services.rules.shuffler import SeededShuffler
from services.rules.tranca.state import TrancaState
from services.rules.views import Phase

PRESETS: Final = GAMES["tranca"].presets
LONGEST_DEAL: Final = 2_000
"""No deal of random play takes more actions than this."""

_FREE_VALUES: Final[dict[str, tuple[Value, ...]]] = {
    "melds.first": ("none", {"from": -500, "points": 40}, {"from": 0, "points": 75}),
    "match.target": ("single", 100, 300),
}


class Moment(NamedTuple):
    """A state of a random match, the seat on turn, and what it will do."""

    state: TrancaState
    seat: int
    action: Action
    shuffler: SeededShuffler


def random_ruleset(rng: random.Random) -> Ruleset:
    """A preset with some options changed."""
    preset = rng.choice(PRESETS)
    chosen: dict[str, object] = {}
    for key, option in GAMES["tranca"].options.items():
        values = _FREE_VALUES.get(key, option.values)
        if values and rng.random() < 0.4:
            chosen[key] = rng.choice(values)
    return make_ruleset(preset, chosen)


def play(ruleset: Ruleset, seed: str, deals: int = 1) -> Iterator[Moment]:
    """Every moment of a random match, of its first deals where it has more. Fails on a deal without an end."""
    rng, shuffler = random.Random(seed), SeededShuffler(seed)
    seats = ruleset.max_seats
    state = engine.new_match(ruleset, seats, rng.randrange(seats), shuffler).state
    for _ in range(deals * LONGEST_DEAL):
        (seat,) = engine.must_act(state)
        action = _choose(engine.legal_actions(state, seat), rng)
        yield Moment(state, seat, action, shuffler)
        state = engine.apply(state, seat, action, shuffler).state
        if engine.phase(state) is Phase.ROUND_OVER and state.round < deals:
            state = engine.next_round(state, shuffler).state
        if engine.phase(state) in (Phase.ROUND_OVER, Phase.MATCH_OVER):
            return
    raise AssertionError(f"{seed}: {deals} deals took more than {deals * LONGEST_DEAL} actions")


def _choose(listed: list[Action], rng: random.Random) -> Action:
    """Any action, but more often one that lays cards, so that hands are used up and deals are closed."""
    laying = [action for action in listed if not isinstance(action, DrawStock | Discard)]
    return rng.choice(laying if laying and rng.random() < 0.6 else listed)


def any_action(state: TrancaState, rng: random.Random) -> Action:
    """Any action out of the blue, with cards that may fit."""
    cards = tuple(rng.choices(engine.cards(state), k=rng.randrange(5)))
    hand = tuple(rng.sample(state.hands[state.turn], min(len(state.hands[state.turn]), rng.randrange(5))))
    group = rng.choice((cards, hand))
    meld = rng.choice([laid.id for laid in state.melds] or ["m1"])
    return rng.choice(
        (
            DrawStock(),
            Redraw(),
            Keep(),
            Meld(group),
            Add(meld, group),
            TakeDiscard(meld=meld),
            TakeDiscard(cards=group),
            TakeDiscard(meld=meld, cards=group),
            Discard(rng.choice(engine.cards(state))),
        )
    )
