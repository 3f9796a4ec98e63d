"""How far two tickets are apart, and which may not meet at all."""

from __future__ import annotations

from typing import Final

from services.matchmaking.matching.waiting import Waiting

PACE_POINTS: Final = 1.5
"""For each step between two stated paces."""
MET_POINTS: Final = 12.0
"""For those who have just played together."""


def distance(one: Waiting, other: Waiting) -> float:
    """In points of mu."""
    points = abs(one.rating - other.rating)
    if one.pace and other.pace:
        points += PACE_POINTS * abs(one.pace - other.pace)
    if not one.met.isdisjoint(other.players) or not other.met.isdisjoint(one.players):
        points += MET_POINTS
    return points


def may_meet(one: Waiting, other: Waiting) -> bool:
    """Whether no player is in both, none blocks one of the other, and they are of no two regions."""
    return (
        one.blocked.isdisjoint(other.players)
        and other.blocked.isdisjoint(one.players)
        and set(one.players).isdisjoint(other.players)
        and (not one.region or not other.region or one.region == other.region)
    )
