"""Counters and histograms for what happens thousands of times a second.

Those of prometheus_client take a lock for each count, up to ten times what counting costs. These are for what the
thread of the event loop alone counts: it writes without a lock, and what it wrote is added up when somebody asks.
"""

from __future__ import annotations

import contextlib
from bisect import bisect_left
from collections import Counter as Times
from collections import deque
from collections.abc import Iterable
from typing import Final

import prometheus_client
from prometheus_client.samples import Sample

MOST_WAITING: Final = 4_096
"""Observations that wait to be sorted into buckets."""


class Counter(prometheus_client.Counter):
    """Counts in the thread of the event loop."""

    def _metric_init(self) -> None:
        super()._metric_init()
        self._tally = 0.0

    def inc(self, amount: float = 1, exemplar: dict[str, str] | None = None) -> None:
        """As prometheus_client's, without a lock; exemplars are not kept."""
        self._tally += amount

    def _child_samples(self) -> Iterable[Sample]:
        self._value.set(self._tally)
        return super()._child_samples()


class Histogram(prometheus_client.Histogram):
    """Observes in the thread of the event loop."""

    def _metric_init(self) -> None:
        super()._metric_init()
        self._waiting: deque[float] = deque()

    def observe(self, amount: float, exemplar: dict[str, str] | None = None) -> None:
        """As prometheus_client's; exemplars are not kept."""
        self._waiting.append(amount)
        if len(self._waiting) >= MOST_WAITING:
            self._sort_in()

    def _sort_in(self) -> None:
        """Each observation is taken once, also when the thread that shows metrics and the one that counts come at the
        same time."""
        taken = []
        with contextlib.suppress(IndexError):  # the other one was faster
            for _ in range(len(self._waiting)):
                taken.append(self._waiting.popleft())
        self._sum.inc(sum(taken))
        for bucket, times in Times(bisect_left(self._upper_bounds, amount) for amount in taken).items():
            self._buckets[bucket].inc(times)

    def _child_samples(self) -> Iterable[Sample]:
        self._sort_in()
        return super()._child_samples()
