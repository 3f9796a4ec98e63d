"""The ledger of a pool, replayed from its beginning: what must be stored if everything was counted as it came in."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from services.scoring.periods import Span, spans_of
from services.scoring.standings import BEGINNER, CountedMatch, Standing, count, encode, read_match
from services.store.keys import Entrant
from services.store.ledgers import Entry


class Touched(NamedTuple):
    """What changed since somebody looked last."""

    entrants: set[Entrant]
    lines: dict[str, set[Entrant]]
    """By the name of the span."""


class UnknownVoid(Exception):  # noqa: N818 - the replay has to begin again
    """A result that was counted in is taken back by a later entry."""


class Replay:
    """Takes entries in order. `voids` are the results taken back by any entry that is known of."""

    def __init__(self, voids: Collection[int]) -> None:
        self._voids = voids
        self.position = 0
        self.season = ""
        self.standings: dict[Entrant, Standing] = {}
        self.boards: dict[str, dict[Entrant, int]] = {}
        self.ends_ms: dict[str, int] = {}
        self._touched = Touched(set(), {})

    def take(self, entry: Entry) -> None:
        """The next entry. Raises UnknownVoid."""
        if entry.kind == "result" and entry.position not in self._voids:
            self._count(read_match(entry.body))
        elif entry.kind == "void" and entry.voids not in self._voids:
            raise UnknownVoid
        elif entry.kind in ("open", "close"):
            self.season = entry.season if entry.kind == "open" else ""
        elif entry.kind == "forget":
            self._forget(entry.entrant)
        self.position = entry.position

    def _count(self, match: CountedMatch) -> None:
        people = [seat.entrant for seat in match.seats if seat.entrant]
        effect = count(match, {entrant: self.standings.get(entrant, BEGINNER) for entrant in people})
        self.standings.update(effect.standings)
        self._touched.entrants.update(people)
        for span in spans_of(match.ended_ms, self.season):
            self._add(span, effect.changes)

    def _add(self, span: Span, changes: dict[Entrant, int]) -> None:
        board = self.boards.setdefault(span.name, {})
        self.ends_ms[span.name] = span.ends_ms
        for entrant, change in changes.items():
            board[entrant] = board.get(entrant, 0) + change
        self._touched.lines.setdefault(span.name, set()).update(changes)

    def _forget(self, entrant: Entrant) -> None:
        self.standings.pop(entrant, None)
        self._touched.entrants.add(entrant)
        for span, board in self.boards.items():
            if board.pop(entrant, None) is not None:
                self._touched.lines.setdefault(span, set()).add(entrant)

    def touched(self) -> Touched:
        """What changed since the last call."""
        touched, self._touched = self._touched, Touched(set(), {})
        return touched

    def stored(self, entrant: Entrant) -> bytes | None:
        """What must be stored of an entrant; None for nothing."""
        standing = self.standings.get(entrant)
        return None if standing is None else encode(standing)
