"""What came of a match that bots played, as one line of JSON."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from maumau.v1 import events_pb2, room_pb2

_CAUSE_PREFIX = "MATCH_END_CAUSE_"


@dataclass(slots=True)
class Versions:
    """The versions that one seat was told, in the order of telling. `holes` counts versions left out, `resets`
    snapshots in place of history, `changed` those of them with a history that was rolled back."""

    count: int = 0
    first: int = 0
    last: int = 0
    holes: int = 0
    repeats: int = 0
    resets: int = 0
    changed: int = 0

    def see(self, version: int) -> None:
        """One more version."""
        if self.count and version > self.last + 1:
            self.holes += version - self.last - 1
        if self.count and version <= self.last:
            self.repeats += 1
        self.first = self.first or version
        self.last = max(self.last, version)
        self.count += 1

    def begin_anew(self, version: int, *, changed: bool) -> None:
        """A snapshot stands in place of what was missed."""
        self.resets += 1
        self.changed += changed
        self.last = version
        self.first = self.first or version


@dataclass(slots=True)
class SeatReport:
    """What one bot did and saw."""

    player: str = ""
    accepted: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    unknown: int = 0
    versions: Versions = field(default_factory=Versions)


@dataclass(slots=True)
class MatchReport:
    """A match. `ok` when it came to its end and every seat saw every version of it."""

    ruleset: str
    seats: list[SeatReport]
    room: str = ""
    view: room_pb2.RoomView | None = None
    duration_seconds: float = 0.0
    error: str = ""

    @property
    def ok(self) -> bool:
        finished = self.view is not None and self.view.HasField("outcome")
        return finished and not self.error and not any(s.versions.holes or s.versions.repeats for s in self.seats)

    def as_json(self) -> str:
        """One line. Keys: room, match, ruleset, ok, error, cause, scores, places, winners, rounds, version, accepted,
        refused (by reason), unknown (actions without an answer), seats (player, accepted, refused, unknown, versions:
        count, first, last, holes, repeats, resets, changed), duration_seconds."""
        return json.dumps(self._values(), separators=(",", ":"))

    def _values(self) -> dict[str, Any]:
        view = self.view or room_pb2.RoomView()
        outcome = view.outcome
        refused: Counter[str] = Counter()
        for seat in self.seats:
            refused.update(seat.refused)
        cause = events_pb2.MatchEndCause.Name(outcome.cause).removeprefix(_CAUSE_PREFIX).lower()
        return {
            "room": self.room,
            "match": view.match_id,
            "ruleset": self.ruleset,
            "ok": self.ok,
            "error": self.error,
            "cause": cause if view.HasField("outcome") else "",
            "scores": list(outcome.scores),
            "places": list(outcome.places),
            "winners": list(outcome.winners),
            "rounds": len(view.rounds),
            "version": view.version,
            "accepted": sum(seat.accepted for seat in self.seats),
            "refused": dict(sorted(refused.items())),
            "unknown": sum(seat.unknown for seat in self.seats),
            "seats": [self._seat(number, seat) for number, seat in enumerate(self.seats)],
            "duration_seconds": round(self.duration_seconds, 3),
        }

    @staticmethod
    def _seat(number: int, seat: SeatReport) -> dict[str, Any]:
        seen = seat.versions
        return {
            "seat": number,
            "player": seat.player,
            "accepted": seat.accepted,
            "refused": dict(sorted(seat.refused.items())),
            "unknown": seat.unknown,
            "versions": {
                "count": seen.count,
                "first": seen.first,
                "last": seen.last,
                "holes": seen.holes,
                "repeats": seen.repeats,
                "resets": seen.resets,
                "changed": seen.changed,
            },
        }
