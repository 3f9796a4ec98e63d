"""How a match ended."""

from __future__ import annotations

import msgspec

from services.rules.events import MatchEndCause, Points


class Outcome(msgspec.Struct, frozen=True):
    """`scores` by seat (shedding games) or partnership (Tranca); `places` and `winners` by seat, places from 1 and
    shared by equals; `partnerships` gives each seat's partnership, where there are some."""

    cause: MatchEndCause
    scores: Points
    places: tuple[int, ...]
    winners: tuple[int, ...]
    rounds: int
    partnerships: tuple[int, ...] = ()
