"""What a match makes of the standings of those who played it: sums, streaks, ratings and lines on boards.

Pure, and the only place where this is computed: a result that comes in and a ledger that is replayed go through it
alike, so that recomputation equals the running state to the last bit.

* An **aborted match** counts for nobody. Who had left it is noted as having abandoned it.
* Who leaves **before every seat has had a turn** has abandoned the match, and nothing else of it counts for them. If it
  ended with that, it counts for nobody; if others played on, it counts for their sums, not for ratings and boards.
* Every other match counts for the **sums** of its people. Who left it has the last place and no win.
* Rated matches count for **ratings**, and on the **boards** of the day, the week, the month and the season
  and of all time: a match each, and a win for each winner. The day is the one in UTC on which the match ended, the
  season the one that ran when its result came in.
* A win because all others have left is a win, also counted as one **by default**.
* A **voided match** is taken out of all of this, boards of closed seasons included. Histories keep it, marked.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

import msgspec
from maumau.v1 import events_pb2
from msgspec.structs import replace

from services.scoring.ratings import RatedSeat, Strength, can_be_rated, rate
from services.store.boards import change_of
from services.store.keys import Entrant

_UNKNOWN: Final = Strength()


class CountedSeat(msgspec.Struct, frozen=True, array_like=True):
    """A seat of a match as the ledger keeps it; `entrant` is empty for a bot."""

    entrant: Entrant
    side: int
    place: int
    winner: bool
    left: bool
    turns: int
    bot_turns: int
    points: int
    rounds: int
    rounds_won: int
    calls_missed: int
    accusations_right: int
    accusations_wrong: int


class CountedMatch(msgspec.Struct, frozen=True, array_like=True):
    """A match as the ledger keeps it: all that standings follow from, and no name or id of a player. `cause` is a
    MatchEndCause."""

    ended_ms: int
    cause: int
    unrated: bool
    seats: tuple[CountedSeat, ...]


class Standing(msgspec.Struct, frozen=True, array_like=True):
    """All that follows from the matches of one entrant of a pool. Stored as it is, floats in full."""

    matches: int = 0
    wins: int = 0
    points: int = 0
    places: int = 0
    turns: int = 0
    bot_turns: int = 0
    deserted: int = 0
    rounds: int = 0
    rounds_won: int = 0
    calls_missed: int = 0
    accusations_right: int = 0
    accusations_wrong: int = 0
    abandoned: int = 0
    default_wins: int = 0
    streak: int = 0
    best_streak: int = 0
    mu: float = _UNKNOWN.mu
    sigma: float = _UNKNOWN.sigma
    rated: int = 0

    @property
    def strength(self) -> Strength:
        return Strength(self.mu, self.sigma)


BEGINNER: Final = Standing()


class Effect(NamedTuple):
    """What a match makes of the standings of its people, and what it adds to their scores on boards."""

    standings: dict[Entrant, Standing]
    changes: dict[Entrant, int]


encode: Final = msgspec.msgpack.Encoder().encode
read_match: Final = msgspec.msgpack.Decoder(CountedMatch).decode
_decode_standing: Final = msgspec.msgpack.Decoder(Standing).decode


def read_standing(stored: bytes) -> Standing:
    """A stored standing; the beginner's for nothing."""
    return _decode_standing(stored) if stored else BEGINNER


def is_rated(match: CountedMatch) -> bool:
    """Whether the match counts for ratings and boards."""
    return not match.unrated and not _aborted(match) and can_be_rated(seat.side for seat in match.seats if seat.entrant)


def count(match: CountedMatch, before: Mapping[Entrant, Standing]) -> Effect:
    """What the match makes of the standings of its people, who must all be in `before`."""
    people = [seat for seat in match.seats if seat.entrant]
    standings = {seat.entrant: _with_sums(match, seat, before[seat.entrant]) for seat in people}
    if not is_rated(match):
        return Effect(standings, {})
    rated = rate([_rated_seat(seat) for seat in people], {one: before[one].strength for one in standings})
    for entrant, (mu, sigma) in rated.items():
        own = standings[entrant]
        standings[entrant] = replace(own, mu=mu, sigma=sigma, rated=own.rated + 1)
    return Effect(standings, {seat.entrant: change_of(int(_has_won(seat))) for seat in people})


def _rated_seat(seat: CountedSeat) -> RatedSeat:
    return RatedSeat(seat.entrant, seat.side, seat.place, seat.left, seat.turns, seat.bot_turns)


def _has_won(seat: CountedSeat) -> bool:
    return seat.winner and not seat.left


def _aborted(match: CountedMatch) -> bool:
    return match.cause == events_pb2.MATCH_END_CAUSE_ABORTED


def _deserted(match: CountedMatch) -> bool:
    return match.cause == events_pb2.MATCH_END_CAUSE_DESERTED


def _with_sums(match: CountedMatch, seat: CountedSeat, own: Standing) -> Standing:
    if seat.left and (match.unrated or _aborted(match)):
        return replace(own, abandoned=own.abandoned + 1)
    if _aborted(match) or (_deserted(match) and match.unrated):
        return own
    won = int(_has_won(seat))
    streak = own.streak + 1 if won else 0
    return replace(
        own,
        matches=own.matches + 1,
        wins=own.wins + won,
        points=own.points + seat.points,
        places=own.places + (len(match.seats) if seat.left else seat.place),
        turns=own.turns + seat.turns,
        bot_turns=own.bot_turns + seat.bot_turns,
        deserted=own.deserted + int(seat.left),
        rounds=own.rounds + seat.rounds,
        rounds_won=own.rounds_won + seat.rounds_won,
        calls_missed=own.calls_missed + seat.calls_missed,
        accusations_right=own.accusations_right + seat.accusations_right,
        accusations_wrong=own.accusations_wrong + seat.accusations_wrong,
        default_wins=own.default_wins + (won if _deserted(match) else 0),
        streak=streak,
        best_streak=max(own.best_streak, streak),
    )
