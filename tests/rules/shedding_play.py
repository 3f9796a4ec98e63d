"""Random play of Mau-Mau and UNO, shared by their tests."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Final, NamedTuple

from services.rules import engine
from services.rules.actions import (
    Accept,
    Accuse,
    Action,
    Call,
    Challenge,
    Choose,
    Concede,
    Draw,
    JumpIn,
    Pass,
    Play,
    PlayMany,
    React,
    Speak,
    Word,
)
from services.rules.cards import Suit
from services.rules.registry import GAMES
from services.rules.ruleset import Ruleset, RulesetError, make_ruleset
from services.rules.shedding.state import State
from services.rules.shuffler import SeededShuffler
from services.rules.views import Phase

GAME_NAMES: Final = ("mau-mau-32", "mau-mau-brasil", "uno")
PRESETS: Final = tuple(preset for game in GAME_NAMES for preset in GAMES[game].presets)
OVER: Final = (Phase.ROUND_OVER, Phase.MATCH_OVER)

EFFECTS: Final = ("draw", "skip", "reverse", "wish", "prevdraw", "again", "copy", "none")
RANKS: Final = tuple("23456789TJQKA")


class Moment(NamedTuple):
    """A state of a random match, and what a seat will do."""

    state: State
    seat: int
    action: Action
    shuffler: SeededShuffler


def random_ruleset(rng: random.Random) -> Ruleset:
    """A preset with some options changed; mixes that cannot work are drawn again."""
    while True:
        preset = rng.choice(PRESETS)
        game = next(name for name in GAME_NAMES if preset in GAMES[name].presets)
        chosen: dict[str, object] = {}
        for key, option in GAMES[game].options.items():
            if rng.random() < 0.3:
                chosen[key] = rng.choice(option.values) if option.values else _free_value(rng, key)
        try:
            return make_ruleset(preset, chosen)
        except RulesetError:
            continue


def _free_value(rng: random.Random, key: str) -> object:
    if key == "effects":
        effects = {rank: rng.choice(EFFECTS) for rank in rng.sample(RANKS, 6)}
        return {**effects, "7": "draw", "J": "wish"}
    if key == "effects.byCard":
        cards = [rng.choice(RANKS) + rng.choice("CDHS") for _ in range(3)]
        return {card: rng.choice((*EFFECTS, "take1", "take3")) for card in cards}
    if key == "score.values":
        return {"8": rng.randrange(30)}
    return rng.choice(("single", 100, 300, "rounds:1", "rounds:3"))


def random_seats(rng: random.Random, ruleset: Ruleset) -> int:
    return rng.randint(ruleset.min_seats, min(ruleset.max_seats, max(ruleset.min_seats, 6)))


def play(ruleset: Ruleset, seed: str, rounds: int, most: int = 400) -> Iterator[Moment]:
    """Every moment of a random match, of its first rounds, and of each round its first actions."""
    rng, shuffler = random.Random(seed), SeededShuffler(seed)
    seats = random_seats(rng, ruleset)
    state = engine.new_match(ruleset, seats, rng.randrange(seats), shuffler).state
    for _ in range(rounds):
        for _ in range(most):
            if state.phase in OVER:
                break
            seat, action = choose(state, rng)
            yield Moment(state, seat, action, shuffler)
            state = engine.apply(state, seat, action, shuffler).state
        if state.phase is not Phase.ROUND_OVER:
            return
        state = engine.next_round(state, shuffler).state


def choose(state: State, rng: random.Random) -> tuple[int, Action]:
    """Mostly a seat that must act does something legal; now and then one that may act, or something penal. Calls,
    doubts and cards thrown in would drown among the plays: what goes wrong after some of them would not come up."""
    others = engine.may_act(state)
    seat = rng.choice(others if others and rng.random() < 0.3 else engine.must_act(state))
    penal = engine.penal_actions(state, seat)
    if penal and rng.random() < 0.03:
        return seat, rng.choice(penal)
    actions = engine.legal_actions(state, seat)
    assert actions, f"nothing to do for seat {seat} in {state.phase}"
    rare = [action for action in actions if isinstance(action, Call | Challenge | JumpIn)]
    if rare and rng.random() < 0.2:
        return seat, rng.choice(rare)
    playing = [action for action in actions if not isinstance(action, Draw)]
    return seat, rng.choice(playing if playing and rng.random() < 0.7 else actions)


def any_action(state: State, rng: random.Random) -> Action:
    """Any action out of the blue, with data that may fit."""
    rules, seat = state.rules, rng.randrange(state.seats)
    hand = state.hands[state.turn]
    card = rng.choice(hand) if hand and rng.random() < 0.8 else rng.choice(rules.faces)
    wish = rng.choice((None, None, *rules.suits, Suit.RED))
    call = rng.choice((None, None, *Word))
    target = rng.choice((None, seat))
    makers = (
        lambda: Play(card, wish, call, target),
        lambda: Play(card),
        lambda: Play(card, wish),
        lambda: PlayMany(tuple(rng.choices(hand or [card], k=rng.randrange(4))), call, target),
        lambda: JumpIn(state.top, wish, call, target),
        lambda: JumpIn(card),
        Draw,
        Pass,
        lambda: Call(rng.choice(rules.words)),
        lambda: Accuse(target),
        Challenge,
        Accept,
        lambda: Choose(rng.choice(rules.suits)),
        Concede,
        React,
        Speak,
    )
    return rng.choice(makers)()
