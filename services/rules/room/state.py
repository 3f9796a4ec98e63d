"""A room as a value: frozen, so that a refused action cannot leave a trace in it."""

from __future__ import annotations

import functools
import json
from enum import Enum
from typing import Any

import msgspec

from services.rules.bots.levels import BotLevel
from services.rules.events import Points
from services.rules.fairness import DealProof, FairShuffler
from services.rules.outcome import Outcome
from services.rules.room.settings import RoomSettings
from services.rules.ruleset import Ruleset, make_ruleset

SCHEMA = 1
"""Number of the newest stored form (`codec.FORMS`). A room keeps the one that it was made with."""

ENGINE_REVISION = 1
"""Raised by every fix that changes an outcome (`codec.REVISIONS`); a room keeps the one that it was made with."""


class RoomPhase(Enum):
    """Where a room is in its life. Values are stable and stored."""

    OPEN = 1  # seats are taken, options changed, people get ready
    READY_CHECK = 2  # open, and the match starts by itself when all are ready
    PLAYING = 3  # a round is being played
    PAUSE = 4  # between two rounds of a match
    FINISHED = 5  # a match has ended; a rematch may follow
    CLOSED = 6


IN_MATCH = (RoomPhase.PLAYING, RoomPhase.PAUSE)


class Seat(msgspec.Struct, frozen=True, array_like=True):
    """A taken seat: of a bot, which has a level, or of a person, who has an identity.

    `joined` orders seats by when they were taken. In a match: `away` (a bot plays for the person), `left` (the person
    left on purpose, a bot plays on), `timeouts` in a row, `round_ready` for the next round."""

    player: str
    name: str
    level: BotLevel | None
    joined: int
    ready: bool = False
    contribution: bytes = b""
    muted: bool = False
    away: bool = False
    left: bool = False
    timeouts: int = 0
    round_ready: bool = False

    @property
    def is_person(self) -> bool:
        return self.level is None

    @property
    def played_by_bot(self) -> bool:
        return self.level is not None or self.away or self.left


class SeatCounts(msgspec.Struct, frozen=True, array_like=True):
    """What is counted of a seat in a match, for scoring. `bot_turns` are those turns that a bot played for the
    person."""

    turns: int = 0
    bot_turns: int = 0
    rounds_won: int = 0
    calls_missed: int = 0
    accusations_right: int = 0
    accusations_wrong: int = 0


class Began(msgspec.Struct, frozen=True, array_like=True):
    """Since when something that actions act on is there: its serial number and the version that began it."""

    serial: int
    version: int


class Upcoming(msgspec.Struct, frozen=True, array_like=True):
    """The next match, whose seed is committed to before anybody is ready. The seed is secret."""

    match_id: str
    seed: bytes


class Match(msgspec.Struct, frozen=True, array_like=True):
    """A match that runs or ran last. `state` is the engine's; `began` by name in `engine.Subjects`; `turn_counted` the
    serial of the last turn in `counts`; `points` one entry a round that ended. `outcome` once it is over. `preset` and
    `options` say what it was played by, once the room has another ruleset; empty while it is the room's."""

    number: int
    proof: DealProof
    seed: bytes
    first_version: int
    state: Any
    began: dict[str, Began]
    counts: tuple[SeatCounts, ...]
    round: int = 0
    turn_counted: int = -1
    points: tuple[Points, ...] = ()
    scores: Points = ()
    outcome: Outcome | None = None
    last_version: int = 0
    unrated: bool = False
    preset: str = ""
    options: str = ""

    @property
    def shuffler(self) -> FairShuffler:
        return FairShuffler(self.proof, self.seed)


class Accepted(msgspec.Struct, frozen=True, array_like=True):
    """An accepted request: its id, what it became, and a digest of what it asked for."""

    request_id: bytes
    version: int
    digest: bytes


class Room(msgspec.Struct, frozen=True, array_like=True):
    """The stored place with id, ruleset, seats and version.

    `options` is the canonical JSON of what was chosen besides the preset. `seats` has one entry a seat, None where it
    is free; in a match the first `match.proof.seats` of them play. `generation` counts invite codes, `joined` taken
    seats, `ready_since` is the version before which a ready was meant for other options. `requests` holds the last
    accepted requests of each player; the clock's and the server's stand under the empty id."""

    schema: int
    revision: int
    id: str
    version: int
    phase: RoomPhase
    preset: str
    options: str
    settings: RoomSettings
    host: str
    seats: tuple[Seat | None, ...]
    upcoming: Upcoming
    generation: int = 1
    joined: int = 0
    ready_since: int = 0
    pause_since: int = 0
    rematch: bool = False
    next_dealer: int | None = None
    banned: tuple[str, ...] = ()
    match: Match | None = None
    matches: int = 0
    requests: dict[str, tuple[Accepted, ...]] = {}

    @property
    def ruleset(self) -> Ruleset:
        return ruleset_of(self.preset, self.options)

    @property
    def match_ruleset(self) -> Ruleset:
        """What the match is or was played by; after it, a rematch may be agreed on by another."""
        match = self.match
        return self.ruleset if match is None or not match.preset else ruleset_of(match.preset, match.options)

    @property
    def chosen(self) -> dict[str, Any]:
        """What was chosen besides the preset."""
        chosen: dict[str, Any] = json.loads(self.options)
        return chosen

    def seat_of(self, player: str) -> int | None:
        """The seat of this person, or None."""
        for number, seat in enumerate(self.seats):
            if seat is not None and seat.level is None and seat.player == player:
                return number
        return None

    def taken(self) -> list[tuple[int, Seat]]:
        """Taken seats with their numbers, in order."""
        return [(number, seat) for number, seat in enumerate(self.seats) if seat is not None]

    def people(self) -> list[tuple[int, Seat]]:
        """Seats of people who have not left, in order."""
        return [(n, s) for n, s in self.taken() if s.level is None and not s.left]


@functools.lru_cache(maxsize=128)
def ruleset_of(preset: str, options: str) -> Ruleset:
    """The ruleset with these options (canonical JSON). Raises RulesetError. Those that are kept grow to 0.4 MB each
    with what they were asked; anybody can make a new one, and one is made anew in 0.1 ms."""
    return make_ruleset(preset, json.loads(options))


def canonical_options(ruleset: Ruleset) -> str:
    """What was chosen besides the preset, in the form that a room stores."""
    return json.dumps(_plain(ruleset.chosen), sort_keys=True, separators=(",", ":"))


def _plain(value: Any) -> Any:
    return {key: _plain(v) for key, v in value.items()} if hasattr(value, "items") else value
