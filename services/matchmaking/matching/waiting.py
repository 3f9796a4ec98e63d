"""A ticket as the matching sees it, and the match that comes of some."""

from __future__ import annotations

from typing import NamedTuple

DEFAULT_RATING = 25.0
"""Of one who has played no rated match: where OpenSkill begins."""


class Waiting(NamedTuple):
    """A ticket that waits, with its players, leader first, and the mu of each. `table` stands for ruleset and seats:
    tickets of one table may meet. `pace` 1 fast to 3 slow, 0 any. `blocked`: whom its players never want to meet;
    `met`: with whom they played last. `partners`: the party sits together in a partnership game."""

    ticket: str
    players: tuple[str, ...]
    table: bytes
    seats: int
    region: str
    created_ms: int
    patience_ms: int
    ratings: tuple[float, ...]
    pace: int = 0
    blocked: frozenset[str] = frozenset()
    met: frozenset[str] = frozenset()
    partners: bool = False

    @property
    def rating(self) -> float:
        """The mean of its players."""
        return sum(self.ratings) / len(self.ratings)

    @property
    def age(self) -> tuple[int, str]:
        """Orders tickets, the oldest first."""
        return self.created_ms, self.ticket

    def patience_left(self, now_ms: int) -> int:
        """Milliseconds until bots are welcome; 0 or less once they are."""
        return self.created_ms + self.patience_ms - now_ms


class Proposal(NamedTuple):
    """A match that can be made: its tickets, oldest first, and the seats that bots take."""

    tickets: tuple[Waiting, ...]
    bots: int
