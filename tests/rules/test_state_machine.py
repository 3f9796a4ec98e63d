"""A state machine that plays any game under any options: hypothesis chooses the table, and at each step what is done,
and shrinks what goes wrong to the shortest way there (the seed of a failure is printed with it)."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from services.rules import engine
from services.rules.registry import GAMES
from services.rules.ruleset import Ruleset, RulesetError, make_ruleset
from services.rules.shuffler import SeededShuffler
from services.rules.views import Phase
from tests.rules import shedding_play, tranca_play
from tests.rules.rounds import SHEDDING, TRANCA, Kind

OVER = (Phase.ROUND_OVER, Phase.MATCH_OVER)
LISTED = 10_000
"""Indexes to choose from a list with; none is as long."""


@st.composite
def rulesets(draw: st.DrawFn, kind: Kind) -> Ruleset:
    """A preset with up to six options changed. A mix that cannot work is left out, as the server would refuse it."""
    preset = draw(st.sampled_from(kind.presets))
    game = next(rules for rules in GAMES.values() if preset in rules.presets)
    closed = {key: option.values for key, option in game.options.items() if option.values}
    keys = draw(st.lists(st.sampled_from(sorted(closed)), max_size=6, unique=True))
    chosen = {key: draw(st.sampled_from(closed[key])) for key in keys}
    try:
        return make_ruleset(preset, chosen)
    except RulesetError:
        return make_ruleset(preset)


class Match(RuleBasedStateMachine):
    """One match of up to ten seats. `kind` says which games, `any_action` what may be tried out of the blue."""

    kind: Kind
    any_action: Any

    @initialize(data=st.data(), seed=st.integers(0, 2**32))
    def deal(self, data: st.DataObject, seed: int) -> None:
        self.ruleset = data.draw(rulesets(self.kind))
        seats = data.draw(st.integers(self.ruleset.min_seats, self.ruleset.max_seats))
        dealer = data.draw(st.integers(0, seats - 1))
        self.seats, self.shuffler = seats, SeededShuffler(seed)
        self.state = engine.new_match(self.ruleset, seats, dealer, self.shuffler).state
        self.pack = [card.code for card in engine.cards(self.state)]

    @precondition(lambda self: self.state.phase not in OVER)
    @rule(who=st.integers(0, 9), which=st.integers(0, LISTED))
    def act(self, who: int, which: int) -> None:
        """A seat that must act does something that is listed."""
        waited_for = engine.must_act(self.state)
        self._do(waited_for[who % len(waited_for)], which)

    @precondition(lambda self: bool(engine.may_act(self.state)))
    @rule(who=st.integers(0, 9), which=st.integers(0, LISTED))
    def put_in(self, who: int, which: int) -> None:
        """Another seat accuses, calls late or jumps in."""
        others = engine.may_act(self.state)
        self._do(others[who % len(others)], which)

    def _do(self, seat: int, which: int) -> None:
        listed = engine.legal_actions(self.state, seat)
        assert listed
        self.state = engine.apply(self.state, seat, listed[which % len(listed)], self.shuffler).state

    @precondition(lambda self: any(engine.penal_actions(self.state, seat) for seat in range(self.seats)))
    @rule(which=st.integers(0, LISTED))
    def err(self, which: int) -> None:
        """Somebody does what only costs cards."""
        penal = [(seat, action) for seat in range(self.seats) for action in engine.penal_actions(self.state, seat)]
        seat, action = penal[which % len(penal)]
        self.state = engine.apply(self.state, seat, action, self.shuffler).state

    @precondition(lambda self: self.state.phase not in OVER)
    @rule(seed=st.integers(0, 2**32))
    def try_anything(self, seed: int) -> None:
        """An action out of the blue: listed, penal, like one that is, or refused and without effect."""
        rng = random.Random(seed)
        before = engine.encode(self.state)
        seat, action = rng.randrange(self.seats), type(self).any_action(self.state, rng)
        in_place = engine.copy(self.state)
        try:
            engine.advance(in_place, seat, action, self.shuffler)
        except engine.IllegalAction:
            assert engine.encode(in_place) == before
            listed = [*engine.legal_actions(self.state, seat), *engine.penal_actions(self.state, seat)]
            assert action not in listed
        assert engine.encode(self.state) == before

    @precondition(lambda self: self.state.phase not in OVER)
    @rule(who=st.integers(0, 9), which=st.integers(0, LISTED), seed=st.integers(0, 2**32))
    def look_around(self, who: int, which: int, seed: int) -> None:
        """Nobody sees in views and events of the next action what is hidden from him."""
        waited_for = engine.must_act(self.state)
        seat = waited_for[who % len(waited_for)]
        listed = engine.legal_actions(self.state, seat)
        moment = shedding_play.Moment(self.state, seat, listed[which % len(listed)], self.shuffler)
        self.kind.check_secrets(moment, random.Random(seed))

    @precondition(lambda self: self.state.phase is Phase.ROUND_OVER)
    @rule()
    def deal_again(self) -> None:
        self.state = engine.next_round(self.state, self.shuffler).state

    @rule()
    def store_and_read(self) -> None:
        stored = engine.encode(self.state)
        self.state = engine.decode(self.ruleset, stored)
        assert engine.encode(self.state) == stored

    @invariant()
    def no_card_is_lost_or_doubled(self) -> None:
        assert [card.code for card in engine.cards(self.state)] == self.pack

    @invariant()
    def somebody_can_act_until_the_end(self) -> None:
        over = engine.phase(self.state) in OVER
        assert bool(engine.must_act(self.state)) != over
        assert (engine.outcome(self.state) is not None) == (engine.phase(self.state) is Phase.MATCH_OVER)
        for seat in engine.must_act(self.state):
            assert engine.default_action(self.state, seat) in engine.legal_actions(self.state, seat)


class SheddingMatch(Match):
    kind = SHEDDING
    any_action = staticmethod(shedding_play.any_action)


class TrancaMatch(Match):
    kind = TRANCA
    any_action = staticmethod(tranca_play.any_action)


@pytest.mark.parametrize("machine", [SheddingMatch, TrancaMatch])
def test_match_in_any_order_of_actions(machine: type[Match]) -> None:
    case = machine.TestCase
    case.settings = settings(
        max_examples=60,
        stateful_step_count=40,
        deadline=None,
        print_blob=True,
        suppress_health_check=list(HealthCheck),
    )
    case("runTest").runTest()
