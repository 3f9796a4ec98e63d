"""The list of legal actions against the rules themselves: every action that the cards allow is tried."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import combinations
from typing import Any, Final

import pytest

from services.rules import engine
from services.rules.actions import Action, Add, Discard, DrawStock, Keep, Meld, Redraw, TakeDiscard
from services.rules.cards import PACKS, Card, parse_card
from services.rules.reasons import IllegalAction
from services.rules.ruleset import make_ruleset
from services.rules.shuffler import SeededShuffler
from services.rules.tranca.combinations import MOST_LISTED
from services.rules.tranca.state import TrancaState
from tests.rules.tranca_play import PRESETS, play, random_ruleset
from tests.scenarios.tranca import position

SMALL_HAND: Final = 9
"""Every group of so many cards can be tried."""

SHUFFLER: Final = SeededShuffler("legal actions")


def same(action: Action) -> Action:
    """The action with its cards in one order, since their order says nothing."""
    if isinstance(action, Meld):
        return Meld(by_code(action.cards))
    if isinstance(action, Add):
        return Add(action.meld, by_code(action.cards))
    if isinstance(action, TakeDiscard):
        return TakeDiscard(meld=action.meld, cards=by_code(action.cards))
    return action


def by_code(cards: tuple[Card, ...]) -> tuple[Card, ...]:
    return tuple(sorted(cards, key=lambda c: c.code))


def groups_of(hand: list[Card]) -> set[tuple[Card, ...]]:
    """Every group of cards of the hand."""
    return {by_code(group) for size in range(len(hand) + 1) for group in combinations(hand, size)}


def accepted(state: TrancaState, actions: Iterable[Action]) -> set[Action]:
    """Those of the actions that the rules accept."""
    passed = set()
    for action in actions:
        try:
            engine.apply(state, state.turn, action, SHUFFLER)
        except IllegalAction:
            continue
        passed.add(action)
    return passed


def simple_actions(state: TrancaState) -> list[Action]:
    return [DrawStock(), Redraw(), Keep(), *(Discard(c) for c in PACKS["french52"])]


def group_actions(state: TrancaState) -> Iterator[Action]:
    """All ways to take the pile and to lengthen melds."""
    ids = [laid.id for laid in state.melds]
    yield from (TakeDiscard(meld=meld) for meld in ids)
    for group in groups_of(state.hands[state.turn]):
        yield TakeDiscard(cards=group)
        yield from (Add(meld, group) for meld in ids)


@pytest.mark.parametrize("name", [*PRESETS, "mix"])
def test_list_is_what_the_rules_accept(name: str) -> None:
    tried = 0
    for seed in (f"{name}/{number}" for number in range(20)):
        rng = random.Random(seed)
        ruleset = make_ruleset(name) if name in PRESETS else random_ruleset(rng)
        for moment in play(ruleset, seed):
            state = moment.state
            if len(state.hands[moment.seat]) <= SMALL_HAND and rng.random() < 0.1:
                listed = {same(action) for action in engine.legal_actions(state, moment.seat)}
                melds: set[Meld] = {action for action in listed if isinstance(action, Meld)}
                assert listed - melds == accepted(state, [*simple_actions(state), *group_actions(state)]), seed
                _check_melds(state, melds)
                tried += 1
    assert tried > 50


def _check_melds(state: TrancaState, shown: set[Meld]) -> None:
    """Of new melds: all of least size, and all that no other one contains."""
    tried = [Meld(group) for group in groups_of(state.hands[state.turn])]
    allowed = accepted(state, tried)
    possible = [Counter(meld.cards) for meld in tried if meld in allowed]
    least = min((group.total() for group in possible), default=0)
    wanted = [g for g in possible if g.total() == least or not any(g < other for other in possible)]
    found = [Counter(meld.cards) for meld in shown]
    assert all(group in possible for group in found)
    assert all(group in found for group in wanted)


def listed(options: dict[str, Any], **given: Any) -> list[Action]:
    """The list for a position of the scenario format."""
    state = position(make_ruleset("tranca", options), given)
    return engine.legal_actions(state, state.turn)


def hand(*own: str) -> list[list[str]]:
    return [list(own), ["5C"], ["7C"], ["TC"]]


def test_a_hand_full_of_melds_is_listed_up_to_a_bound() -> None:
    everything = [c.text() for c in PACKS["french52"] if c.text() not in ("3D", "3H")]
    actions = listed({"melds.maxWilds": "half"}, turn=0, phase="meld", hands=hand(*everything))
    melds = [action for action in actions if isinstance(action, Meld)]
    assert len(melds) == MOST_LISTED
    state = position(make_ruleset("tranca", {"melds.maxWilds": "half"}), {"phase": "meld", "hands": hand(*everything)})
    assert accepted(state, list(melds)) == set(melds)


def test_a_new_meld_is_shown_smallest_and_largest() -> None:
    actions = listed({}, turn=0, phase="meld", hands=hand("4C", "5C", "6C", "7C", "KD", "9H"))
    melds = {tuple(c.text() for c in action.cards) for action in actions if isinstance(action, Meld)}
    assert melds == {("4C", "5C", "6C"), ("5C", "6C", "7C"), ("4C", "5C", "6C", "7C")}


def test_where_a_small_meld_is_worth_too_little_the_smallest_allowed_is_shown() -> None:
    options = {"melds.first": {"from": 0, "points": 30}}
    actions = listed(options, turn=0, phase="meld", hands=hand("4C", "5C", "6C", "7C", "8C", "9C", "KD", "9H"))
    sizes = {len(action.cards) for action in actions if isinstance(action, Meld)}
    assert sizes == {4, 6}


def test_where_the_last_card_must_stay_a_meld_in_between_is_shown() -> None:
    """Neither the smallest nor the largest: three leave the right number, four and five too few."""
    cards = hand("4C", "5C", "6C", "7C", "8C")
    actions = listed({}, turn=0, phase="meld", took=[0, 1], hands=cards)
    sizes = {len(action.cards) for action in actions if isinstance(action, Meld)}
    assert sizes == {3}


def test_a_two_that_stays_is_listed_at_either_end() -> None:
    actions = listed({"melds.wildSlides": False}, turn=0, phase="meld", hands=hand("5C", "6C", "2D", "KD", "9H"))
    melds = {tuple(c.text() for c in action.cards) for action in actions if isinstance(action, Meld)}
    assert melds == {("5C", "6C", "2D"), ("2D", "5C", "6C")}


def test_the_first_card_may_be_thrown_only_where_the_table_plays_it() -> None:
    given = {"turn": 0, "hands": hand("5C", "9D"), "stock": ["KD", "QD"]}
    for redraw in (True, False):
        state = position(make_ruleset("tranca", {"first.redraw": redraw}), given)
        after = engine.apply(state, 0, DrawStock(), SHUFFLER).state
        assert (Redraw() in engine.legal_actions(after, 0)) is redraw


def test_the_clock_draws_and_throws_away_what_it_drew() -> None:
    state = position(make_ruleset("tranca"), {"turn": 0, "hands": hand("5C", "9D"), "stock": ["KD", "QD"]})
    assert engine.default_action(state, 0) == DrawStock()
    after = engine.apply(state, 0, DrawStock(), SHUFFLER).state
    assert engine.default_action(after, 0) == Discard(parse_card("KD"))


def test_the_clock_keeps_a_card_that_may_not_be_discarded() -> None:
    given = {"turn": 0, "phase": "meld", "took": [0, 1], "hands": hand("5C")}
    assert engine.default_action(position(make_ruleset("tranca"), given), 0) == Keep()
