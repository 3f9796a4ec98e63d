"""No seat and no spectator learns a hidden card of Tranca, from a view or from an event."""

from __future__ import annotations

from typing import Any, Final

import pytest

from services.rules import engine
from services.rules.actions import Action, Discard, DrawStock, TakeDiscard
from services.rules.cards import parse_card
from services.rules.events import (
    CardsDrawn,
    PileTaken,
    PozzettoTaken,
    RedThreesLaid,
    RoundStarted,
    StockDrawn,
)
from services.rules.ruleset import make_ruleset
from services.rules.shuffler import SeededShuffler
from services.rules.views import Phase, TrancaView
from tests.rules.tranca_secrets import viewers
from tests.scenarios.tranca import position

SHUFFLER: Final = SeededShuffler("secrets")
OVER: Final = (Phase.ROUND_OVER, Phase.MATCH_OVER)


@pytest.mark.parametrize("seed", [f"deal/{number}" for number in range(10)])
def test_the_deal_shows_each_seat_its_own_hand(seed: str) -> None:
    step = engine.new_match(make_ruleset("tranca"), 4, 0, SeededShuffler(seed))
    (started,) = [event for event in step.events if isinstance(event, RoundStarted)]
    for viewer in viewers(step.state):
        public = engine.view_event(step.state, started, viewer)
        assert isinstance(public, RoundStarted)
        assert public.hands == tuple(hand if seat == viewer else () for seat, hand in enumerate(started.hands))
        view = engine.view(step.state, viewer)
        own = [] if viewer is None else step.state.hands[viewer]
        assert sorted(view.hand, key=lambda c: c.code) == sorted(own, key=lambda c: c.code)


@pytest.mark.parametrize("viewer", [-1, 4])
def test_a_viewer_that_is_no_seat_sees_what_a_spectator_does(viewer: int) -> None:
    state = engine.new_match(make_ruleset("tranca"), 4, 0, SHUFFLER).state
    assert engine.view(state, viewer) == engine.view(state, None)


def events_of(options: dict[str, Any], given: dict[str, Any], action: Action) -> engine.Step:
    state = position(make_ruleset("tranca", options), given)
    return engine.apply(state, state.turn, action, SHUFFLER)


def public_form(step: engine.Step, kind: type, viewer: int | None) -> Any:
    """The one event of a kind, as the viewer sees it."""
    (event,) = [event for event in step.events if isinstance(event, kind)]
    return engine.view_event(step.state, event, viewer)


HANDS: Final = [["4C", "9D"], ["5C", "6D"], ["7C", "8D"], ["TC", "JD"]]


def test_only_the_seat_sees_what_it_drew() -> None:
    step = events_of({}, {"turn": 0, "hands": HANDS, "stock": ["3H", "QH"]}, DrawStock())
    for viewer in viewers(step.state):
        assert public_form(step, StockDrawn, viewer).card == (parse_card("QH") if viewer == 0 else None)
        assert public_form(step, RedThreesLaid, viewer).cards == (parse_card("3H"),)


@pytest.mark.parametrize(("visible", "who"), [("top", (0,)), ("all", (None, 0, 1, 2, 3))])
def test_only_the_taker_sees_the_pile_below_its_top_card(visible: str, who: tuple[int | None, ...]) -> None:
    given = {"turn": 0, "hands": [["9C", "9D", "KD"], *HANDS[1:]], "discard": ["3C", "KH", "9S"]}
    taking = TakeDiscard(cards=(parse_card("9C"), parse_card("9D")))
    step = events_of({"discard.visible": visible}, given, taking)
    for viewer in viewers(step.state):
        public = public_form(step, PileTaken, viewer)
        assert (public.top, public.count) == (parse_card("9S"), 3)
        assert public.rest == ((parse_card("3C"), parse_card("KH")) if viewer in who else ())


@pytest.mark.parametrize(("visible", "shown"), [("top", 0), ("all", 3)])
def test_the_pile_is_counted_and_its_top_card_shown(visible: str, shown: int) -> None:
    """cases.md 70."""
    given = {"turn": 0, "hands": HANDS, "discard": ["3C", "KH", "9S"]}
    state = position(make_ruleset("tranca", {"discard.visible": visible}), given)
    for viewer in viewers(state):
        view = engine.view(state, viewer)
        assert isinstance(view, TrancaView)
        assert (view.discard_top, view.discard_size, len(view.discard)) == (parse_card("9S"), 3, shown)


def test_only_the_seat_sees_its_pozzetto_and_what_replaces_red_threes() -> None:
    pozzetto = ["3D", "5D", "6D", "7D", "8D", "9D", "TD", "KS", "KC", "QC", "JC"]
    given = {"turn": 0, "phase": "meld", "hands": [["KD"], *HANDS[1:]], "stock": ["QS"], "pozzetti": [pozzetto]}
    step = events_of({}, given, Discard(parse_card("KD")))
    for viewer in viewers(step.state):
        taken = public_form(step, PozzettoTaken, viewer)
        assert taken.cards == (tuple(map(parse_card, pozzetto)) if viewer == 0 else ())
        assert (taken.count, taken.direct) == (11, False)
        assert public_form(step, CardsDrawn, viewer).cards == ((parse_card("QS"),) if viewer == 0 else ())


def test_all_hands_are_shown_when_the_deal_is_over() -> None:
    given = {"turn": 0, "took": [0, 1], "hands": HANDS, "stock": []}
    step = events_of({}, given, DrawStock())
    for viewer in viewers(step.state):
        view = engine.view(step.state, viewer)
        assert isinstance(view, TrancaView)
        assert view.last_round is not None
        assert [[c.text() for c in hand] for hand in view.last_round.hands] == HANDS
