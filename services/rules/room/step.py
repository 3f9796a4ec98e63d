"""What goes into judging an action besides room and action, and what comes out."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from services.rules.events import MatchEndCause, Points
from services.rules.fairness import DealProof
from services.rules.room.clock import ClockChange
from services.rules.room.events import RoomEvent
from services.rules.room.settings import DEFAULT_TIMES, ServerTimes
from services.rules.room.state import ENGINE_REVISION, SCHEMA, Room, SeatCounts

REQUEST_ID_BYTES = 16


class Context(msgspec.Struct, frozen=True, kw_only=True):
    """What the caller supplies. `request_id`: 16 bytes, or None where repeats need not be known. `version`: the version
    on which the action was decided, None where the caller judged the present state. `match_id` and `seed` (32 secret
    random bytes): of the match after the one at hand, needed by `CreateRoom` and `Rematch`. `absent`: seats of people
    that have no live stream, as just read. `schema` and `revision`: what a new room is made with."""

    request_id: bytes | None = None
    version: int | None = None
    match_id: str = ""
    seed: bytes = b""
    absent: frozenset[int] = frozenset()
    times: ServerTimes = DEFAULT_TIMES
    schema: int = SCHEMA
    revision: int = ENGINE_REVISION


class ResultSeat(msgspec.Struct, frozen=True, kw_only=True):
    """A seat in a result. `player` is empty for a bot. `side` is the partnership in Tranca, else the seat."""

    player: str
    name: str
    is_bot: bool
    side: int
    place: int
    winner: bool
    deserted: bool
    counts: SeatCounts


class MatchResult(msgspec.Struct, frozen=True, kw_only=True):
    """What scoring hears when a match is over, once a match. `family` is the rating pool; `label` the preset or
    `custom`; `points` one entry a round; `scores` by seat or partnership. `unrated`: aborted, or somebody left before
    every seat had had a turn. `watchable`: spectators could watch it, `delay_seconds` behind."""

    match_id: str
    room_id: str
    number: int
    game: str
    family: str
    preset: str
    options: str
    label: str
    ruleset_hash: bytes
    seats: tuple[ResultSeat, ...]
    points: tuple[Points, ...]
    scores: Points
    cause: MatchEndCause
    unrated: bool
    first_version: int
    last_version: int
    proof: DealProof
    seed: bytes
    engine_revision: int
    watchable: bool = False
    delay_seconds: int = 0


class Listing(msgspec.Struct, frozen=True, kw_only=True):
    """What the room list shows of an open public room."""

    room_id: str
    preset: str
    options: str
    label: str
    title: str
    seats: int
    free_seats: int
    people: int


class RoomStep(NamedTuple):
    """An accepted action: the next room, its events in order, what the clock does, results for scoring, and the line
    of the room list (None: not listed; write it when `relist`)."""

    room: Room
    events: list[RoomEvent]
    clock: ClockChange
    results: list[MatchResult]
    listing: Listing | None
    relist: bool
