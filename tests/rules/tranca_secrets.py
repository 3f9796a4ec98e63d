"""What nobody may learn of Tranca: that hidden cards do not show in what a seat or a spectator gets."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Final

from services.rules import engine
from services.rules.actions import Add, Discard, Meld, Redraw, TakeDiscard
from services.rules.cards import Card
from services.rules.events import Event
from services.rules.reasons import IllegalAction
from services.rules.tranca.state import RED_THREES, TrancaState
from services.rules.views import Phase
from tests.rules.bytes_seen import as_bytes
from tests.rules.tranca_play import Moment

OVER: Final = (Phase.ROUND_OVER, Phase.MATCH_OVER)


def viewers(state: TrancaState) -> list[int | None]:
    return [None, *range(state.seats)]


def seen(state: TrancaState, events: Iterable[Event], viewer: int | None) -> bytes:
    """Everything that reaches a viewer after an action."""
    return as_bytes([engine.view(state, viewer), *(engine.view_event(state, event, viewer) for event in events)])


def shown_by(moment: Moment) -> list[Card]:
    """The cards of the hand that an action puts on the table."""
    action, drew = moment.action, moment.state.drew
    if isinstance(action, Meld | Add | TakeDiscard):
        return list(action.cards)
    if isinstance(action, Redraw) and drew is not None:
        return [drew]
    return [action.card] if isinstance(action, Discard) else []


def twin_for(moment: Moment, viewer: int | None, rng: random.Random) -> TrancaState:
    """The same moment with the cards exchanged that this viewer cannot know, before the action and by it.

    Red threes stay where they are, as everybody sees them as soon as they are drawn."""
    twin: TrancaState = engine.copy(moment.state)
    kept = shown_by(moment)
    hidden = [hand for seat, hand in enumerate(twin.hands) if seat != viewer]
    if viewer != moment.seat:
        hidden += [twin.stock, *twin.pozzetti]
        hidden += [] if twin.options.show_pile else [twin.pile]
    top = len(twin.pile) - 1
    places = []
    for cards in hidden:
        held = list(kept) if cards is twin.hands[moment.seat] else []
        for index, c in enumerate(cards):
            if c in held:
                held.remove(c)
            elif c not in RED_THREES and not (cards is twin.pile and index == top):
                places.append((cards, index))
    faces = [cards[index] for cards, index in places]
    rng.shuffle(faces)
    for (cards, index), c in zip(places, faces, strict=True):
        cards[index] = c
    return twin


def check_secrets(moment: Moment, rng: random.Random) -> bool:
    """Fails where somebody sees too much. True where two deals that differ in hidden cards could be compared."""
    viewer = rng.choice(viewers(moment.state))
    twin = twin_for(moment, viewer, rng)
    assert as_bytes(engine.view(moment.state, viewer)) == as_bytes(engine.view(twin, viewer))
    one = engine.apply(moment.state, moment.seat, moment.action, moment.shuffler)
    try:
        other = engine.apply(twin, moment.seat, moment.action, moment.shuffler)
    except IllegalAction:
        return False
    if engine.phase(one.state) in OVER:
        return False
    assert seen(one.state, one.events, viewer) == seen(other.state, other.events, viewer)
    return True
