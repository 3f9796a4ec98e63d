"""What a card does when it is played, as the ruleset has it: the names, and which card has which."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Final

from services.rules.cards import Card, Rank, parse_card
from services.rules.ruleset import Value
from services.rules.shedding.option_values import FRENCH_RANKS


class Effect(Enum):
    """An effect. What it does is the function of the same name in `card_effects.py`."""

    __hash__ = object.__hash__

    NONE = "none"
    # Mau-Mau
    DRAW = "draw"
    SKIP = "skip"
    REVERSE = "reverse"
    WISH = "wish"
    PREVDRAW = "prevdraw"
    AGAIN = "again"
    COPY = "copy"
    TAKE = "take"
    # UNO's own cards
    DRAW_TWO = "draw_two"
    WILD_DRAW_FOUR = "wild_draw_four"
    # UNO's number rules
    ROTATE = "rotate"
    SWAP_MAY = "swap_may"
    SWAP_MUST = "swap_must"
    SILENCE = "silence"
    REACT = "react"
    GIVE = "give"


NUMBER_RULES: Final = frozenset(
    (Effect.ROTATE, Effect.SWAP_MAY, Effect.SWAP_MUST, Effect.SILENCE, Effect.REACT, Effect.GIVE)
)
"""Effects of UNO's numbers: they also work for a card thrown in, and never for a start card. So does UNO's 8."""

Effects = dict[Card, tuple[Effect, int]]
"""Effect and, for TAKE, how many cards."""

_UNO: Final = {
    Rank.SKIP: Effect.SKIP,
    Rank.REVERSE: Effect.REVERSE,
    Rank.DRAW_TWO: Effect.DRAW_TWO,
    Rank.WILD: Effect.WISH,
    Rank.WILD_DRAW_FOUR: Effect.WILD_DRAW_FOUR,
}

_NUMBER_RULE_OF: Final = {
    "rule0": (Rank.NUMBER_0, {"rotate": Effect.ROTATE, "swap_may": Effect.SWAP_MAY, "swap_must": Effect.SWAP_MUST}),
    "rule2": (Rank.NUMBER_2, {"give": Effect.GIVE}),
    "rule7": (Rank.NUMBER_7, {"swap": Effect.SWAP_MUST, "silence": Effect.SILENCE}),
    "rule8": (Rank.NUMBER_8, {"again": Effect.AGAIN}),
    "rule9": (Rank.NUMBER_9, {"slap": Effect.REACT, "shout": Effect.REACT}),
}


def mau_mau_effects(faces: Iterable[Card], options: Mapping[str, Value]) -> Effects:
    """`effects` by rank, then `effects.byCard` instead of it."""
    by_rank, by_card = options["effects"], options["effects.byCard"]
    assert isinstance(by_rank, Mapping)
    assert isinstance(by_card, Mapping)
    of_rank = {FRENCH_RANKS[letter]: _named(str(name)) for letter, name in by_rank.items()}
    effects = {card: of_rank.get(card.rank, (Effect.NONE, 0)) for card in faces}
    effects.update({parse_card(text): _named(str(name)) for text, name in by_card.items()})
    return effects


def uno_effects(faces: Iterable[Card], options: Mapping[str, Value]) -> Effects:
    """The printed symbols, and the number rules that are on."""
    of_rank = dict(_UNO)
    for key, (rank, by_value) in _NUMBER_RULE_OF.items():
        effect = by_value.get(str(options[key]))
        if effect is not None:
            of_rank[rank] = effect
    return {card: (of_rank.get(card.rank, Effect.NONE), 0) for card in faces}


def _named(name: str) -> tuple[Effect, int]:
    if name.startswith("take"):
        return Effect.TAKE, int(name.removeprefix("take"))
    return Effect(name), 0
