"""What one viewer may know of a Tranca deal.

Everybody sees the melds, the red threes, the size of each hand, of the stock and of the pile, the top card of the pile
(at some tables all of it), which pozzetti were taken by whom, and the scores. A player sees the own hand besides. The
stock and the pozzetti are seen by nobody. When a deal is over all hands are shown.

Of an event, a card that only went to a hand is seen by that hand's player alone; so is the pile below its top card
when it is taken, unless the table shows the whole pile.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from services.rules.cards import Card
from services.rules.events import CardsDrawn, Event, PileTaken, PozzettoTaken, RoundStarted, StockDrawn
from services.rules.game import Viewer
from services.rules.tranca.state import TrancaState
from services.rules.views import TrancaView


def view(state: TrancaState, viewer: Viewer) -> TrancaView:
    """The deal as this viewer sees it; a number that is no seat sees what a spectator does."""
    own = state.hands[viewer] if viewer is not None and 0 <= viewer < state.seats else []
    return TrancaView(
        phase=state.phase,
        round=state.round,
        dealer=state.dealer,
        turn=state.turn,
        hand=tuple(sorted(own, key=_code)),
        hand_sizes=tuple(len(hand) for hand in state.hands),
        stock_size=len(state.stock),
        discard_top=state.pile[-1] if state.pile else None,
        discard_size=len(state.pile),
        discard=tuple(state.pile) if state.options.show_pile else (),
        melds=tuple(state.melds),
        red_threes=tuple(tuple(laid) for laid in state.red_threes),
        pozzetti=len(state.pozzetti),
        pozzetto_taken=tuple(state.taken),
        pozzetto_used=tuple(state.used),
        scores=tuple(state.scores),
        last_round=state.last_round,
    )


def _code(c: Card) -> int:
    return c.code


def view_event(state: TrancaState, event: Event, viewer: Viewer) -> Event:
    """The event as this viewer sees it."""
    public = _PUBLIC_FORM.get(type(event))
    return event if public is None else public(state, event, viewer)


def _round_started(state: TrancaState, event: RoundStarted, viewer: Viewer) -> Event:
    return RoundStarted(
        round=event.round,
        dealer=event.dealer,
        hands=tuple(hand if seat == viewer else () for seat, hand in enumerate(event.hands)),
        hand_sizes=event.hand_sizes,
        stock_size=event.stock_size,
        top=event.top,
    )


def _cards_drawn(state: TrancaState, event: CardsDrawn, viewer: Viewer) -> Event:
    own = event.cards if event.seat == viewer else ()
    return CardsDrawn(seat=event.seat, count=event.count, cards=own, cause=event.cause)


def _stock_drawn(state: TrancaState, event: StockDrawn, viewer: Viewer) -> Event:
    return StockDrawn(seat=event.seat, card=event.card if event.seat == viewer else None)


def _pozzetto_taken(state: TrancaState, event: PozzettoTaken, viewer: Viewer) -> Event:
    own = event.cards if event.seat == viewer else ()
    return PozzettoTaken(seat=event.seat, direct=event.direct, count=event.count, cards=own)


def _pile_taken(state: TrancaState, event: PileTaken, viewer: Viewer) -> Event:
    rest = event.rest if event.seat == viewer or state.options.show_pile else ()
    return PileTaken(seat=event.seat, top=event.top, count=event.count, rest=rest)


_PUBLIC_FORM: Final[dict[type, Callable[[TrancaState, Any, Viewer], Event]]] = {
    RoundStarted: _round_started,
    CardsDrawn: _cards_drawn,
    StockDrawn: _stock_drawn,
    PozzettoTaken: _pozzetto_taken,
    PileTaken: _pile_taken,
}

HIDING: Final = frozenset(_PUBLIC_FORM)
"""Kinds of events that differ between viewers."""
