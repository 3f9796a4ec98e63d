"""The end of a round and of a match: points, places, winners (rules.md 2.1, 3.1, 4.1, options of 6.5)."""

from __future__ import annotations

from services.rules.cards import Card
from services.rules.events import MatchEndCause, MatchEnded, RoundEndCause, RoundEnded
from services.rules.outcome import Outcome
from services.rules.shedding.state import State, clear_debt, enter
from services.rules.views import LastRound, Phase


def hand_points(s: State, hand: list[Card] | tuple[Card, ...]) -> int:
    """What the cards of a hand count."""
    points = s.rules.points
    return sum(points[card] for card in hand)


def end_round(s: State, winner: int | None, cause: RoundEndCause) -> None:
    """Everybody shows; the round is counted; the match may be over."""
    held = [hand_points(s, hand) for hand in s.hands]
    if cause is RoundEndCause.BLOCKED and s.rules.blocked == "lowest_hand_wins":
        winner = _lowest_hand(s, held)
    points = _points_of_round(s, held, winner, cause)
    s.scores = [score + gained for score, gained in zip(s.scores, points, strict=True)]
    s.last_round = LastRound(
        cause=cause, winner=winner, points=tuple(points), hands=tuple(tuple(hand) for hand in s.hands)
    )
    clear_debt(s)
    s.has_drawn, s.drew = False, None
    s.exposed = s.caught = s.barred = s.finisher = s.chooser = None
    s.waiting = []
    s.silence = False
    enter(s, Phase.MATCH_OVER if _is_decided(s) else Phase.ROUND_OVER)
    _tell_end(s)


def _lowest_hand(s: State, held: list[int]) -> int:
    """Of equal hands the smaller one, then the one that comes first after the dealer."""
    order = [(s.dealer + step) % s.seats for step in range(1, s.seats + 1)]
    return min(order, key=lambda seat: (held[seat], len(s.hands[seat])))


def _points_of_round(s: State, held: list[int], winner: int | None, cause: RoundEndCause) -> list[int]:
    """What the round adds to each score."""
    rules, nothing = s.rules, [0] * s.seats
    if cause is RoundEndCause.BLOCKED and rules.blocked == "void":
        return nothing
    finished_with_jack = cause is RoundEndCause.HAND_EMPTY and not rules.is_uno and s.top in rules.wilds
    factor = rules.jack_finish if finished_with_jack else 1
    if rules.lowest_wins:
        return [points * factor for points in held]
    if winner is not None:
        others = sum(held) - held[winner]
        nothing[winner] = factor * (1 if rules.score_mode == "win_points" else others)
    return nothing


def _is_decided(s: State) -> bool:
    rules = s.rules
    if rules.target_rounds is not None:
        return s.round >= rules.target_rounds
    return rules.target_points is not None and max(s.scores) >= rules.target_points


def round_places(s: State) -> tuple[int, ...]:
    """Places by what each held when the round ended, 1 for the fewest points; equals share unless `score.ties`
    decides."""
    assert s.last_round is not None
    return _places(s, [hand_points(s, hand) for hand in s.last_round.hands])


def match_places(s: State) -> tuple[int, ...]:
    """Places by score. A single blocked round without points is ranked by the hands where the ruleset says so."""
    if s.rules.lowest_wins:
        return _places(s, s.scores)
    blocked = s.last_round is not None and s.last_round.cause is RoundEndCause.BLOCKED
    if s.rules.is_single and blocked and s.rules.blocked == "rank_by_points":
        return round_places(s)
    return _places(s, [-score for score in s.scores])


def _places(s: State, points: list[int]) -> tuple[int, ...]:
    assert s.last_round is not None
    cards = [len(hand) for hand in s.last_round.hands]
    breakers: dict[str, list[tuple[int, ...]]] = {
        "shared": [(p,) for p in points],
        "fewer_cards": list(zip(points, cards, strict=True)),
        "seat_order": list(zip(points, range(s.seats), strict=True)),
    }
    keys = breakers[s.rules.ties]
    return tuple(1 + sum(other < key for other in keys) for key in keys)


def outcome(s: State) -> Outcome | None:
    """How the match ended, None while it has not."""
    if s.phase is not Phase.MATCH_OVER:
        return None
    places = match_places(s)
    return Outcome(
        cause=_cause(s),
        scores=tuple(s.scores),
        places=places,
        winners=tuple(seat for seat, place in enumerate(places) if place == 1),
        rounds=s.round,
    )


def _cause(s: State) -> MatchEndCause:
    if s.rules.target_points is not None:
        return MatchEndCause.TARGET_REACHED
    return MatchEndCause.SINGLE_ROUND if s.rules.is_single else MatchEndCause.ROUNDS_PLAYED


def _tell_end(s: State) -> None:
    if s.log is None or s.last_round is None:
        return
    last, scores = s.last_round, tuple(s.scores)
    s.log.append(
        RoundEnded(
            round=s.round, cause=last.cause, winner=last.winner, hands=last.hands, points=last.points, scores=scores
        )
    )
    ended = outcome(s)
    if ended is not None:
        s.log.append(MatchEnded(cause=ended.cause, scores=scores, places=ended.places, winners=ended.winners))
