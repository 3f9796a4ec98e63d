"""How long events took from the one who acted to those who watched, by the clients' own clocks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from tests.faults.history import Outcome, Records

NOISE_SECONDS: Final = 0.05
"""By so much a p99 of some hundred events differs from one run to the next on two busy cores."""


def event_delays(records: Records, begin: int = 0, end: int = 1 << 63) -> list[float]:
    """Seconds from each call that was made between `begin` and `end` (ns, monotonic) and accepted until each client
    saw its version."""
    called = {
        (call.room, call.version): call.called
        for call in records.calls
        if call.outcome is Outcome.ACCEPTED and begin <= call.called < end
    }
    return [
        (sighting.at - called[where]) / 1e9
        for sighting in records.sightings
        if sighting.cause == "update" and (where := (sighting.room, sighting.version)) in called
    ]


def quantile(values: Sequence[float], share: float) -> float:
    """The value that so large a share of them does not exceed (nearest rank)."""
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


def is_unchanged(before: float, during: float, ratio: float) -> bool:
    """Whether a p99 grew by no more than this ratio, or by no more than the noise."""
    return during <= max(ratio * before, before + NOISE_SECONDS)
