"""Cards as a verifier sees them, and the packs in the order in which they are shuffled (docs/fair-deals.md)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from maumau.v1 import cards_pb2

Card = tuple[int, int]
"""Suit and rank by their numbers in the contract; a wild has suit 0."""

_FRENCH_SUITS: Final = range(cards_pb2.SUIT_CLUBS, cards_pb2.SUIT_SPADES + 1)
_COLOURS: Final = range(cards_pb2.SUIT_RED, cards_pb2.SUIT_BLUE + 1)


def _french(lowest: int) -> list[Card]:
    return [(suit, rank) for suit in _FRENCH_SUITS for rank in range(lowest, cards_pb2.RANK_ACE + 1)]


def _uno() -> list[Card]:
    zero, last = cards_pb2.RANK_NUMBER_0, cards_pb2.RANK_DRAW_TWO
    once = [(colour, rank) for colour in _COLOURS for rank in range(zero, last + 1)]
    again = [card for card in once if card[1] != zero]
    return [*once, *again, *[(0, cards_pb2.RANK_WILD)] * 4, *[(0, cards_pb2.RANK_WILD_DRAW_FOUR)] * 4]


PACKS: Final = {
    "piquet32": _french(cards_pb2.RANK_SEVEN),
    "french36": _french(cards_pb2.RANK_SIX),
    "french52": _french(cards_pb2.RANK_TWO),
    "uno108": _uno(),
}
"""By the value of the option `deck.pack`."""

RED_THREES: Final = ((cards_pb2.SUIT_DIAMONDS, cards_pb2.RANK_THREE), (cards_pb2.SUIT_HEARTS, cards_pb2.RANK_THREE))


def face(card: cards_pb2.Card) -> Card:
    return card.suit, card.rank


def faces(cards: Iterable[cards_pb2.Card]) -> list[Card]:
    return [face(card) for card in cards]
