"""The time of Redis on this process's own clock, so that the age of a commit can be told without asking."""

from __future__ import annotations

import asyncio


class RedisTime:
    """What Redis said last, carried on by the clock of the event loop. As exact as half of a round trip."""

    def __init__(self) -> None:
        self._ahead_ms = 0.0
        self.heard_ms = 0
        """The time that Redis named last, in ms; 0 before it has named one."""

    def heard(self, now_ms: int, asked_at: float) -> None:
        """Redis answered `now_ms` to a question asked at `asked_at`, in seconds of the event loop."""
        middle = (asked_at + asyncio.get_running_loop().time()) / 2
        self._ahead_ms = now_ms - middle * 1000
        self.heard_ms = now_ms

    def on_loop(self, redis_ms: int) -> float | None:
        """That time of Redis, in seconds of the event loop; None before Redis has named one."""
        return (redis_ms - self._ahead_ms) / 1000 if self.heard_ms else None
