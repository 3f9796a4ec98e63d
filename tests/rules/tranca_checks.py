"""What must hold at any moment of any match of Tranca."""

from __future__ import annotations

import random
from typing import Final

from services.rules import engine
from services.rules.actions import Discard, DrawStock, Keep, Redraw
from services.rules.cards import PACKS
from services.rules.events import Event
from services.rules.reasons import IllegalAction
from tests.rules.tranca_play import Moment, any_action

ALL_CARDS: Final = sorted(c.code for c in PACKS["french52"] * 2)


def check_table(moment: Moment) -> None:
    """Cheap enough for every moment: no card is lost or doubled, and the seat on turn can act."""
    assert [c.code for c in engine.cards(moment.state)] == ALL_CARDS
    assert engine.default_action(moment.state, moment.seat) in engine.legal_actions(moment.state, moment.seat)


def check_moment(moment: Moment, rng: random.Random) -> None:
    """Listed actions are accepted and others refused, a refusal changes nothing, the stored form is the state, and in
    place the same happens."""
    _check_listed_actions(moment, rng)
    _check_refusals(moment, rng)
    _check_stored_form(moment)
    _check_in_place(moment)


def _check_listed_actions(moment: Moment, rng: random.Random) -> None:
    """What is listed is accepted, once; nobody else may act."""
    state, seat = moment.state, moment.seat
    listed = engine.legal_actions(state, seat)
    assert len(listed) == len(set(listed))
    for action in rng.sample(listed, min(3, len(listed))):
        engine.apply(state, seat, action, moment.shuffler)
    assert not any(engine.legal_actions(state, other) for other in range(state.seats) if other != seat)


def _check_refusals(moment: Moment, rng: random.Random) -> None:
    """An action out of the blue is refused, or listed; a refused one changes nothing, also in place."""
    state, seat = moment.state, moment.seat
    action = any_action(state, rng)
    stored = engine.encode(state)
    in_place = engine.copy(state)
    by = seat if rng.random() < 0.8 else (seat + 1) % state.seats
    try:
        engine.advance(in_place, by, action, moment.shuffler)
    except IllegalAction:
        assert engine.encode(in_place) == stored
    else:
        assert by == seat
        if isinstance(action, DrawStock | Redraw | Discard | Keep):
            assert action in engine.legal_actions(state, seat)
    assert engine.encode(state) == stored


def _check_stored_form(moment: Moment) -> None:
    stored = engine.encode(moment.state)
    read = engine.decode(moment.state.ruleset, stored)
    assert read == moment.state
    assert engine.encode(read) == stored


def _check_in_place(moment: Moment) -> None:
    """`advance` does what `apply` does."""
    after = engine.apply(moment.state, moment.seat, moment.action, moment.shuffler)
    in_place = engine.copy(moment.state)
    events: list[Event] = []
    engine.advance(in_place, moment.seat, moment.action, moment.shuffler, events)
    assert in_place == after.state
    assert events == after.events
