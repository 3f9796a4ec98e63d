"""What must hold at any moment of any match of Mau-Mau and UNO."""

from __future__ import annotations

import random
from typing import Final

from services.rules import engine
from services.rules.actions import Action, PlayMany
from services.rules.events import Event
from services.rules.reasons import IllegalAction
from services.rules.shedding.state import State
from tests.rules.shedding_play import Moment, any_action

MOST_LISTED: Final = 250
"""Groups and gifts are listed up to a bound."""


def check_table(moment: Moment) -> None:
    """Cheap enough for every moment: no card is lost or doubled, and whoever must act can."""
    pack = sorted(moment.state.rules.pack, key=lambda card: card.code)
    assert engine.cards(moment.state) == pack
    _somebody_can_act(moment)


def check_moment(moment: Moment, rng: random.Random) -> None:
    """Listed actions are accepted and others refused, a refusal changes nothing, the stored form is the state, and in
    place the same happens."""
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
        assert len(listed) <= MOST_LISTED


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
