"""What must hold at every moment of every match of Mau-Mau and UNO, whatever the options.

The seed stands in each test's name."""

from __future__ import annotations

import random
from typing import Final

import pytest

from services.rules import engine
from services.rules.actions import Action, PlayMany
from services.rules.events import Event
from services.rules.reasons import IllegalAction
from services.rules.ruleset import Ruleset, make_ruleset
from services.rules.shedding.state import State
from services.rules.shuffler import SeededShuffler
from services.rules.views import Phase
from tests.rules.shedding_play import PRESETS, Moment, any_action, play, random_ruleset

PLAIN: Final = [f"{preset}/{number}" for preset in PRESETS for number in range(8)]
MIXES: Final = [f"mix/{number}" for number in range(120)]


def ruleset_of(seed: str) -> Ruleset:
    name = seed.split("/")[0]
    return make_ruleset(name) if name in PRESETS else random_ruleset(random.Random(seed))


@pytest.mark.parametrize("seed", PLAIN + MIXES)
def test_random_match_holds_its_invariants(seed: str) -> None:
    rng = random.Random(seed)
    ruleset = ruleset_of(seed)
    all_cards = None
    for moment in play(ruleset, seed, rounds=3, most=120):
        all_cards = all_cards or sorted(ruleset.compiled["shedding"].pack, key=lambda card: card.code)
        assert engine.cards(moment.state) == all_cards
        _somebody_can_act(moment)
        if rng.random() < 0.3:
            _listed_actions_are_accepted(moment, rng)
            _other_actions_are_refused(moment, rng)
            _stored_form_is_the_state(moment)
            _in_place_is_the_same(moment)


def _somebody_can_act(moment: Moment) -> None:
    waited_for = engine.must_act(moment.state)
    assert waited_for
    for seat in waited_for:
        listed = engine.legal_actions(moment.state, seat)
        assert engine.default_action(moment.state, seat) in listed
        assert len(listed) == len(set(listed))
        assert len(listed) <= 250, "groups and gifts are listed up to a bound"


def _listed_actions_are_accepted(moment: Moment, rng: random.Random) -> None:
    for seat in range(moment.state.seats):
        listed = engine.legal_actions(moment.state, seat)
        assert bool(listed) == (seat in engine.must_act(moment.state) or seat in engine.may_act(moment.state))
        for action in rng.sample(listed, min(4, len(listed))):
            engine.apply(moment.state, seat, action, moment.shuffler)
        for action in engine.penal_actions(moment.state, seat):
            after = engine.apply(moment.state, seat, action, moment.shuffler).state
            grew = len(after.hands[seat]) > len(moment.state.hands[seat])
            assert grew or not (after.stock or after.pile), "a penal action costs cards"


def _other_actions_are_refused(moment: Moment, rng: random.Random) -> None:
    """What is accepted does the same as an action that is listed; what is refused changes nothing."""
    state = moment.state
    for _ in range(12):
        action = any_action(state, rng)
        seat = rng.choice((state.turn, rng.randrange(state.seats)))
        stored = engine.encode(state)
        in_place = engine.copy(state)
        try:
            engine.advance(in_place, seat, action, moment.shuffler)
        except IllegalAction:
            assert engine.encode(in_place) == stored
        else:
            assert isinstance(action, PlayMany) or _fingerprint(in_place) in _reachable(moment, seat, action)
        assert engine.encode(state) == stored


def _reachable(moment: Moment, seat: int, like: Action) -> set[bytes]:
    state = moment.state
    listed = [*engine.legal_actions(state, seat), *engine.penal_actions(state, seat)]
    same_kind = [action for action in listed if type(action) is type(like)]
    return {_fingerprint(engine.apply(state, seat, action, moment.shuffler).state) for action in same_kind}


