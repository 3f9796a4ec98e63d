"""Other rules engines under random legal play, run by a Python of their own (`tests/benchmarks/other_engines.py`).

Reads one JSON line a question, `{"engine": ..., "players": ..., "seconds": ...}`, and answers with one of decisions and
CPU seconds. A decision is one action of one player, its legal actions listed; deals are in the time and not counted.
`rlcard` is UnoGame.step, which makes the next player's state each time; `rlcard round` is what lies below it, without
that state; `spiel` is OpenSpiel's crazy eights, called from Python.
"""

from __future__ import annotations

import json
import random
import sys
import time

LONGEST = 5_000


def rlcard(players: int, rng: random.Random) -> int:
    from rlcard.games.uno import Game  # type: ignore[import-not-found]

    game = Game(num_players=players)
    state, _ = game.init_game()
    decisions = 0
    while not game.is_over() and decisions < LONGEST:
        state, _ = game.step(rng.choice(state["legal_actions"]))
        decisions += 1
    return decisions


def rlcard_round(players: int, rng: random.Random) -> int:
    from rlcard.games.uno import Game

    game = Game(num_players=players)
    game.init_game()
    decisions, round_, seats = 0, game.round, game.players
    while not round_.is_over and decisions < LONGEST:
        round_.proceed_round(seats, rng.choice(round_.get_legal_actions(seats, round_.current_player)))
        decisions += 1
    return decisions


def spiel(players: int, rng: random.Random) -> int:
    import pyspiel  # type: ignore[import-not-found]

    state = pyspiel.load_game("crazy_eights", {"players": players}).new_initial_state()
    decisions = 0
    while not state.is_terminal():
        if state.is_chance_node():
            state.apply_action(rng.choice(state.chance_outcomes())[0])
        else:
            state.apply_action(rng.choice(state.legal_actions()))
            decisions += 1
    return decisions


ROUNDS = {"rlcard": rlcard, "rlcard round": rlcard_round, "spiel": spiel}


def measure(engine: str, players: int, seconds: float) -> dict[str, float]:
    rng, decisions = random.Random(1), 0
    ROUNDS[engine](players, rng)
    began = time.process_time()
    while time.process_time() - began < seconds:
        decisions += ROUNDS[engine](players, rng)
    return {"decisions": decisions, "seconds": time.process_time() - began}


for question in sys.stdin:
    print(json.dumps(measure(**json.loads(question))), flush=True)
