"""Cards that come from the stock, and red threes.

A red three never stays in a hand: whether it was dealt, drawn or found in a pozzetto, it is laid on the table at once
and a card of the stock takes its place. If the stock is empty by then, or the table plays without replacement, the
hand is a card short. A pozzetto becomes the stock only when a turn begins with drawing, never for a replacement.
"""

from __future__ import annotations

from services.rules.cards import Card
from services.rules.events import CardsDrawn, DrawCause, Event, RedThreesLaid
from services.rules.tranca.state import RED_THREES, TrancaState, partnership_of


def draw_card(state: TrancaState, seat: int, events: list[Event]) -> Card | None:
    """Moves the next card of the stock that stays to the hand; None where only red threes came. The stock is not
    empty."""
    reds: list[Card] = []
    drawn: Card | None = state.stock.pop()
    while drawn in RED_THREES:
        assert drawn is not None
        reds.append(drawn)
        drawn = state.stock.pop() if state.stock and state.options.replace_red_threes else None
    if reds:
        _put_down(state, seat, reds, events)
    if drawn is not None:
        state.hands[seat].append(drawn)
    return drawn


def lay_red_threes(state: TrancaState, seat: int, events: list[Event]) -> None:
    """Lays the red threes of a dealt hand or pozzetto and replaces them, until there is none left in the hand."""
    hand = state.hands[seat]
    while not RED_THREES.isdisjoint(hand):
        reds = [c for c in hand if c in RED_THREES]
        hand[:] = [c for c in hand if c not in RED_THREES]
        _put_down(state, seat, reds, events)
        count = min(len(reds), len(state.stock)) if state.options.replace_red_threes else 0
        if count:
            drawn = tuple(state.stock.pop() for _ in range(count))
            hand.extend(drawn)
            events.append(CardsDrawn(seat=seat, count=count, cards=drawn, cause=DrawCause.RED_THREE))


def _put_down(state: TrancaState, seat: int, reds: list[Card], events: list[Event]) -> None:
    state.red_threes[partnership_of(seat)].extend(reds)
    events.append(RedThreesLaid(seat=seat, cards=tuple(reds)))
