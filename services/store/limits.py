"""Rate limits that hold over all processes: one time stamp in Redis for each subject and class of calls."""

from __future__ import annotations

from typing import NamedTuple

from services.store import scripts
from services.store.batcher import Pipelines


class Rate(NamedTuple):
    """What is allowed: `per_second` calls in the long run, `burst` of them at once after a silence."""

    per_second: float
    burst: int

    @property
    def interval_us(self) -> int:
        """What one call is worth, in microseconds."""
        return round(1_000_000 / self.per_second)


class Charged(NamedTuple):
    """What Redis says: whether the calls were within the limit, how long until one more would be, and how much of the
    past calls has not worn off. Times in seconds."""

    within: bool
    wait: float
    debt: float


class LimitStore:
    """Charges calls to limits."""

    def __init__(self, pipelines: Pipelines) -> None:
        self._keys = pipelines.keys
        self._writes = pipelines.writes

    async def charge(self, kind: str, subject: str, rate: Rate, calls: int = 1, *, always: bool = False) -> Charged:
        """Counts `calls` of a subject; those above the limit count only with `always` (they were let through already).
        Raises `StoreUnavailable`."""
        args = (rate.interval_us, rate.burst, calls, int(always))
        within, wait, debt = await self._writes.script(scripts.GCRA, (self._keys.limit(kind, subject),), args)
        return Charged(bool(within), wait / 1e6, debt / 1e6)
