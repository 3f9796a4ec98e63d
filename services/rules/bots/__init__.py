"""Bots: what plays a seat for nobody, or for somebody who is away.

A bot sees what a person on its seat sees: the view and the legal actions. Chance comes in as a `random.Random`, so that
the same position and the same chance give the same action.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from services.rules.actions import Action
from services.rules.bots import heuristic, random_legal
from services.rules.bots.levels import BotLevel
from services.rules.ruleset import Ruleset
from services.rules.views import View

__all__ = ["BotLevel", "choose"]


def choose(
    level: BotLevel, view: View, legal: Sequence[Action], seat: int, ruleset: Ruleset, chance: random.Random
) -> Action:
    """What a bot of this level does with these legal actions, of which there is at least one. SEARCH stands for the
    heuristic: a search that was in time acts by itself."""
    if level is BotLevel.RANDOM:
        return random_legal.choose(legal, chance)
    return heuristic.choose(view, legal, seat, ruleset, chance)