def _fingerprint(state: State) -> bytes:
    """The stored form, with one word for all calls where the rules do not tell them apart."""
    plain = engine.copy(state)
    assert isinstance(plain, State)
    for seat, word in enumerate(plain.said):
        has_jack = any(card in plain.rules.wilds for card in plain.hands[seat])
        if word is not None and not (plain.rules.final_jack and has_jack):
            plain.said[seat] = plain.rules.words[0]
    return engine.encode(plain)


def _stored_form_is_the_state(moment: Moment) -> None:
    stored = engine.encode(moment.state)
    again = engine.decode(moment.state.rules.ruleset, stored)
    assert engine.encode(again) == stored
    assert engine.view(again, moment.seat) == engine.view(moment.state, moment.seat)
    assert engine.legal_actions(again, moment.seat) == engine.legal_actions(moment.state, moment.seat)


def _in_place_is_the_same(moment: Moment) -> None:
    step = engine.apply(moment.state, moment.seat, moment.action, moment.shuffler)
    in_place, events = engine.copy(moment.state), list[Event]()
    engine.advance(in_place, moment.seat, moment.action, moment.shuffler, events)
    assert engine.encode(in_place) == engine.encode(step.state)
    assert events == step.events
    silent = engine.copy(moment.state)
    engine.advance(silent, moment.seat, moment.action, moment.shuffler)
    assert engine.encode(silent) == engine.encode(step.state)


@pytest.mark.parametrize("seed", PLAIN[::4] + MIXES[:20])
def test_a_subject_has_a_new_number_whenever_it_is_a_new_one(seed: str) -> None:
    """What was decided about an older turn, debt, window, top card or phase can be told from what is meant now."""
    for moment in play(ruleset_of(seed), seed, rounds=2, most=120):
        before = moment.state
        after = engine.apply(before, moment.seat, moment.action, moment.shuffler).state
        old, new = (dict(engine.subjects(state)) for state in (before, after))
        assert all(new[name] >= number for name, number in old.items())
        changed = {
            "turn": (before.turn, before.debt, before.kind) != (after.turn, after.debt, after.kind),
            "exposed": after.exposed is not None and before.exposed != after.exposed,
            "pile": len(before.pile) + 1 == len(after.pile),
            "phase": before.phase is not after.phase,
        }
        is_open = after.phase in (Phase.PLAY, Phase.CHALLENGE)
        assert [name for name, is_new in changed.items() if is_new and is_open and new[name] == old[name]] == []
        assert engine.acts_on(before, moment.action) in old


@pytest.mark.parametrize("preset", PRESETS)
def test_the_same_seed_gives_the_same_match(preset: str) -> None:
    def course() -> list[bytes]:
        return [engine.encode(moment.state) for moment in play(make_ruleset(preset), "again", rounds=2)]

    assert course() == course()


@pytest.mark.parametrize("preset", PRESETS)
def test_a_clock_that_plays_for_everybody_brings_every_round_to_an_end(preset: str) -> None:
    """Default actions only: nobody ever plays a card it need not, so the stock runs dry and the round is blocked."""
    ruleset, shuffler = make_ruleset(preset), SeededShuffler("clock")
    state = engine.new_match(ruleset, ruleset.max_seats, 0, shuffler).state
    for _ in range(2000):
        waited_for = engine.must_act(state)
        if not waited_for:
            break
        action = engine.default_action(state, waited_for[0])
        state = engine.apply(state, waited_for[0], action, shuffler).state
    assert engine.phase(state) in (Phase.ROUND_OVER, Phase.MATCH_OVER)


def test_bytes_that_are_no_state_are_refused() -> None:
    ruleset = make_ruleset("uno")
    stored = engine.encode(engine.new_match(ruleset, 3, 0, SeededShuffler(1)).state)
    for wrong in (b"", b"\xc1", b"\x90", b"\x93\x01\x02\x03", stored[:-3], b"\x01" + stored[1:]):
        with pytest.raises(ValueError, match="no stored state"):
            engine.decode(ruleset, wrong)
