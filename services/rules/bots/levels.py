"""The levels of bots."""

from __future__ import annotations

from enum import Enum


class BotLevel(Enum):
    """How well a bot plays. Values are stable and stored."""

    RANDOM = 1  # any legal action
    HEURISTIC = 2  # rules of thumb
    SEARCH = 3  # rules of thumb, unless a search gave its move in time
