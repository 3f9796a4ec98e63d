"""What happened in a room, in the past tense, besides the events of the games.

One version has one list of events in which both kinds are mixed, in order. All events of a room are public.
"""

from __future__ import annotations

import msgspec

from services.rules import events as game_events
from services.rules.bots.levels import BotLevel
from services.rules.events import MatchEndCause
from services.rules.fairness import DealProof
from services.rules.room.settings import RoomSettings


class _Event(msgspec.Struct, frozen=True, kw_only=True):
    pass


class RulesetChoice(msgspec.Struct, frozen=True, kw_only=True):
    """A ruleset by what was chosen; `make_ruleset(preset, options)` makes it."""

    preset: str
    options: dict[str, object]


class RoomCreated(_Event, frozen=True):
    """The room exists; its first seats follow."""

    ruleset: RulesetChoice
    settings: RoomSettings


class SeatTaken(_Event, frozen=True):
    """A person sits here now; who sat on another seat has moved."""

    seat: int
    player: str
    name: str


class SeatLeft(_Event, frozen=True):
    """The person gave the seat up; `deserted` in a running match, where the seat stays and a bot plays on."""

    seat: int
    player: str
    deserted: bool


class SeatRemoved(_Event, frozen=True):
    """The seat was freed: of a bot (`player` is empty), or of a person by the host or for not being ready in time."""

    seat: int
    player: str
    banned: bool = False


class BotAdded(_Event, frozen=True):
    """A bot sits here now."""

    seat: int
    level: BotLevel
    name: str


class ReadyChanged(_Event, frozen=True):
    """The person is ready for the match, or is not any more."""

    seat: int
    ready: bool


class OptionsChanged(_Event, frozen=True):
    """Ruleset or settings were changed. Nobody is ready now."""

    ruleset: RulesetChoice
    settings: RoomSettings


class HostChanged(_Event, frozen=True):
    """Another player has the rights of the host."""

    player: str


class InviteRotated(_Event, frozen=True):
    """The invite code was withdrawn; there is another."""


class SeedCommitted(_Event, frozen=True):
    """The seed of the next match was drawn; `commitment` is its SHA-256."""

    match_id: str
    commitment: bytes


class MatchStarted(_Event, frozen=True):
    """The match began. `proof` is what its deals can be checked with; `number` counts the room's matches from 1."""

    proof: DealProof
    number: int


class RoundReady(_Event, frozen=True):
    """The person need not wait for the next round."""

    seat: int


class TimedOut(_Event, frozen=True):
    """The clock acted for a seat; what it did is among the other events of the version. `count` timeouts in a row."""

    seat: int
    count: int


class SeatHandedToBot(_Event, frozen=True):
    """The person is away; a bot plays the seat until the person acts."""

    seat: int


class SeatTakenBack(_Event, frozen=True):
    """The person plays the seat again."""

    seat: int


class MatchFinished(_Event, frozen=True):
    """The match is over; `seed` is what was committed to. It follows the game's `MatchEnded`."""

    match_id: str
    seed: bytes
    cause: MatchEndCause
    unrated: bool


class RematchOffered(_Event, frozen=True):
    """The room is open again; nobody is ready yet."""

    seat: int


class Muted(_Event, frozen=True):
    """The person's chat is not delivered, or is again."""

    seat: int
    muted: bool


class TimeCredited(_Event, frozen=True):
    """The time of an outage was given back."""

    ms: int


class RoomClosed(_Event, frozen=True):
    """The room is closed for good."""

    why: str


RoomOnlyEvent = (
    RoomCreated
    | SeatTaken
    | SeatLeft
    | SeatRemoved
    | BotAdded
    | ReadyChanged
    | OptionsChanged
    | HostChanged
    | InviteRotated
    | SeedCommitted
    | MatchStarted
    | RoundReady
    | TimedOut
    | SeatHandedToBot
    | SeatTakenBack
    | MatchFinished
    | RematchOffered
    | Muted
    | TimeCredited
    | RoomClosed
)

RoomEvent = RoomOnlyEvent | game_events.Event
