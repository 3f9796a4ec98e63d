"""Mau-Mau with 32 cards.

Two to four players get five cards each from a pack of 7 to ace. One lays a card of the suit or rank that lies on top,
or draws one, which may be laid at once if it fits. A 7 makes the next player take two, unless he lays a 7 too: then it
is four for the one after him. An 8 leaves the next player out, a 9 turns the direction, a Jack fits on everything and
names the suit that must follow. Whoever goes down to one card says Mau, and Mau Mau if that card is a Jack; the others
may catch him until the next player begins, which costs two cards. A finish with a Jack that was not announced with Mau
Mau can be contested. The first without cards gets what the others hold; 150 points win the match.

What belongs to this game alone: the contest (`finish.py`), and that a player who is caught while he is on turn again
loses that turn (`calls.py`).
"""

from __future__ import annotations

from typing import Final

from services.rules.ruleset import GameRules
from services.rules.shedding.options import FRENCH_PACKS, conflicts, options_of, seats

MAU_MAU_32: Final = GameRules(
    game="mau-mau-32",
    title="Mau-Mau",
    presets=("mau-mau-32",),
    options=options_of("a", "piquet32", FRENCH_PACKS),
    conflicts=conflicts,
    seats=seats,
)
