"""A room as one viewer may know it, built from nothing, field by field.

A viewer is a seat, or None for a spectator. The seed, contributions before the start, request ids and banned players
are in no view.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, cast, get_args

import msgspec

from services.rules import engine
from services.rules.actions import Action
from services.rules.bots.levels import BotLevel
from services.rules.events import Event, Points
from services.rules.fairness import DealProof, commit
from services.rules.game import Viewer
from services.rules.outcome import Outcome
from services.rules.room.events import RoomEvent, RoomOnlyEvent, RulesetChoice
from services.rules.room.making import ruleset_choice
from services.rules.room.settings import RoomSettings
from services.rules.room.state import Match, Room, RoomPhase, Seat
from services.rules.views import View


class SeatView(msgspec.Struct, frozen=True, kw_only=True):
    """A taken seat. `level` is None for a person; `played_by_bot` while a bot plays for the person."""

    player: str
    name: str
    level: BotLevel | None
    ready: bool
    round_ready: bool
    played_by_bot: bool
    deserted: bool
    muted: bool


class MatchView(msgspec.Struct, frozen=True, kw_only=True):
    """The match that runs or ran last. `points` has one entry a round that ended; `seed` is None until the match is
    over; `game` is what the viewer may know of the round."""

    number: int
    proof: DealProof
    round: int
    points: tuple[Points, ...]
    scores: Points
    outcome: Outcome | None
    unrated: bool
    seed: bytes | None
    first_version: int
    game: View


class RoomView(msgspec.Struct, frozen=True, kw_only=True):
    """`commitment` and `next_match_id` are of the next match, None while one runs or after it until a rematch;
    `legal` and `penal` are what the viewer's seat may do in the game now."""

    room_id: str
    version: int
    phase: RoomPhase
    ruleset: RulesetChoice
    settings: RoomSettings
    host: str
    seats: tuple[SeatView | None, ...]
    own_seat: Viewer
    commitment: bytes | None
    next_match_id: str | None
    match: MatchView | None
    legal: tuple[Action, ...]
    penal: tuple[Action, ...]


def room_view(room: Room, viewer: Viewer) -> RoomView:
    """What this viewer may know of the room."""
    is_lobby = room.phase in (RoomPhase.OPEN, RoomPhase.READY_CHECK)
    legal, penal = game_actions(room, viewer)
    return RoomView(
        room_id=room.id,
        version=room.version,
        phase=room.phase,
        ruleset=ruleset_choice(room),
        settings=room.settings,
        host=room.host,
        seats=tuple(None if seat is None else _seat_view(seat) for seat in room.seats),
        own_seat=viewer,
        commitment=commit(room.upcoming.seed) if is_lobby else None,
        next_match_id=room.upcoming.match_id if is_lobby else None,
        match=None if room.match is None else _match_view(room.match, None if is_lobby else viewer),
        legal=legal,
        penal=penal,
    )


def game_actions(room: Room, viewer: Viewer) -> tuple[tuple[Action, ...], tuple[Action, ...]]:
    """Legal and penal actions of the viewer's seat in the game now."""
    if viewer is None or room.match is None or room.phase is not RoomPhase.PLAYING:
        return (), ()
    state = room.match.state
    return tuple(engine.legal_actions(state, viewer)), tuple(engine.penal_actions(state, viewer))


def _seat_view(seat: Seat) -> SeatView:
    return SeatView(
        player=seat.player,
        name=seat.name,
        level=seat.level,
        ready=seat.ready,
        round_ready=seat.round_ready,
        played_by_bot=seat.is_person and seat.played_by_bot,
        deserted=seat.left,
        muted=seat.muted,
    )


def _match_view(match: Match, viewer: Viewer) -> MatchView:
    """After a match seats change hands: in the lobby everybody is a spectator of what was, and so is, when the room
    closes, who sits where nobody did."""
    if viewer is not None and viewer >= match.proof.seats:
        viewer = None
    return MatchView(
        number=match.number,
        proof=match.proof,
        round=match.round,
        points=match.points,
        scores=match.scores,
        outcome=match.outcome,
        unrated=match.unrated,
        seed=match.seed if match.outcome is not None else None,
        first_version=match.first_version,
        game=engine.view(match.state, viewer),
    )


def view_events(room: Room, events: Sequence[RoomEvent], viewer: Viewer) -> Sequence[RoomEvent]:
    """The events of the version that led to this room, in the form that the viewer may know: the very same ones where
    nothing in them is hidden from anybody."""
    if engine.HIDING.isdisjoint(map(type, events)):
        return events
    return [_view_event(room, event, viewer) for event in events]


_OF_ROOMS: Final = frozenset(get_args(RoomOnlyEvent))


def _view_event(room: Room, event: RoomEvent, viewer: Viewer) -> RoomEvent:
    if type(event) in _OF_ROOMS:
        return event
    assert room.match is not None
    return engine.view_event(room.match.state, cast(Event, event), viewer)
