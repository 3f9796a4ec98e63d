"""What the clients of one run measure: accepted actions, and the time from an action to the next player seeing it."""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter


class Meter:
    """Counts while it is `on`. `think` is what a player waits before it acts, in seconds, half to one and a half
    times."""

    def __init__(self) -> None:
        self.on = False
        self.think = 0.0
        self.accepted = 0
        self.refused: Counter[str] = Counter()
        self.seen: list[float] = []

    def start(self) -> None:
        """From now on everything counts, what came before does not."""
        self.accepted = 0
        self.refused.clear()
        self.seen = []
        self.on = True

    async def pause(self) -> None:
        """What a player does before it acts."""
        if self.think:
            await asyncio.sleep(self.think * random.uniform(0.5, 1.5))


class Turns:
    """The turns of one room: who sent an action last, and when."""

    def __init__(self, meter: Meter) -> None:
        self._meter = meter
        self._sent: tuple[int, float] | None = None

    def sends(self, seat: int) -> None:
        """This seat sends its action now."""
        self._sent = (seat, time.perf_counter())

    def is_on(self, seat: int) -> None:
        """This seat has just seen that it has to act. Only the next player counts, not who goes on himself."""
        if self._sent is not None and self._sent[0] != seat and self._meter.on:
            self._meter.seen.append(time.perf_counter() - self._sent[1])
        self._sent = None

    def end_round(self) -> None:
        """Who acts next does so after a pause for the next round, which is not the way of the last action."""
        self._sent = None


def percentile(values: list[float], share: float) -> float | None:
    """The value below which this share of them lies; None of none."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))] if ordered else None
