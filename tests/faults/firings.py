"""What clocks and bots did in a room, from its log: when each deadline was, when it was carried out, and if it was one.

All times are those of Redis, in ms.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from services.rules.room.actions import Bot, Timeout
from services.rules.room.journal import decode_entry
from services.store.records import LogEntry


class Firing(NamedTuple):
    """A version that a deadline made. `origin` is when what was timed began."""

    room: str
    version: int
    kind: int
    deadline: int
    origin: int
    at: int

    @property
    def late_ms(self) -> int:
        """Negative: early."""
        return self.at - self.deadline


def firings(room: str, log: Sequence[LogEntry]) -> Iterator[Firing]:
    """All of a room."""
    for before, entry in pairwise(log):
        actor, action, _ = decode_entry(entry.payload)
        if isinstance(action, Timeout) or isinstance(actor, Bot):
            clock = before.clock
            yield Firing(room, entry.version, clock.kind, clock.deadline, clock.due_from, entry.time)


def early(fired: Iterable[Firing]) -> list[Firing]:
    """Those that came before their deadline, or without one."""
    return [firing for firing in fired if not firing.deadline or firing.late_ms < 0]


def doubled(fired: Iterable[Firing]) -> list[tuple[str, int, int]]:
    """Room, kind and origin of what was carried out more than once."""
    times = Counter((firing.room, firing.kind, firing.origin) for firing in fired)
    return [what for what, number in times.items() if number > 1]
