"""The one list of games and presets."""

from __future__ import annotations

from services.rules.ruleset import GameRules, RulesetError
from services.rules.shedding.mau_mau_32 import MAU_MAU_32
from services.rules.shedding.mau_mau_brasil import MAU_MAU_BRASIL
from services.rules.shedding.uno import UNO
from services.rules.tranca.options import RULES as TRANCA

GAMES: dict[str, GameRules] = {rules.game: rules for rules in (MAU_MAU_32, MAU_MAU_BRASIL, UNO, TRANCA)}
"""Game name to its declaration, in the order in which they are shown."""

ALL_OPTION_KEYS: frozenset[str] = frozenset(key for rules in GAMES.values() for key in rules.options)


def game_of_preset(preset: str) -> GameRules:
    """The game whose preset this is. Raises RulesetError (UNKNOWN_RULESET)."""
    for rules in GAMES.values():
        if preset in rules.presets:
            return rules
    known = ", ".join(p for rules in GAMES.values() for p in rules.presets)
    raise RulesetError("UNKNOWN_RULESET", ("ruleset",), preset, f"one of {known}")
