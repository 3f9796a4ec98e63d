"""What a day came to, one way of matching beside the other."""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import median
from typing import Any, NamedTuple


class Formed(NamedTuple):
    """A match: the ratings of its people, how long each ticket waited in ms, and how many seats bots took."""

    ratings: tuple[float, ...]
    waits_ms: tuple[int, ...]
    bots: int


@dataclass
class Outcome:
    """A day by one way of matching. `overdue_ms`: the longest that a ticket waited beyond its patience. `promised`:
    estimate and wait, in ms, of the tickets that were told one."""

    formed: list[Formed] = field(default_factory=list)
    given_up: int = 0
    left_behind: int = 0
    overdue_ms: int = 0
    promised: list[tuple[int, int]] = field(default_factory=list)

    def figures(self) -> dict[str, Any]:
        """For the record. The spread is that of the ratings in matches of two people or more."""
        spreads = [max(each.ratings) - min(each.ratings) for each in self.formed if len(each.ratings) > 1]
        waits = sorted(wait / 1000 for each in self.formed for wait in each.waits_ms)
        people = sum(len(each.ratings) for each in self.formed)
        bots = sum(each.bots for each in self.formed)
        kept = sum(wait <= estimate for estimate, wait in self.promised)
        return {
            "matches": len(self.formed),
            "tickets": len(waits),
            "spread_median": round(median(spreads), 2),
            "wait_median_s": round(median(waits), 1),
            "wait_p95_s": round(waits[int(len(waits) * 0.95)], 1),
            "bot_share": round(bots / (bots + people), 3),
            "matches_alone_with_bots": sum(len(each.ratings) == 1 for each in self.formed),
            "given_up": self.given_up,
            "left_behind": self.left_behind,
            "overdue_max_s": round(self.overdue_ms / 1000, 1),
            "estimates": len(self.promised),
            "estimates_kept": round(kept / len(self.promised), 3) if self.promised else None,
        }
