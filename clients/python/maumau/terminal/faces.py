"""Cards and suits as a terminal shows them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from rich.text import Text

from maumau.v1 import cards_pb2

_SUIT_SIGNS: Final = {
    cards_pb2.SUIT_CLUBS: "♣",
    cards_pb2.SUIT_DIAMONDS: "♦",
    cards_pb2.SUIT_HEARTS: "♥",
    cards_pb2.SUIT_SPADES: "♠",
}
_SUIT_NAMES: Final = {
    cards_pb2.SUIT_CLUBS: "clubs",
    cards_pb2.SUIT_DIAMONDS: "diamonds",
    cards_pb2.SUIT_HEARTS: "hearts",
    cards_pb2.SUIT_SPADES: "spades",
    cards_pb2.SUIT_RED: "red",
    cards_pb2.SUIT_YELLOW: "yellow",
    cards_pb2.SUIT_GREEN: "green",
    cards_pb2.SUIT_BLUE: "blue",
}
_SUIT_STYLES: Final = {
    cards_pb2.SUIT_CLUBS: "bold green",
    cards_pb2.SUIT_DIAMONDS: "bold bright_red",
    cards_pb2.SUIT_HEARTS: "bold red",
    cards_pb2.SUIT_SPADES: "bold cyan",
    cards_pb2.SUIT_RED: "bold red",
    cards_pb2.SUIT_YELLOW: "bold yellow",
    cards_pb2.SUIT_GREEN: "bold green",
    cards_pb2.SUIT_BLUE: "bold blue",
}
_RANK_SIGNS: Final = {
    cards_pb2.RANK_JACK: "J",
    cards_pb2.RANK_QUEEN: "Q",
    cards_pb2.RANK_KING: "K",
    cards_pb2.RANK_ACE: "A",
    cards_pb2.RANK_SKIP: "skip",
    cards_pb2.RANK_REVERSE: "turn",
    cards_pb2.RANK_DRAW_TWO: "+2",
    cards_pb2.RANK_WILD: "wild",
    cards_pb2.RANK_WILD_DRAW_FOUR: "wild+4",
}
_WILD_STYLE: Final = "bold magenta"


def rank_sign(rank: cards_pb2.Rank.ValueType) -> str:
    """The rank's short sign: `7`, `J`, `+2`."""
    if rank in _RANK_SIGNS:
        return _RANK_SIGNS[rank]
    return str(rank - cards_pb2.RANK_NUMBER_0 if rank >= cards_pb2.RANK_NUMBER_0 else int(rank))


def suit_name(suit: cards_pb2.Suit.ValueType) -> str:
    return _SUIT_NAMES.get(suit, "any suit")


def suit_text(suit: cards_pb2.Suit.ValueType) -> Text:
    """The suit with its sign: `♥ hearts`, `red`."""
    sign = _SUIT_SIGNS.get(suit)
    name = suit_name(suit)
    return Text(f"{sign} {name}" if sign else name, style=_SUIT_STYLES.get(suit, ""))


def card_text(card: cards_pb2.Card) -> Text:
    """The card: `7♥`; in UNO the colour's first letter and the symbol, `R5`, `Gskip`, or `wild`."""
    sign, style = rank_sign(card.rank), _SUIT_STYLES.get(card.suit, _WILD_STYLE)
    if card.suit in _SUIT_SIGNS:
        return Text(sign + _SUIT_SIGNS[card.suit], style=style)
    if card.suit:
        return Text(suit_name(card.suit)[0].upper() + sign, style=style)
    return Text(sign, style=style)


def cards_text(cards: Iterable[cards_pb2.Card]) -> Text:
    """Cards beside one another."""
    return Text(" ").join(card_text(card) for card in cards)
