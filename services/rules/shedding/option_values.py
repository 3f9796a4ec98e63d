"""The options whose value is a map, or a number or word: how they are checked, and their normal form."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from services.rules.cards import COLOURS, FRENCH_SUITS, Card, Rank, parse_card
from services.rules.ruleset import Value

FRENCH_RANKS: Final = {rank.letter: rank for rank in Rank if rank.value <= Rank.ACE.value}
UNO_RANKS: Final = {rank.letter: rank for rank in Rank if rank.value >= Rank.NUMBER_0.value}

RANK_EFFECTS: Final = ("draw", "skip", "reverse", "wish", "prevdraw", "again", "copy")

_NUMBERS: Final = {letter: rank.value for letter, rank in FRENCH_RANKS.items() if rank.value <= Rank.TEN.value}
POINTS_A: Final[Mapping[str, int]] = {**_NUMBERS, "J": 20, "Q": 10, "K": 10, "A": 10}
POINTS_B: Final[Mapping[str, int]] = {**_NUMBERS, "J": 30, "Q": 10, "K": 10, "A": 1}
POINTS_C: Final[Mapping[str, int]] = {
    **{str(n): n for n in range(10)},
    **dict.fromkeys(("s", "r", "+2"), 20),
    **dict.fromkeys(("W", "W4"), 50),
}


def effects_by_rank(value: object) -> Value:
    """A rank that is left out or set to `none` has no effect; ranks are written in pack order."""
    chosen = {_rank_letter(rank): _effect(effect, cards=False) for rank, effect in _mapping(value).items()}
    return {rank: chosen[rank] for rank in FRENCH_RANKS if chosen.get(rank, "none") != "none"}


def effects_by_card(value: object) -> Value:
    """`none` is kept here: it takes a card's effect away."""
    chosen = {_french_card(card): _effect(effect, cards=True) for card, effect in _mapping(value).items()}
    return {card.text(): effect for card, effect in sorted(chosen.items(), key=lambda item: item[0].code)}


def points_table(default: Mapping[str, int]) -> Callable[[object], Value]:
    """The check of a table of points; ranks that are left out keep their value."""

    def check(value: object) -> Value:
        table = dict(default)
        for rank, points in _mapping(value).items():
            letter = "T" if rank == "10" else rank
            if letter not in table:
                raise ValueError(value)
            table[letter] = _whole_number(points, 0, 1000)
        return table

    return check


def match_target(value: object) -> Value:
    """`single`, a number of points, or `rounds:k`."""
    if not isinstance(value, str):
        return _whole_number(value, 1, 100_000)
    rounds = re.fullmatch(r"rounds:([1-9]\d{0,3})", value)
    if value == "single" or (rounds and int(rounds[1]) <= 1000):
        return value
    raise ValueError(value)


def _mapping(value: object) -> Mapping[str, object]:
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise ValueError(value)
    return value


def _whole_number(value: object, least: int, most: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise ValueError(value)
    return value


def _rank_letter(text: str) -> str:
    letter = "T" if text == "10" else text
    if letter not in FRENCH_RANKS:
        raise ValueError(text)
    return letter


def _french_card(text: str) -> Card:
    card = parse_card(text)
    if card.suit in COLOURS or card.suit not in FRENCH_SUITS:
        raise ValueError(text)
    return card


def _effect(value: object, *, cards: bool) -> str:
    known = value == "none" or value in RANK_EFFECTS or (cards and re.fullmatch(r"take[1-9]", str(value)))
    if not isinstance(value, str) or not known:
        raise ValueError(value)
    return value
