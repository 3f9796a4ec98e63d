"""Tranca, the partnership game of runs, sets and canastas (rules.md 5). Start at `game.py`."""

from services.rules.tranca.game import GAME
from services.rules.tranca.options import RULES

__all__ = ["GAME", "RULES"]
