"""What must hold at every moment of every match of Tranca, whatever the options.

The seed stands in each test's name."""

from __future__ import annotations

import random
from typing import Final

import pytest

from services.rules import engine
from services.rules.actions import Action, Add, Discard, DrawStock, Keep, Meld, Redraw, TakeDiscard
from services.rules.cards import PACKS
from services.rules.events import Event
from services.rules.reasons import IllegalAction
from services.rules.ruleset import make_ruleset
from services.rules.shuffler import SeededShuffler
from services.rules.tranca.state import TrancaState
from services.rules.views import Phase
from tests.rules.tranca_play import PRESETS, Moment, play, random_ruleset

ALL_CARDS: Final = sorted(c.code for c in PACKS["french52"] * 2)
MIXES: Final = [f"mix/{number}" for number in range(60)]


def matches(preset: str, count: int) -> list[str]:
    return [f"{preset}/{number}" for number in range(count)]


@pytest.mark.parametrize("seed", matches("tranca", 60) + matches("tranca-jogatina", 15) + MIXES)
def test_random_match_holds_its_invariants(seed: str) -> None:
    rng = random.Random(seed)
    name = seed.split("/")[0]
    ruleset = make_ruleset(name) if name in PRESETS else random_ruleset(rng)
    for moment in play(ruleset, seed, deals=3):
        assert [c.code for c in engine.cards(moment.state)] == ALL_CARDS
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
    assert engine.default_action(state, seat) in listed


def _check_refusals(moment: Moment, rng: random.Random) -> None:
    """An action out of the blue is refused, or listed; a refused one changes nothing, also in place."""
    state, seat = moment.state, moment.seat
    action = _any_action(state, rng)
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


def _any_action(state: TrancaState, rng: random.Random) -> Action:
    cards = tuple(rng.choices(engine.cards(state), k=rng.randrange(5)))
    hand = tuple(rng.sample(state.hands[state.turn], min(len(state.hands[state.turn]), rng.randrange(5))))
    group = rng.choice((cards, hand))
    meld = rng.choice([laid.id for laid in state.melds] or ["m1"])
    return rng.choice(
        (
            DrawStock(),
            Redraw(),
            Keep(),
            Meld(group),
            Add(meld, group),
            TakeDiscard(meld=meld),
            TakeDiscard(cards=group),
            TakeDiscard(meld=meld, cards=group),
            Discard(rng.choice(engine.cards(state))),
        )
    )


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


@pytest.mark.parametrize("seed", [*matches("tranca", 3), *MIXES[:10]])
def test_same_seed_makes_the_same_match(seed: str) -> None:
    ruleset = random_ruleset(random.Random(seed))
    first, second = ([engine.encode(moment.state) for moment in play(ruleset, seed)] for _ in range(2))
    assert first == second


@pytest.mark.parametrize("seed", [*matches("tranca", 10), *MIXES[:20]])
def test_silent_seats_bring_a_deal_to_its_end(seed: str) -> None:
    ruleset = random_ruleset(random.Random(seed))
    shuffler = SeededShuffler(seed)
    state = engine.new_match(ruleset, ruleset.max_seats, 0, shuffler).state
    turns = 0
    while engine.phase(state) in (Phase.DRAW, Phase.MELD):
        (seat,) = engine.must_act(state)
        state = engine.apply(state, seat, engine.default_action(state, seat), shuffler).state
        turns += 1
    assert turns < 2 * len(ALL_CARDS)
