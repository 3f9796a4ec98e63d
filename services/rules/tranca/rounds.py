"""The beginning of a match and of each deal.

Eleven cards are dealt to each seat, one by one from the dealer's left, then two pozzetti of eleven are laid aside; the
rest is the stock (38 cards with four players, 60 with two). No card is turned up. Red threes that were dealt are laid
down and replaced in order of turn. The dealer's left moves first (at some tables the dealer), and play is clockwise
throughout. The deal moves one seat to the left each round.
"""

from __future__ import annotations

from typing import Final

from services.rules.events import Event, RoundStarted
from services.rules.ruleset import Ruleset
from services.rules.shuffler import Shuffler
from services.rules.tranca.discarding import begin_turn
from services.rules.tranca.options import options_of
from services.rules.tranca.state import HAND_SIZE, PACK, TrancaState
from services.rules.tranca.stock import lay_red_threes
from services.rules.views import Phase

POZZETTI: Final = 2


def new_match(ruleset: Ruleset, seats: int, dealer: int, shuffler: Shuffler, events: list[Event]) -> TrancaState:
    """Round 1 of a match, dealt by the seat `dealer`."""
    state = empty_state(ruleset, seats, dealer)
    _deal(state, shuffler, events)
    return state


def empty_state(ruleset: Ruleset, seats: int, dealer: int) -> TrancaState:
    """A match before its first deal."""
    return TrancaState(
        ruleset=ruleset,
        options=options_of(ruleset),
        seats=seats,
        round=1,
        dealer=dealer,
        turn=dealer,
        turns=0,
        phase=Phase.DRAW,
        hands=[[] for _ in range(seats)],
        stock=[],
        pile=[],
        pozzetti=[],
        melds=[],
        melds_laid=0,
        red_threes=[[], []],
        taken=[None, None],
        used=[False, False],
        scores=[0, 0],
        drew=None,
        last_round=None,
        ended=None,
    )


def next_round(old: TrancaState, shuffler: Shuffler, events: list[Event]) -> TrancaState:
    """The deal after one that did not end the match."""
    state = empty_state(old.ruleset, old.seats, (old.dealer + 1) % old.seats)
    state.round = old.round + 1
    state.turns = old.turns
    state.scores = old.scores[:]
    state.last_round = old.last_round
    _deal(state, shuffler, events)
    return state


def _deal(state: TrancaState, shuffler: Shuffler, events: list[Event]) -> None:
    """The shuffled pack is dealt from its first card on; what is left is the stock, in the same order."""
    cards = shuffler.shuffle(PACK, state.round, 0)
    dealt = HAND_SIZE * state.seats
    for place in range(state.seats):
        state.hands[(state.dealer + 1 + place) % state.seats] = cards[place : dealt : state.seats]
    for _ in range(POZZETTI):
        state.pozzetti.append(cards[dealt : dealt + HAND_SIZE])
        dealt += HAND_SIZE
    state.stock = cards[dealt:][::-1]
    events.append(
        RoundStarted(
            round=state.round,
            dealer=state.dealer,
            hands=tuple(tuple(hand) for hand in state.hands),
            hand_sizes=tuple(len(hand) for hand in state.hands),
            stock_size=len(state.stock),
            top=None,
        )
    )
    first = (state.dealer + (0 if state.options.dealer_begins else 1)) % state.seats
    lay_dealt_red_threes(state, first, events)
    begin_turn(state, first, events)


def lay_dealt_red_threes(state: TrancaState, first: int, events: list[Event]) -> None:
    """Lays and replaces the red threes of all hands, in order of turn."""
    for place in range(state.seats):
        lay_red_threes(state, (first + place) % state.seats, events)
