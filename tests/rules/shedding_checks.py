"""What must hold at any moment of any match of Mau-Mau and UNO."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any, Final

from services.rules import engine
from services.rules.actions import Action, PlayMany
from services.rules.cards import COLOURS, Card
from services.rules.events import Event, RoundEndCause
from services.rules.reasons import IllegalAction
from services.rules.shedding.effects import Effect
from services.rules.shedding.state import Debt, State
from services.rules.views import Phase
from tests.rules.shedding_play import OVER, Moment, any_action

MOST_LISTED: Final = 250
"""Groups and gifts are listed up to a bound."""


def check_table(moment: Moment) -> None:
    """Cheap enough for every moment: no card is lost or doubled, whoever must act can, and what a state says in
    several places agrees."""
    pack = sorted(moment.state.rules.pack, key=lambda card: card.code)
    assert engine.cards(moment.state) == pack
    _somebody_can_act(moment)
    _hands_fit_the_phase(moment.state)
    _calls_fit_the_hands(moment.state)


def _hands_fit_the_phase(state: State) -> None:
    """Nobody plays on without cards, a debt has a kind, and a card drawn in this turn is in the hand."""
    out = [] if state.finisher is None else [state.finisher]
    assert [seat for seat, hand in enumerate(state.hands) if not hand] == out
    assert bool(out) == (state.phase in (Phase.CONTEST, Phase.ANSWER))
    assert state.debt >= 0
    assert (state.debt > 0) == (state.kind not in (None, Debt.SKIP))
    assert state.drew is None or (state.has_drawn and state.drew in state.hands[state.turn])


def _calls_fit_the_hands(state: State) -> None:
    """Who can be accused has one card and has not called; a call is for one card, or made in the own turn for two."""
    if state.exposed is not None:
        assert len(state.hands[state.exposed]) == 1
        assert state.said[state.exposed] is None
    for seat, word in enumerate(state.said):
        assert word is None or len(state.hands[seat]) <= (2 if seat == state.turn else 1)


def check_end(last: Moment) -> None:
    """A round gives what its hands are worth, counted anew from faces and options."""
    before, rules = last.state, last.state.rules
    options: Mapping[str, Any] = rules.ruleset.options
    after = engine.apply(before, last.seat, last.action, last.shuffler).state
    if after.phase not in OVER:
        return
    ended = after.last_round
    mode: str = options["score.mode"]
    held = [sum(int(options["score.values"][_sign(card)]) for card in hand) for hand in ended.hands]
    doubled = ended.cause is RoundEndCause.HAND_EMPTY and not rules.is_uno and rules.effect[after.top] is Effect.WISH
    factor: int = options.get("score.jackFinish", 1) if doubled else 1
    won = {"winner_takes": sum(held) - held[ended.winner or 0], "win_points": 1}
    wanted = [0] * after.seats
    if ended.cause is RoundEndCause.BLOCKED and options["exhaust.blocked"] == "void":
        assert ended.winner is None
    elif mode in ("own_points_rank", "low_total"):
        wanted = [factor * points for points in held]
    elif ended.winner is not None:
        wanted[ended.winner] = factor * won[mode]
    assert list(ended.points) == wanted
    assert after.scores == [score + points for score, points in zip(before.scores, wanted, strict=True)]


def _sign(card: Card) -> str:
    """As `score.values` names it: the notation of the face without its suit."""
    text = card.text()
    return text if card.suit is None else text[1:] if card.suit in COLOURS else text[0]


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
