"""A match ends, by its rules or by the room's, and rooms close."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from services.rules import engine
from services.rules.events import MatchEndCause, MatchEnded, Points
from services.rules.outcome import Outcome
from services.rules.room.draft import Draft
from services.rules.room.events import MatchFinished, RoomClosed
from services.rules.room.sides import side_of, sides
from services.rules.room.state import IN_MATCH, Match, Room, RoomPhase
from services.rules.room.step import MatchResult, ResultSeat

LOW_SCORE_WINS = ("own_points_rank", "low_total")
"""Values of `score.mode` under which fewer points are better."""


def finish_match(draft: Draft, outcome: Outcome) -> None:
    """Record how the match ended, reveal its seed and tell scoring. The game's own `MatchEnded` has been told."""
    match = draft.match
    unrated = outcome.cause is MatchEndCause.ABORTED or match.unrated
    match = replace(match, outcome=outcome, scores=outcome.scores, last_version=draft.version, unrated=unrated)
    draft.change(match=match, phase=RoomPhase.FINISHED, next_dealer=(match.proof.dealer + 1) % match.proof.seats)
    draft.tell(MatchFinished(match_id=match.proof.match_id, seed=match.seed, cause=outcome.cause, unrated=unrated))
    draft.results.append(match_result(draft.room))


def abort_match(draft: Draft) -> None:
    """End the match without places or winners."""
    _cut_short(draft, MatchEndCause.ABORTED, winners=())


def end_by_version_limit(draft: Draft) -> None:
    """End the match with the scores of the rounds that were played to their end."""
    _cut_short(draft, MatchEndCause.VERSION_LIMIT, winners=None)


def end_by_desertion(draft: Draft, side: int) -> None:
    """Nobody but this side is left: it has won by default, and the round that was running with it."""
    match = draft.match
    points = _default_points(draft.room, match, side)
    if points is not None:
        before = match.scores or (0,) * len(points)
        scores = tuple(score + gained for score, gained in zip(before, points, strict=True))
        draft.change_match(points=(*match.points, points), scores=scores)
    winners = tuple(seat for seat in range(match.proof.seats) if side_of(draft.room, seat) == side)
    _cut_short(draft, MatchEndCause.DESERTED, winners=winners)


def _default_points(room: Room, match: Match, winner: int) -> Points | None:
    """Where the winner of a round takes what the others hold, so does who wins it by default."""
    values = room.ruleset.options.get("score.values")
    takes = room.ruleset.options.get("score.mode") == "winner_takes"
    if room.phase is not RoomPhase.PLAYING or not takes or not isinstance(values, Mapping):
        return None
    others = (engine.view(match.state, seat).hand for seat in range(match.proof.seats) if seat != winner)
    gained = sum(int(values[card.rank.letter]) for hand in others for card in hand)
    return tuple(gained if seat == winner else 0 for seat in range(match.proof.seats))


def _cut_short(draft: Draft, cause: MatchEndCause, winners: tuple[int, ...] | None) -> None:
    """`winners`: seats; none, in a match without a result; None, whoever has the best score."""
    room, match = draft.room, draft.match
    seats = match.proof.seats
    scores = match.scores or (0,) * sides(room, seats)
    if winners is None:
        places = _places_by_score(room, scores)
        winners = tuple(seat for seat, place in enumerate(places) if place == 1)
    elif winners:
        places = tuple(1 if seat in winners else 1 + len(winners) for seat in range(seats))
    else:
        places = (1,) * seats
    draft.tell(MatchEnded(cause=cause, scores=scores, places=places, winners=winners))
    sides_of_seats = tuple(side_of(room, seat) for seat in range(seats))
    partnerships = sides_of_seats if room.ruleset.game == "tranca" else ()
    finish_match(draft, Outcome(cause, scores, places, winners, len(match.points), partnerships))


def _places_by_score(room: Room, scores: Points) -> tuple[int, ...]:
    """Places of seats, equal ones shared: 1, 2, 2, 4."""
    assert room.match is not None
    sign = 1 if room.ruleset.options.get("score.mode") in LOW_SCORE_WINS else -1
    by_seat = [sign * scores[side_of(room, seat)] for seat in range(room.match.proof.seats)]
    return tuple(1 + sum(other < own for other in by_seat) for own in by_seat)


def close(draft: Draft, why: str) -> None:
    """Close the room for good; a match that still runs has no result."""
    if draft.room.phase in IN_MATCH:
        abort_match(draft)
    draft.change(phase=RoomPhase.CLOSED)
    draft.tell(RoomClosed(why=why))


def match_result(room: Room) -> MatchResult:
    """What scoring hears of the match that ended last."""
    match, ruleset, settings = room.match, room.ruleset, room.settings
    assert match is not None
    assert match.outcome is not None
    return MatchResult(
        match_id=match.proof.match_id,
        room_id=room.id,
        number=match.number,
        game=ruleset.game,
        family=ruleset.game,
        preset=room.preset,
        options=room.options,
        label=ruleset.label,
        ruleset_hash=ruleset.hash,
        seats=_result_seats(room, match, match.outcome),
        points=match.points,
        scores=match.outcome.scores,
        cause=match.outcome.cause,
        unrated=match.unrated,
        first_version=match.first_version,
        last_version=match.last_version,
        proof=match.proof,
        seed=match.seed,
        engine_revision=room.revision,
        watchable=settings.is_watchable,
        delay_seconds=settings.delay_seconds,
    )


def _result_seats(room: Room, match: Match, outcome: Outcome) -> tuple[ResultSeat, ...]:
    return tuple(
        ResultSeat(
            player=seat.player,
            name=seat.name,
            is_bot=not seat.is_person,
            side=side_of(room, number),
            place=outcome.places[number],
            winner=number in outcome.winners,
            deserted=seat.left,
            counts=match.counts[number],
        )
        for number, seat in room.taken()[: match.proof.seats]
    )
