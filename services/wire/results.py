"""What came of a match, and how it went, on the wire."""

from __future__ import annotations

from collections.abc import Iterable

from maumau.internal.v1 import result_intake_pb2
from maumau.v1 import authority_pb2, events_pb2, scoring_pb2

from services.rules.room.actions import RoomAction
from services.rules.room.events import RoomEvent
from services.rules.room.state import ruleset_of
from services.rules.room.step import MatchResult, ResultSeat
from services.rules.ruleset import canonical
from services.wire.actions import room_action_message
from services.wire.events import DEAL_PROOF, MATCH_END_CAUSE, event_message
from services.wire.rulesets import ruleset_message
from services.wire.times import timestamp
from services.wire.views import round_points


def result_message(result: MatchResult, started_ms: int, ended_ms: int) -> result_intake_pb2.ReportResultRequest:
    """What scoring hears of a match that ended. Times are milliseconds since 1970, 0 where one is not known."""
    record = scoring_pb2.MatchRecord(
        match_id=result.match_id,
        room_id=result.room_id,
        ruleset=ruleset_message(ruleset_of(result.preset, result.options)),
        seats=[_seat(seat) for seat in result.seats],
        scores=result.scores,
        rounds=[round_points(number, points) for number, points in enumerate(result.points, 1)],
        cause=MATCH_END_CAUSE.write(result.cause),
        started=timestamp(started_ms) if started_ms else None,
        ended=timestamp(ended_ms) if ended_ms else None,
        unrated=result.unrated,
        proof=events_pb2.DealProof(**DEAL_PROOF.write(result.proof)),
        seed=result.seed,
        first_version=result.first_version,
        last_version=result.last_version,
        engine_revision=result.engine_revision,
        watchable=result.watchable,
    )
    counts = [_counts(seat, len(result.points)) for seat in result.seats]
    return result_intake_pb2.ReportResultRequest(match=record, counts=counts)


def archived_match(result: MatchResult, record: scoring_pb2.MatchRecord) -> result_intake_pb2.ArchivedMatch:
    """What is kept beside the log of a match that ended; `record` as in `result_message`."""
    ruleset = ruleset_of(result.preset, result.options)
    return result_intake_pb2.ArchivedMatch(
        match=record,
        ruleset=canonical(ruleset.game, ruleset.options),
        watchable=result.watchable,
        spectator_delay_seconds=result.delay_seconds,
    )


def _seat(seat: ResultSeat) -> scoring_pb2.MatchSeat:
    return scoring_pb2.MatchSeat(
        kind=events_pb2.SEAT_KIND_BOT if seat.is_bot else events_pb2.SEAT_KIND_PERSON,
        player_id=seat.player,
        display_name=seat.name,
        place=seat.place,
        winner=seat.winner,
        partnership=seat.side,
        turns=seat.counts.turns,
        bot_turns=seat.counts.bot_turns,
        deserted=seat.deserted,
    )


def _counts(seat: ResultSeat, rounds: int) -> result_intake_pb2.SeatCounts:
    return result_intake_pb2.SeatCounts(
        rounds=rounds,
        rounds_won=seat.counts.rounds_won,
        calls_missed=seat.counts.calls_missed,
        accusations_right=seat.counts.accusations_right,
        accusations_wrong=seat.counts.accusations_wrong,
    )


def replay_step(
    version: int, time_ms: int, actor: events_pb2.Actor, action: RoomAction, events: Iterable[RoomEvent]
) -> authority_pb2.ReplayStep:
    """One version of a match that ended, with all cards: `events` as the engine made them. What only the server does
    has no action there, and is told by its events."""
    return authority_pb2.ReplayStep(
        version=version,
        time=timestamp(time_ms),
        actor=actor,
        action=room_action_message(action),
        events=[event_message(event) for event in events],
    )
