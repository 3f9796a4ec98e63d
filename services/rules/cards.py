"""Cards, suits, ranks and packs of all four games.

A card is a value: there is exactly one object for each face, so cards are compared by identity and two packs hold
the same object twice. UNO's colours are suits and its symbols are ranks. A card never shows its face in `repr`, so
that no log line or exception can name it; whoever may know it calls `text()`.

Notation, as in rules.md 7: rank and suit letter (`7S`, `TD` for the ten of diamonds); in UNO colour and number or
symbol (`R5`, `Gs` skip, `Yr` reverse, `B+2`), `W` and `W4` for the wilds.
"""

from __future__ import annotations

from enum import Enum
from typing import Final


class Suit(Enum):
    """A suit, or a colour in UNO. `letter` is its short form; values are stable and stored."""

    __hash__ = object.__hash__

    CLUBS = 1
    DIAMONDS = 2
    HEARTS = 3
    SPADES = 4
    RED = 5
    YELLOW = 6
    GREEN = 7
    BLUE = 8

    @property
    def letter(self) -> str:
        return _SUIT_LETTERS[self.value]


_SUIT_LETTERS: Final = " CDHSRYGB"

FRENCH_SUITS: Final = (Suit.CLUBS, Suit.DIAMONDS, Suit.HEARTS, Suit.SPADES)
COLOURS: Final = (Suit.RED, Suit.YELLOW, Suit.GREEN, Suit.BLUE)


class Rank(Enum):
    """A rank, number or symbol. Values are stable and stored."""

    __hash__ = object.__hash__

    TWO = 2
    THREE = 3
    FOUR = 4
    FIVE = 5
    SIX = 6
    SEVEN = 7
    EIGHT = 8
    NINE = 9
    TEN = 10
    JACK = 11
    QUEEN = 12
    KING = 13
    ACE = 14
    NUMBER_0 = 20
    NUMBER_1 = 21
    NUMBER_2 = 22
    NUMBER_3 = 23
    NUMBER_4 = 24
    NUMBER_5 = 25
    NUMBER_6 = 26
    NUMBER_7 = 27
    NUMBER_8 = 28
    NUMBER_9 = 29
    SKIP = 30
    REVERSE = 31
    DRAW_TWO = 32
    WILD = 33
    WILD_DRAW_FOUR = 34

    @property
    def letter(self) -> str:
        return _RANK_LETTERS[self]


_RANK_LETTERS: Final = {
    Rank.TEN: "T",
    Rank.JACK: "J",
    Rank.QUEEN: "Q",
    Rank.KING: "K",
    Rank.ACE: "A",
    Rank.SKIP: "s",
    Rank.REVERSE: "r",
    Rank.DRAW_TWO: "+2",
    Rank.WILD: "W",
    Rank.WILD_DRAW_FOUR: "W4",
    **{r: str(r.value % 20 if r.value >= 20 else r.value) for r in Rank if r.value < 10 or 20 <= r.value < 30},
}


class Card:
    """One face. `code` (1 to 255) is stable and stored; `suit` is None for UNO's wilds. Get one from `card()`."""

    __slots__ = ("code", "rank", "suit")

    def __init__(self, code: int, suit: Suit | None, rank: Rank) -> None:
        self.code = code
        self.suit = suit
        self.rank = rank

    def text(self) -> str:
        """The face in the notation above. Only for those who may know the card."""
        if self.suit is None:
            return self.rank.letter
        if self.rank.value >= Rank.NUMBER_0.value:
            return self.suit.letter + self.rank.letter
        return self.rank.letter + self.suit.letter

    def __repr__(self) -> str:
        return "Card"

    def __copy__(self) -> Card:
        return self

    def __deepcopy__(self, memo: object) -> Card:
        return self

    def __reduce__(self) -> tuple[object, tuple[int]]:
        return card_of_code, (self.code,)


def _all_cards() -> dict[int, Card]:
    cards: dict[int, Card] = {}
    for index, suit in enumerate(FRENCH_SUITS):
        for rank in Rank:
            if rank.value <= Rank.ACE.value:
                code = 1 + index * 13 + rank.value - 2
                cards[code] = Card(code, suit, rank)
    for index, suit in enumerate(COLOURS):
        for rank in Rank:
            if Rank.NUMBER_0.value <= rank.value <= Rank.DRAW_TWO.value:
                code = 61 + index * 13 + rank.value - Rank.NUMBER_0.value
                cards[code] = Card(code, suit, rank)
    for code, rank in ((113, Rank.WILD), (114, Rank.WILD_DRAW_FOUR)):
        cards[code] = Card(code, None, rank)
    return cards


_BY_CODE: Final = _all_cards()
_BY_FACE: Final = {(c.suit, c.rank): c for c in _BY_CODE.values()}
_BY_TEXT: Final = {c.text(): c for c in _BY_CODE.values()}


def card_of_code(code: int) -> Card:
    """The card with this stored code. Raises KeyError for a code that is no card."""
    return _BY_CODE[code]


def card(suit: Suit | None, rank: Rank) -> Card:
    """The card with this face. Raises KeyError where no pack has it (a Wild with a suit, a red ace)."""
    return _BY_FACE[suit, rank]


def parse_card(text: str) -> Card:
    """The card with this notation. Raises ValueError for anything else."""
    try:
        return _BY_TEXT[text]
    except KeyError:
        raise ValueError(f"{text!r} is no card; write rank and suit letter (7S, TD), or R5, Gs, B+2, W, W4") from None


def _french(lowest: int) -> tuple[Card, ...]:
    return tuple(card(s, r) for s in FRENCH_SUITS for r in Rank if lowest <= r.value <= Rank.ACE.value)


def _uno() -> tuple[Card, ...]:
    coloured = [card(s, r) for s in COLOURS for r in Rank if Rank.NUMBER_0.value <= r.value <= Rank.DRAW_TWO.value]
    twice = [c for c in coloured if c.rank is not Rank.NUMBER_0]
    wilds = [card(None, Rank.WILD)] * 4 + [card(None, Rank.WILD_DRAW_FOUR)] * 4
    return (*coloured, *twice, *wilds)


PACKS: Final[dict[str, tuple[Card, ...]]] = {
    "piquet32": _french(7),
    "french36": _french(6),
    "french52": _french(2),
    "uno108": _uno(),
}
"""Each pack, unshuffled, in a fixed order that verifiers rely on (part of the fairness contract)."""
