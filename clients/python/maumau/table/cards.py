"""Cards coming to the own hand and leaving it."""

from __future__ import annotations

from collections.abc import Iterable, MutableSequence

from maumau.v1 import cards_pb2

_AFTER_ALL_SUITS = 99


def order(card: cards_pb2.Card) -> tuple[int, int]:
    """The order in which a view lists a hand: by suit, wilds last, then by rank."""
    return (card.suit or _AFTER_ALL_SUITS, card.rank)


def put(hand: MutableSequence[cards_pb2.Card], cards: Iterable[cards_pb2.Card]) -> None:
    """The hand with these cards more, in order."""
    replace(hand, [*hand, *cards])


def take(hand: MutableSequence[cards_pb2.Card], cards: Iterable[cards_pb2.Card]) -> None:
    """The hand without these cards; one that it does not hold is passed over."""
    for card in cards:
        for place, held in enumerate(hand):
            if held == card:
                del hand[place]
                break


def replace(hand: MutableSequence[cards_pb2.Card], cards: Iterable[cards_pb2.Card]) -> None:
    """These cards and no others, in order."""
    ordered = sorted(cards, key=order)
    copies = [cards_pb2.Card(suit=card.suit, rank=card.rank) for card in ordered]
    del hand[:]
    hand.extend(copies)
