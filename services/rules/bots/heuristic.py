"""The bot that plays by rules of thumb, from what a person on its seat sees. It never does what only costs cards."""

from __future__ import annotations

import random
from collections.abc import Sequence

from services.rules.actions import Action
from services.rules.bots import shedding, tranca
from services.rules.ruleset import Ruleset
from services.rules.views import SheddingView, View


def choose(view: View, legal: Sequence[Action], seat: int, ruleset: Ruleset, chance: random.Random) -> Action:
    """One of the legal actions, or a play of them together with the call that it needs. Equally good ones have equal
    chances."""
    worth = (
        shedding.Table(view, seat, ruleset).worth if isinstance(view, SheddingView) else tranca.Table(view, seat).worth
    )
    best, best_worth = legal[0], float("-inf")
    for action in legal:
        value = worth(action) + chance.random() / 100
        if value > best_worth:
            best, best_worth = action, value
    return shedding.with_call(best, view, ruleset) if isinstance(view, SheddingView) else best
