"""What a viewer may know of a state or an event, built field by field.

A seat sees its own hand, everything on the pile's top, and all numbers. The hand of a Wild Draw Four's player is shown
to its challenger only; all hands are shown when the round is over, and not carried into the next.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from services.rules.cards import Card
from services.rules.events import CardsDrawn, CardsGiven, Challenged, Event, HandsMoved, RoundStarted
from services.rules.shedding.fit import suit_in_force
from services.rules.shedding.state import State
from services.rules.views import LastRound, Phase, SheddingView

Viewer = int | None
Hands = tuple[tuple[Card, ...], ...]


def view(s: State, viewer: Viewer) -> SheddingView:
    """The table as this seat, or a spectator (None), sees it."""
    is_seat = viewer is not None and 0 <= viewer < s.seats
    own = s.hands[viewer] if is_seat and viewer is not None else []
    return SheddingView(
        phase=s.phase,
        round=s.round,
        dealer=s.dealer,
        turn=s.turn,
        direction=s.direction,
        top=s.top,
        suit=suit_in_force(s),
        wish=s.wish,
        debt=s.debt,
        kind=s.kind.value if s.kind else None,
        hand=tuple(sorted(own, key=lambda card: card.code)),
        hand_sizes=tuple(len(hand) for hand in s.hands),
        stock_size=len(s.stock),
        pile_size=len(s.pile),
        has_drawn=s.has_drawn,
        drew=s.drew if is_seat and viewer == s.turn else None,
        said=tuple(s.said),
        exposed=s.exposed,
        waiting=tuple(s.waiting) if s.chooser is None else (s.chooser,),
        silence=s.silence,
        scores=tuple(s.scores),
        last_round=_last_round(s),
    )


def _last_round(s: State) -> LastRound | None:
    last = s.last_round
    if last is None or s.phase in (Phase.ROUND_OVER, Phase.MATCH_OVER):
        return last
    return LastRound(cause=last.cause, winner=last.winner, points=last.points, hands=())


def view_event(event: Event, viewer: Viewer) -> Event:
    """The event as this viewer may know it."""
    build = _PUBLIC_FORM.get(type(event))
    return event if build is None else build(event, viewer)


def _only_own(hands: Hands, viewer: Viewer) -> Hands:
    return tuple(hand if seat == viewer else () for seat, hand in enumerate(hands))


def _round_started(event: RoundStarted, viewer: Viewer) -> Event:
    return RoundStarted(
        round=event.round,
        dealer=event.dealer,
        hands=_only_own(event.hands, viewer),
        hand_sizes=event.hand_sizes,
        stock_size=event.stock_size,
        top=event.top,
    )


def _cards_drawn(event: CardsDrawn, viewer: Viewer) -> Event:
    cards = event.cards if viewer == event.seat else ()
    return CardsDrawn(seat=event.seat, count=event.count, cards=cards, cause=event.cause)


def _cards_given(event: CardsGiven, viewer: Viewer) -> Event:
    cards = event.cards if viewer in (event.seat, event.target) else ()
    return CardsGiven(seat=event.seat, target=event.target, count=event.count, cards=cards)


def _hands_moved(event: HandsMoved, viewer: Viewer) -> Event:
    return HandsMoved(moves=event.moves, hands=_only_own(event.hands, viewer), hand_sizes=event.hand_sizes)


def _challenged(event: Challenged, viewer: Viewer) -> Event:
    hand = event.hand if viewer in (event.seat, event.target) else ()
    return Challenged(seat=event.seat, target=event.target, upheld=event.upheld, hand=hand)


_PUBLIC_FORM: Final[dict[type, Callable[[Any, Viewer], Event]]] = {
    RoundStarted: _round_started,
    CardsDrawn: _cards_drawn,
    CardsGiven: _cards_given,
    HandsMoved: _hands_moved,
    Challenged: _challenged,
}

HIDING: Final = frozenset(_PUBLIC_FORM)
"""Kinds of events that differ between viewers."""
