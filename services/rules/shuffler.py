"""The one way by which chance enters the games.

The engine asks for a shuffle and says which one it is; the caller's `Shuffler` answers. In production that is the
verifiable one of `fairness.py`, in scenarios and search it is seeded.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Protocol

from services.rules.cards import Card


class Shuffler(Protocol):
    """Answers the same question with the same order, always."""

    def shuffle(self, cards: Sequence[Card], round_: int, counter: int) -> list[Card]:
        """The cards in a new order: shuffle number `counter` (from 0) of round `round_` (from 1) of the match."""
        ...


class SeededShuffler:
    """Python's generator from a seed: for tests, search and the simulator."""

    def __init__(self, seed: int | str) -> None:
        self.seed = seed

    def shuffle(self, cards: Sequence[Card], round_: int, counter: int) -> list[Card]:
        order = list(cards)
        random.Random(f"{self.seed}/{round_}/{counter}").shuffle(order)
        return order
