"""Events about the course of a match: rounds and matches beginning and ending, whatever the game."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from maumau.table import cards
from maumau.table.seats import Step
from maumau.v1 import cards_pb2, events_pb2, room_pb2

Event = events_pb2.Event
_TRANCA = "tranca"


def _seed_committed(view: room_pb2.RoomView, event: Event.SeedCommitted) -> bool:
    view.commitment = event.commitment
    view.next_match_id = event.match_id
    return True


def _match_started(view: room_pb2.RoomView, event: Event.MatchStarted) -> bool:
    view.state = room_pb2.ROOM_STATE_PLAYING
    view.match_number = event.number
    view.match_id = event.proof.match_id
    view.proof.CopyFrom(event.proof)
    for field in ("outcome", "rounds", "shedding", "tranca", "seed", "unrated", "commitment", "next_match_id"):
        view.ClearField(field)
    for seat in view.seats:
        seat.ready = seat.round_ready = seat.played_by_bot = seat.deserted = False
    return True


def _round_started(view: room_pb2.RoomView, event: Event.RoundStarted) -> bool:
    view.state = room_pb2.ROOM_STATE_PLAYING
    own = event.hands[view.own_seat].cards if view.HasField("own_seat") and event.hands else []
    if event.HasField("top"):
        _deal_shedding(view.shedding, event, own)
    else:
        _deal_tranca(view.tranca, event, own)
    return True


def _deal_shedding(game: room_pb2.SheddingView, event: Event.RoundStarted, own: Iterable[cards_pb2.Card]) -> None:
    seats = len(event.hand_sizes)
    scores = list(game.scores) or [0] * seats
    last_round = room_pb2.LastRound()
    last_round.CopyFrom(game.last_round)
    last_round.ClearField("hands")  # they are shown until the next deal
    had_round = game.HasField("last_round")
    game.Clear()
    game.phase = room_pb2.PHASE_PLAY
    game.round, game.dealer, game.direction = event.round, event.dealer, 1
    game.turn = (event.dealer + 1) % seats
    game.top.CopyFrom(event.top)
    game.suit = event.top.suit
    cards.replace(game.hand, own)
    game.hand_sizes.extend(event.hand_sizes)
    game.stock_size = event.stock_size
    game.calls.extend([cards_pb2.WORD_UNSPECIFIED] * seats)
    game.scores.extend(scores)
    if had_round:
        game.last_round.CopyFrom(last_round)


def _deal_tranca(game: room_pb2.TrancaView, event: Event.RoundStarted, own: Iterable[cards_pb2.Card]) -> None:
    seats = len(event.hand_sizes)
    sides = [(side.score, list(side.seats)) for side in game.partnerships]
    last_round = room_pb2.LastRound()
    last_round.CopyFrom(game.last_round)
    had_round = game.HasField("last_round")
    game.Clear()
    game.phase = room_pb2.PHASE_DRAW
    game.round, game.dealer, game.turn = event.round, event.dealer, (event.dealer + 1) % seats
    cards.replace(game.hand, own)
    game.hand_sizes.extend(event.hand_sizes)
    game.stock_size = event.stock_size
    game.pozzetti = 2
    for score, members in sides or [(0, list(range(side, seats, 2))) for side in (0, 1)]:
        game.partnerships.add(seats=members, score=score)
    if had_round:
        game.last_round.CopyFrom(last_round)


def _round_ended(view: room_pb2.RoomView, event: Event.RoundEnded) -> bool:
    view.state = room_pb2.ROOM_STATE_PAUSE
    view.rounds.add(round=event.round, points=event.points)
    game = view.tranca if view.WhichOneof("game") == _TRANCA else view.shedding
    game.phase = room_pb2.PHASE_ROUND_OVER
    last = room_pb2.LastRound(cause=event.cause, points=event.points, hands=event.hands)
    if event.HasField("winner"):
        last.winner = event.winner
    game.last_round.CopyFrom(last)
    if isinstance(game, room_pb2.TrancaView):
        for side, score in zip(game.partnerships, event.scores, strict=False):
            side.score = score
    else:
        game.scores[:] = event.scores
        _settle_debts(game)
    return True


def _settle_debts(game: room_pb2.SheddingView) -> None:
    """Nothing is owed or waited for once a round is over."""
    for field in ("debt", "debt_kind", "exposed", "waiting", "silence"):
        game.ClearField(field)


_ENDED_BY_THE_ROOM = (
    events_pb2.MATCH_END_CAUSE_VERSION_LIMIT,
    events_pb2.MATCH_END_CAUSE_ABORTED,
    events_pb2.MATCH_END_CAUSE_DESERTED,
)


def _match_ended(view: room_pb2.RoomView, event: Event.MatchEnded) -> bool:
    view.state = room_pb2.ROOM_STATE_FINISHED
    view.outcome.CopyFrom(event)
    if event.cause in _ENDED_BY_THE_ROOM:
        return True  # the game stays where it was
    match view.WhichOneof("game"):
        case "shedding":
            view.shedding.phase = room_pb2.PHASE_MATCH_OVER
        case "tranca":
            view.tranca.phase = room_pb2.PHASE_MATCH_OVER
    return True


def _match_finished(view: room_pb2.RoomView, event: Event.MatchFinished) -> bool:
    view.state = room_pb2.ROOM_STATE_FINISHED
    view.seed = event.seed
    view.unrated = event.unrated
    # A match that the room ended (aborted, deserted) has no outcome of its game; the view has the room's.
    return view.HasField("outcome")


def _round_ready(view: room_pb2.RoomView, event: Event.RoundReady) -> bool:
    view.seats[event.seat].round_ready = True
    return True


def _rematch_offered(view: room_pb2.RoomView, event: Event.RematchOffered) -> bool:
    view.state = room_pb2.ROOM_STATE_OPEN
    for seat in view.seats:
        seat.ready = False
    # Seats may change hands now, so what was is seen as a spectator sees it.
    view.shedding.ClearField("hand") if view.HasField("shedding") else view.tranca.ClearField("hand")
    return True


def _room_closed(view: room_pb2.RoomView, event: Event.RoomClosed) -> bool:
    view.state = room_pb2.ROOM_STATE_CLOSED
    return True


STEPS: Final[dict[str, Step]] = {
    "seed_committed": _seed_committed,
    "match_started": _match_started,
    "round_started": _round_started,
    "round_ended": _round_ended,
    "match_ended": _match_ended,
    "match_finished": _match_finished,
    "round_ready": _round_ready,
    "rematch_offered": _rematch_offered,
    "room_closed": _room_closed,
}


def settle(view: room_pb2.RoomView, kinds: Sequence[str]) -> None:
    """What the events of a whole version, named by `kinds`, say together: a pause begins with nobody ready."""
    if "round_ended" in kinds and "match_ended" not in kinds:
        for seat in view.seats:
            seat.round_ready = False
