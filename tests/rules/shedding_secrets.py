"""What nobody may learn of Mau-Mau or UNO: that no hidden card is in a view or event of another seat or a spectator."""

from __future__ import annotations

import random
from typing import Any, Final

import msgspec

from services.rules import engine
from services.rules.actions import Challenge, Draw
from services.rules.cards import Card
from services.rules.events import (
    CardsDrawn,
    CardsGiven,
    CardsPlayed,
    Challenged,
    Event,
    HandsMoved,
    PlayRejected,
    RoundEnded,
    RoundStarted,
    StartCardReturned,
)
from services.rules.shedding.state import State
from services.rules.views import SheddingView
from tests.rules.bytes_seen import as_bytes
from tests.rules.shedding_play import OVER, Moment

SHOWN: Final[dict[type, frozenset[str]]] = {
    CardsPlayed: frozenset(("cards",)),
    StartCardReturned: frozenset(("returned", "top")),
    RoundStarted: frozenset(("top",)),
    PlayRejected: frozenset(("card",)),
    RoundEnded: frozenset(("hands",)),
}
"""The fields of events that lie open on the table."""


def check_secrets(moment: Moment, rng: random.Random) -> bool:
    """Fails where somebody sees too much. True where two deals that differ in hidden cards could be compared."""
    _views_hold_the_own_hand_and_the_top_card_only(moment)
    _events_show_cards_to_those_who_may_know_them(moment)
    return _deals_that_differ_in_hidden_cards_look_alike(moment, rng)


def cards_in(value: Any) -> list[Card]:
    """Every card anywhere inside a value."""
    if isinstance(value, Card):
        return [value]
    if isinstance(value, msgspec.Struct):
        return [card for name in value.__struct_fields__ for card in cards_in(getattr(value, name))]
    if isinstance(value, tuple | list):
        return [card for inner in value for card in cards_in(inner)]
    return []


def _views_hold_the_own_hand_and_the_top_card_only(moment: Moment) -> None:
    state = moment.state
    for viewer in (None, *range(state.seats)):
        view = engine.view(state, viewer)
        assert isinstance(view, SheddingView)
        own = [] if viewer is None else state.hands[viewer]
        assert sorted(card.code for card in view.hand) == sorted(card.code for card in own)
        drew = [state.drew] if state.drew is not None and viewer == state.turn else []
        last = [] if view.last_round is None else cards_in(view.last_round)
        assert len(cards_in(view)) == 1 + len(own) + len(drew) + len(last)


def _events_show_cards_to_those_who_may_know_them(moment: Moment) -> None:
    step = engine.apply(moment.state, moment.seat, moment.action, moment.shuffler)
    for event in step.events:
        for viewer in (None, *range(moment.state.seats)):
            seen = engine.view_event(step.state, event, viewer)
            assert type(seen) is type(event)
            for name in event.__struct_fields__:
                assert not cards_in(getattr(seen, name)) or may_see(event, name, viewer)


def may_see(event: Event, field: str, viewer: int | None) -> bool:
    if field in SHOWN.get(type(event), ()):
        return True
    if isinstance(event, CardsDrawn):
        return viewer == event.seat
    if isinstance(event, CardsGiven | Challenged):
        return viewer in (event.seat, event.target)
    return isinstance(event, HandsMoved | RoundStarted) and viewer is not None


def _deals_that_differ_in_hidden_cards_look_alike(moment: Moment, rng: random.Random) -> bool:
    """What a bystander and a spectator see does not depend on cards that they may not know."""
    bystander = rng.choice([seat for seat in range(moment.state.seats) if seat != moment.seat])
    other = with_hidden_cards_exchanged(moment.state, (moment.seat, bystander), rng)
    for viewer in (None, bystander):
        assert as_bytes(engine.view(other, viewer)) == as_bytes(engine.view(moment.state, viewer))
    assert engine.legal_actions(other, bystander) == engine.legal_actions(moment.state, bystander)
    return looks_the_same(moment, other, bystander)


def with_hidden_cards_exchanged(state: State, known: tuple[int, ...], rng: random.Random) -> State:
    """The same table with the stock and the hands of all but these seats dealt differently."""
    other = engine.copy(state)
    assert isinstance(other, State)
    hidden = [seat for seat in range(state.seats) if seat not in known]
    cards = [*other.stock, *(card for seat in hidden for card in other.hands[seat])]
    rng.shuffle(cards)
    for seat in hidden:
        other.hands[seat] = [cards.pop() for _ in state.hands[seat]]
    other.stock = cards
    return other


def looks_the_same(moment: Moment, other: State, bystander: int) -> bool:
    """False where the rules themselves let hidden cards decide, or give the bystander some of them."""
    draws_till_it_fits = isinstance(moment.action, Draw) and moment.state.rules.draw_limit > 1
    if isinstance(moment.action, Challenge) or draws_till_it_fits:
        return False
    steps = [engine.apply(s, moment.seat, moment.action, moment.shuffler) for s in (moment.state, other)]
    if any(step.state.phase in OVER or gets_cards(step.events, bystander) for step in steps):
        return False
    for viewer in (None, bystander):
        first, second = (
            as_bytes([engine.view(s.state, viewer), *(engine.view_event(s.state, event, viewer) for event in s.events)])
            for s in steps
        )
        assert first == second
    return True


def gets_cards(events: list[Event], seat: int) -> bool:
    return any(
        isinstance(event, HandsMoved)
        or (isinstance(event, CardsDrawn) and event.seat == seat)
        or (isinstance(event, CardsGiven) and event.target == seat)
        for event in events
    )
