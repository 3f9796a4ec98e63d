"""Builds a position of Mau-Mau or UNO for a test, in the words of the scenario files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from services.rules import engine
from services.rules.actions import Action
from services.rules.cards import Card, parse_card
from services.rules.events import Event
from services.rules.reasons import IllegalAction, Reason
from services.rules.ruleset import make_ruleset
from services.rules.shedding.state import State
from services.rules.shuffler import SeededShuffler
from tests.scenarios.shedding import position

SHUFFLER = SeededShuffler("table")


class Table:
    """A state that actions are tried on. `events` are those of the last action."""

    def __init__(self, preset: str, options: dict[str, Any] | None = None, **given: Any) -> None:
        given.setdefault("n", len(given["hands"]))
        self.state = position(make_ruleset(preset, options), given)
        self.events: list[Event] = []

    def do(self, seat: int, action: Action) -> None:
        step = engine.apply(self.state, seat, action, SHUFFLER)
        assert isinstance(step.state, State)
        self.state, self.events = step.state, step.events

    def refusal(self, seat: int, action: Action) -> Reason | None:
        """Why the action is refused, None if it would be accepted."""
        try:
            engine.apply(self.state, seat, action, SHUFFLER)
        except IllegalAction as refused:
            return refused.reason
        return None

    def hand(self, seat: int) -> list[str]:
        return sorted(card.text() for card in self.state.hands[seat])

    def size(self, seat: int) -> int:
        return len(self.state.hands[seat])

    def listed(self, seat: int) -> list[Action]:
        return engine.legal_actions(self.state, seat)


class StackedShuffler:
    """Deals the pack unshuffled, but with a chosen card where it is turned up: the first after the hands in the first
    shuffle, the next one in each shuffle after that."""

    def __init__(self, hands: int, *turned_up: str) -> None:
        self.hands = hands
        self.turned_up = [parse_card(text) for text in turned_up]

    def shuffle(self, cards: Sequence[Card], round_: int, counter: int) -> list[Card]:
        order = list(cards)
        order.remove(self.turned_up[counter])
        place = self.hands if counter == 0 else len(order)
        order.insert(place, self.turned_up[counter])
        return order
