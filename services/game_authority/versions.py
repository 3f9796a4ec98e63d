"""One version of a room on its way out: where it came from, and what it is for which viewer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from services.game_authority.live_room import Asked, Made
from services.rules.actions import Action
from services.rules.room.actions import Actor, Player, RoomAction, Timeout
from services.rules.room.events import RoomEvent
from services.rules.room.journal import decode_entry
from services.rules.room.settings import Spectators
from services.rules.room.state import Room
from services.rules.room.views import game_actions
from services.store.records import Clock, Head, LogEntry
from services.wire.resume import resume_token
from services.wire.updates import EncodedVersion, actor_message
from services.wire.views import legal_bytes

NOTHING: Final[tuple[tuple[Action, ...], tuple[Action, ...]]] = ((), ())
"""No legal and no penal actions."""


class Version(NamedTuple):
    """One version to deliver. `room` is the state it led to, None where it was read from the log; `asked` whom it
    answers, if it was made here for a `Play` stream."""

    head: Head
    mark_before: bytes
    time: int
    actor: Actor
    action: RoomAction
    events: Sequence[RoomEvent]
    clock: Clock
    room: Room | None
    asked: Asked | None = None


def from_log(entry: LogEntry) -> Version:
    """The version of a log entry."""
    told = decode_entry(entry.payload)
    head = Head(entry.version, entry.mark)
    return Version(head, entry.mark_before, entry.time, told.actor, told.action, told.events, entry.clock, None)


def as_made(made: Made, head: Head, mark_before: bytes, clock: Clock) -> Version:
    """The version that was made here: nothing of it has to be decoded."""
    return Version(head, mark_before, clock.now, made.actor, made.action, made.events, clock, made.room, made.asked)


def encoded(room: Room, version: Version) -> EncodedVersion:
    """What all viewers of the version have in common."""
    actor = actor_message(version.actor, _seat_of_actor(room, version))
    token = resume_token(room.id, *version.head)
    return EncodedVersion(version.head.version, version.time, actor, version.clock, token)


def _seat_of_actor(room: Room, version: Version) -> int | None:
    if isinstance(version.action, Timeout):
        return version.action.seat
    return room.seat_of(version.actor.id) if isinstance(version.actor, Player) else None


def in_play(room: Room, seat: int | None) -> int | None:
    """The viewer for the rules: a seat that plays in the match, or a spectator. Who left sees what spectators see."""
    if seat is None or seat >= len(room.seats):  # the room has fewer seats by now
        return None
    taken = room.seats[seat]
    return None if taken is None or taken.left else seat


def may_watch(room: Room, player: str) -> bool:
    """Who may look at a room: its seats, and spectators where it is public and has them, at once or late."""
    if room.seat_of(player) is not None:
        return True
    return room.settings.is_watchable and player not in room.banned


def is_behind(room: Room, player: str) -> bool:
    """Whether this player sees the room late: where spectators do, everybody who does not play."""
    return room.settings.spectators is Spectators.DELAYED and in_play(room, room.seat_of(player)) is None


def in_an_earlier_match(room: Room, version: int) -> bool:
    """Whether what came after this version belongs to a match before the present one."""
    return room.match is not None and room.matches > 1 and version + 1 < room.match.first_version


def legal_of(room: Room, seat: int) -> bytes:
    """What the seat may do now, encoded."""
    return legal_bytes(*game_actions(room, in_play(room, seat)))
