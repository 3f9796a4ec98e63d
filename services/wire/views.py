"""What a viewer may know of a game and of a room, on the wire."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, Protocol

from maumau.v1 import events_pb2, room_pb2

from services.rules import views as game
from services.rules.actions import Action
from services.rules.events import Points
from services.rules.outcome import Outcome
from services.rules.room.clock import TimerKind
from services.rules.room.state import RoomPhase
from services.rules.room.views import MatchView, RoomView, SeatView
from services.wire.actions import action_field
from services.wire.cards import CARD, SUIT, WORD
from services.wire.events import DEAL_PROOF, HAND, MATCH_END_CAUSE, MELD, ROUND_END_CAUSE
from services.wire.forms import Forms, enum_form, list_form
from services.wire.rulesets import room_ruleset_message
from services.wire.settings import BOT_LEVEL, settings_message
from services.wire.times import timestamp, write_timestamp

PHASE: Final = enum_form(game.Phase, room_pb2.Phase.DESCRIPTOR)
ROOM_STATE: Final = enum_form(RoomPhase, room_pb2.RoomState.DESCRIPTOR)
DEADLINE_KIND: Final = enum_form(TimerKind, room_pb2.DeadlineKind.DESCRIPTOR)

_LAST_ROUND: Final = Forms({"RoundEndCause": ROUND_END_CAUSE, "Hand": HAND}).struct(
    game.LastRound, room_pb2.LastRound.DESCRIPTOR
)
_KINDS_OF_DEADLINES: Final = {0: DEADLINE_KIND.write(None)} | {
    kind.value: DEADLINE_KIND.write(kind) for kind in TimerKind
}
_SHEDDING: Final = Forms({"Card": CARD, "Suit": SUIT, "Word": WORD, "Phase": PHASE, "LastRound": _LAST_ROUND}).struct(
    game.SheddingView, room_pb2.SheddingView.DESCRIPTOR, {"kind": "debt_kind", "drew": "drawn", "said": "calls"}
)
_LEGAL: Final = room_pb2.LegalActions.ACTIONS_FIELD_NUMBER
_PENAL: Final = room_pb2.LegalActions.PENAL_FIELD_NUMBER
_cards: Final = list_form(CARD).write
_melds: Final = list_form(MELD).write


class RoomClock(Protocol):
    """A room's clock as it is stored: milliseconds since 1970, 0 for what does not run; `kind` as in `TimerKind`."""

    @property
    def now(self) -> int: ...
    @property
    def turn_at(self) -> int: ...
    @property
    def banks(self) -> tuple[int, ...]: ...
    @property
    def deadline(self) -> int: ...
    @property
    def kind(self) -> int: ...


def game_message(view: game.View) -> room_pb2.SheddingView | room_pb2.TrancaView:
    """A viewer's knowledge of a round."""
    if isinstance(view, game.SheddingView):
        return room_pb2.SheddingView(**_SHEDDING.write(view))
    return room_pb2.TrancaView(**_tranca(view))


def _tranca(view: game.TrancaView) -> dict[str, Any]:
    return {
        "phase": PHASE.write(view.phase),
        "round": view.round,
        "dealer": view.dealer,
        "turn": view.turn,
        "hand": _cards(view.hand),
        "hand_sizes": view.hand_sizes,
        "stock_size": view.stock_size,
        "discard_top": view.discard_top and CARD.write(view.discard_top),
        "discard_size": view.discard_size,
        "discard": _cards(view.discard),
        "melds": _melds(view.melds),
        "partnerships": [_partnership(view, number) for number in range(len(view.scores))],
        "pozzetti": view.pozzetti,
        "last_round": view.last_round and _LAST_ROUND.write(view.last_round),
    }


def _partnership(view: game.TrancaView, number: int) -> dict[str, Any]:
    """Partnerships take turns around the table."""
    return {
        "seats": range(number, len(view.hand_sizes), len(view.scores)),
        "score": view.scores[number],
        "red_threes": _cards(view.red_threes[number]),
        "pozzetto_seat": view.pozzetto_taken[number],
        "pozzetto_used": view.pozzetto_used[number],
    }


