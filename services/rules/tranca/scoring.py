"""The end of a deal and of the match.

What a deal gives a partnership: the worth of the cards in its melds, 200 for each clean and 100 for each dirty
canasta, 100 for closing the deal. What it takes: 100 once if it took no pozzetto, or took one with its last discard
and had no turn with it; the worth of the cards left in its hands, a black three counting 100 instead. Those of the
pozzetto not yet used are not counted (at some tables they are). Each red three on the table gives 100 if the
partnership has any canasta and takes 100 otherwise. All of these numbers are options, as are extra points for a run
from four to ace without a two, and for all four red threes.

The match is one deal, or deals are added until a partnership has reached the target: the higher sum wins, and equal
sums are played on. In a single deal equal points are a draw.
"""

from __future__ import annotations

from typing import Final

from services.rules.cards import Card
from services.rules.events import Event, MatchEndCause, MatchEnded, RoundEndCause, RoundEnded
from services.rules.outcome import Outcome
from services.rules.tranca.melds import is_full_run, worth
from services.rules.tranca.state import BLACK_THREES, TrancaState, partnership_of
from services.rules.views import LastRound, Phase

PARTNERSHIPS: Final = (0, 1)
ALL_RED_THREES: Final = 4


def end_round(state: TrancaState, cause: RoundEndCause, closed_by: int | None, events: list[Event]) -> None:
    """Counts the deal, adds it to the scores and decides the match if it is over. `closed_by` is the partnership that
    closed the deal, if one did."""
    points = tuple(round_points(state, p, closed_by == p) for p in PARTNERSHIPS)
    for p in PARTNERSHIPS:
        state.scores[p] += points[p]
    hands = tuple(tuple(hand) for hand in state.hands)
    state.last_round = LastRound(cause=cause, winner=closed_by, points=points, hands=hands)
    state.ended = _match_end(state)
    state.phase = Phase.ROUND_OVER if state.ended is None else Phase.MATCH_OVER
    events.append(
        RoundEnded(
            round=state.round,
            cause=cause,
            winner=closed_by,
            hands=hands,
            points=points,
            scores=tuple(state.scores),
        )
    )
    result = outcome(state)
    if result is not None:
        events.append(
            MatchEnded(cause=result.cause, scores=result.scores, places=result.places, winners=result.winners)
        )


def round_points(state: TrancaState, partnership: int, closed: bool) -> int:
    """What the deal, as it lies, gives this partnership."""
    options = state.options
    points = options.close if closed else 0
    canastas = 0
    for meld in state.melds:
        if meld.partnership == partnership:
            points += worth(meld.cards, options)
            points += {"clean": options.clean, "dirty": options.dirty, "none": 0}[meld.canasta]
            points += options.full_run if is_full_run(meld) else 0
            canastas += meld.canasta != "none"
    red_threes = _red_three_points(state, partnership)
    points += red_threes if canastas else -red_threes
    if not state.used[partnership]:
        points -= options.no_pozzetto
    counted = (seat for seat in range(state.seats) if partnership_of(seat) == partnership and _hand_counts(state, seat))
    return points - sum(_cost(state, c) for seat in counted for c in state.hands[seat])


def _red_three_points(state: TrancaState, partnership: int) -> int:
    count = len(state.red_threes[partnership])
    extra = state.options.all_red_threes if count == ALL_RED_THREES else 0
    return count * state.options.red_three + extra


def _hand_counts(state: TrancaState, seat: int) -> bool:
    """False for a pozzetto that was taken and not yet used, where it is not counted."""
    partnership = partnership_of(seat)
    return state.options.count_unused or state.taken[partnership] != seat or state.used[partnership]


def _cost(state: TrancaState, card: Card) -> int:
    return -state.options.black_three if card in BLACK_THREES else state.options.values[card.code]


def _match_end(state: TrancaState) -> MatchEndCause | None:
    target = state.options.target
    if target is None:
        return MatchEndCause.SINGLE_ROUND
    decided = max(state.scores) >= target and state.scores[0] != state.scores[1]
    return MatchEndCause.TARGET_REACHED if decided else None


def outcome(state: TrancaState) -> Outcome | None:
    """How the match ended, None while it goes on."""
    if state.ended is None:
        return None
    best = max(state.scores)
    partnerships = tuple(partnership_of(seat) for seat in range(state.seats))
    ahead = state.seats // 2
    return Outcome(
        cause=state.ended,
        scores=tuple(state.scores),
        places=tuple(1 if state.scores[p] == best else 1 + ahead for p in partnerships),
        winners=tuple(seat for seat, p in enumerate(partnerships) if state.scores[p] == best),
        rounds=state.round,
        partnerships=partnerships,
    )
