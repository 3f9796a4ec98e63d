"""The bot that takes any legal action."""

from __future__ import annotations

import random
from collections.abc import Sequence

from services.rules.actions import Action


def choose(legal: Sequence[Action], chance: random.Random) -> Action:
    """One of the legal actions, each with equal chance."""
    return legal[chance.randrange(len(legal))]
