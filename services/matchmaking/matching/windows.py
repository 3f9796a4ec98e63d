"""The curve of the windows: how far a ticket looks after having waited."""

from __future__ import annotations

import math
from typing import Final

from services.matchmaking.matching.waiting import Waiting

FIRST_POINTS: Final = 1.0
DOUBLINGS: Final = 4
LONGEST_WIDENING_MS: Final = 60_000


def window(ticket: Waiting, now_ms: int) -> float:
    """In points of mu to either side; infinite once the window is as wide as it gets."""
    widening = min(ticket.patience_ms, LONGEST_WIDENING_MS)
    waited = max(0, now_ms - ticket.created_ms)
    if waited >= widening:
        return math.inf
    return FIRST_POINTS * math.pow(2.0, DOUBLINGS * waited / widening)
