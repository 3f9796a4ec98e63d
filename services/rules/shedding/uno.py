"""UNO.

Two to ten players get seven of 108 cards: four colours with numbers 0 to 9, Skip, Reverse and Draw Two, and eight wild
cards. One lays a card of the colour, number or symbol on top, or draws one, which may be laid at once. A Wild names the
colour; so does a Wild Draw Four, which also makes the next player take four cards. That one should only be laid by a
player who has nothing else that fits: the next player may doubt it, and then either the bluffer takes the four or the
doubter six. With one card left one says UNO or takes two cards if somebody notices. The round ends with the last card;
the winner gets what the others hold, and 500 points win the match.

Three presets: `uno` reads the oldest description to the letter, with sequences and pairs; `uno-mattel` is the sheet in
the box; `uno-casa` has the house rules on: stacking, jumping in, moving hands on a 0 or 7, slapping on a 9, giving on a
2, another turn on an 8. The house rules are functions of `card_effects.py`, `groups.py`, `jump_in.py`, `wild_four.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from services.rules.ruleset import GameRules, Value
from services.rules.shedding.options import conflicts, options_of, seats

CUMULATIVE: Final[Mapping[str, Value]] = {
    "stack.d2onD2": "optional",
    "stack.d4onD4": True,
    "stack.d2onD4": True,
    "stack.d4onD2": False,
}
NOT_CUMULATIVE: Final[Mapping[str, Value]] = {
    "stack.d2onD2": "off",
    "stack.d4onD4": False,
    "stack.d2onD4": False,
    "stack.d4onD2": False,
}


def derive(options: dict[str, Value], chosen: Mapping[str, Value]) -> None:
    """`stack.cumulative` stands for four other options; one that is chosen itself keeps its value."""
    if "stack.cumulative" in chosen:
        options.update(CUMULATIVE if chosen["stack.cumulative"] else NOT_CUMULATIVE)


UNO: Final = GameRules(
    game="uno",
    title="UNO",
    presets=("uno", "uno-mattel", "uno-casa"),
    options=options_of("uno", "uno108", ("uno108",)),
    conflicts=conflicts,
    seats=seats,
    derive=derive,
)