def legal_bytes(legal: Iterable[Action], penal: Iterable[Action] = ()) -> bytes:
    """`LegalActions`, encoded from actions that were encoded once."""
    parts = [action_field(action, _LEGAL) for action in legal]
    parts += [action_field(action, _PENAL) for action in penal]
    return b"".join(parts)


def clock_message(clock: RoomClock) -> room_pb2.Clock:
    """The room's clock as everybody may know it."""
    message = room_pb2.Clock()
    write_clock(message, clock)
    return message


def write_clock(into: room_pb2.Clock, clock: RoomClock) -> None:
    """Makes a part of another message that clock."""
    write_timestamp(into.now, clock.now)
    if clock.deadline:
        write_timestamp(into.deadline, clock.deadline)
    if clock.turn_at:
        write_timestamp(into.turn_started, clock.turn_at)
    into.bank_milliseconds.extend(clock.banks)
    into.kind = _KINDS_OF_DEADLINES[clock.kind]


def room_message(
    view: RoomView,
    clock: RoomClock | None = None,
    *,
    connected: frozenset[int] = frozenset(),
    spectators: int = 0,
    invite_code: str = "",
    created_ms: int = 0,
) -> room_pb2.RoomView:
    """A room as one viewer may know it. What the room itself does not hold is added: its clock, the seats whose person
    has a live stream, the number of spectators, the invite code (for members), when it was made (ms since 1970)."""
    message = room_pb2.RoomView(
        room_id=view.room_id,
        version=view.version,
        state=ROOM_STATE.write(view.phase),
        ruleset=room_ruleset_message(view.ruleset),
        settings=settings_message(view.settings),
        seats=[seat_message(seat, number in connected) for number, seat in enumerate(view.seats)],
        own_seat=view.own_seat,
        host_player_id=view.host,
        commitment=view.commitment or b"",
        next_match_id=view.next_match_id or "",
        clock=None if clock is None else clock_message(clock),
        legal=_legal_message(view),
        invite_code=invite_code,
        spectators=spectators,
        created=timestamp(created_ms) if created_ms else None,
    )
    if view.match is not None:
        message.MergeFrom(_match_message(view.match))
    return message


def _legal_message(view: RoomView) -> room_pb2.LegalActions | None:
    if not view.legal and not view.penal:
        return None
    return room_pb2.LegalActions.FromString(legal_bytes(view.legal, view.penal))


def seat_message(seat: SeatView | None, connected: bool) -> room_pb2.Seat:
    """A seat, free where it is None."""
    if seat is None:
        return room_pb2.Seat(kind=events_pb2.SEAT_KIND_FREE)
    return room_pb2.Seat(
        kind=events_pb2.SEAT_KIND_PERSON if seat.level is None else events_pb2.SEAT_KIND_BOT,
        player_id=seat.player,
        display_name=seat.name,
        ready=seat.ready,
        bot_level=BOT_LEVEL.write(seat.level),
        played_by_bot=seat.played_by_bot,
        deserted=seat.deserted,
        muted=seat.muted,
        connected=connected,
        round_ready=seat.round_ready,
    )


def _match_message(match: MatchView) -> room_pb2.RoomView:
    """The fields of a room that tell of its match."""
    message = room_pb2.RoomView(
        match_id=match.proof.match_id,
        match_number=match.number,
        proof=events_pb2.DealProof(**DEAL_PROOF.write(match.proof)),
        rounds=[round_points(number, points) for number, points in enumerate(match.points, 1)],
        outcome=None if match.outcome is None else outcome_message(match.outcome),
        seed=match.seed or b"",
        unrated=match.unrated,
    )
    shown = game_message(match.game)
    if isinstance(shown, room_pb2.SheddingView):
        message.shedding.CopyFrom(shown)
    else:
        message.tranca.CopyFrom(shown)
    return message


def round_points(number: int, points: Points) -> room_pb2.RoundPoints:
    """What round `number` (from 1) gave."""
    return room_pb2.RoundPoints(round=number, points=points)


def outcome_message(outcome: Outcome) -> events_pb2.Event.MatchEnded:
    """How a match ended, as its event told."""
    return events_pb2.Event.MatchEnded(
        cause=MATCH_END_CAUSE.write(outcome.cause),
        scores=outcome.scores,
        places=outcome.places,
        winners=outcome.winners,
    )
