"""Mau-Mau 32, Mau-Mau Brasil and UNO as one `Game`: what `engine.py` calls."""

from __future__ import annotations

from typing import Final

from services.rules.actions import (
    Accept,
    Accuse,
    Action,
    Call,
    Challenge,
    Choose,
    Concede,
    JumpIn,
    React,
    Speak,
)
from services.rules.cards import Card
from services.rules.events import Event
from services.rules.game import Step, Subjects, Viewer
from services.rules.ruleset import Ruleset
from services.rules.shedding import codec, deal, listing, scoring, view
from services.rules.shedding.compiled import rules_of
from services.rules.shedding.phases import DEEDS, judged
from services.rules.shedding.state import State, copy
from services.rules.shedding.view import view_event
from services.rules.shuffler import Shuffler
from services.rules.views import Phase


class Shedding:
    """The three games. Their differences are data: see `compiled.py`."""

    state_type: type = State
    kinds: frozenset[type] = frozenset(kind for deeds in DEEDS.values() for kind in deeds)
    hiding = view.HIDING

    def new_match(self, ruleset: Ruleset, seats: int, dealer: int, shuffler: Shuffler) -> Step:
        return _dealt(deal.blank(rules_of(ruleset), seats, dealer), shuffler)

    def next_round(self, state: State, shuffler: Shuffler) -> Step:
        if state.phase is not Phase.ROUND_OVER:
            raise ValueError(f"phase = {state.phase.name}; the next round is dealt in ROUND_OVER")
        s = copy(state)
        deal.prepare_next_round(s)
        return _dealt(s, shuffler)

    def apply(self, state: State, seat: int, action: Action, shuffler: Shuffler) -> Step:
        deed = judged(state, seat, action)
        s = copy(state)
        events: list[Event] = []
        s.log, s.chance = events, shuffler
        deed.do(s, seat, action)
        s.log = s.chance = None
        return Step(s, events)

    def advance(self, state: State, seat: int, action: Action, shuffler: Shuffler, events: list[Event] | None) -> None:
        deed = judged(state, seat, action)
        state.log, state.chance = events, shuffler
        deed.do(state, seat, action)
        state.log = state.chance = None

    copy = staticmethod(copy)
    legal_actions = staticmethod(listing.legal_actions)
    penal_actions = staticmethod(listing.penal_actions)
    must_act = staticmethod(listing.must_act)
    may_act = staticmethod(listing.may_act)
    default_action = staticmethod(listing.default_action)
    view = staticmethod(view.view)
    outcome = staticmethod(scoring.outcome)
    encode = staticmethod(codec.encode)

    def view_event(self, state: State, event: Event, viewer: Viewer) -> Event:
        return view_event(event, viewer)

    def phase(self, state: State) -> Phase:
        return state.phase

    def subjects(self, state: State) -> Subjects:
        return {
            "turn": state.turn_serial,
            "exposed": state.exposed_serial,
            "pile": state.pile_serial,
            "phase": state.phase_serial,
            "round": state.round,
        }

    def acts_on(self, state: State, action: Action) -> str:
        """An accusation in a contest is about the contest; a call while a seat is exposed is taken for the late call
        of that seat, since that window began no later than the turn."""
        if isinstance(action, (Accuse, Call)):
            if state.phase is Phase.CONTEST:
                return "phase"
            return "exposed" if isinstance(action, Accuse) or state.exposed is not None else "turn"
        if isinstance(action, (Accept, Challenge, Choose, Concede, React)):
            return "phase"
        if isinstance(action, JumpIn):
            return "pile"
        return "round" if isinstance(action, Speak) else "turn"

    def decode(self, ruleset: Ruleset, stored: bytes) -> State:
        return codec.decode(rules_of(ruleset), stored)

    def cards(self, state: State) -> list[Card]:
        hands = [card for hand in state.hands for card in hand]
        return sorted([*state.stock, *state.pile, state.top, *hands], key=lambda card: card.code)


def _dealt(s: State, shuffler: Shuffler) -> Step:
    events: list[Event] = []
    s.log, s.chance = events, shuffler
    deal.deal(s)
    deal.start(s)
    s.log = s.chance = None
    return Step(s, events)


SHEDDING: Final = Shedding()
