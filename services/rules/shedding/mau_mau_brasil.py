"""Mau-Mau with two packs, as it is played in Brazil.

Four to eight players get five cards each from two packs of 52. The start card counts as the first player's own. One
lays a card of the suit or rank on top, or draws one and then lays any card that fits. An ace leaves the next player
out, a queen turns the direction, a 7 makes the next player take two cards or answer with a 7, a 9 makes the player
before take one. A Jack names the suit and fits on everything but a 7, on which only its suit helps it.

Whoever is on turn with two cards of which one fits presses Mau-Mau before laying it; pressing without cause costs five
cards, and after pressing one must lay a card. Who forgot can be accused until the next player has laid a card or ended
the turn: five cards for the offender, or for an accuser who finds nobody. The round ends with the first empty hand;
the cards left are counted, fewest points are first, and one round is a match.

What belongs to this game alone is data: `call.timing` (`calls.py`), `effects` and the start card (`deal.py`).
"""

from __future__ import annotations

from typing import Final

from services.rules.ruleset import GameRules
from services.rules.shedding.options import FRENCH_PACKS, conflicts, options_of, seats

MAU_MAU_BRASIL: Final = GameRules(
    game="mau-mau-brasil",
    title="Mau-Mau Brasil",
    presets=("mau-mau-brasil",),
    options=options_of("b", "french52", FRENCH_PACKS),
    conflicts=conflicts,
    seats=seats,
)
