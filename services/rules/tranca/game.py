"""Tranca: the game that the engine knows, put together from the modules of this package.

Aim: most points. In each turn a player draws, then lays melds of three or more cards and adds to those of his
partnership, then discards. Runs of seven are canastas. A partnership that uses up a hand takes a pozzetto, a second
hand of eleven; using up a hand once more ends the deal, and needs a canasta. Read, in the order of play: `rounds.py`,
`stock.py`, `drawing.py`, `melds.py`, `melding.py`, `discarding.py`, `closing.py`, `scoring.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from services.rules.actions import Action, Add, Discard, DrawStock, Keep, Meld, Redraw, TakeDiscard
from services.rules.cards import Card
from services.rules.events import Event
from services.rules.game import Step, Subjects, Viewer
from services.rules.outcome import Outcome
from services.rules.reasons import IllegalAction, Reason
from services.rules.ruleset import Ruleset
from services.rules.shuffler import Shuffler
from services.rules.tranca import discarding, drawing, legal, melding, rounds, scoring, stored, viewing
from services.rules.tranca.state import TrancaState, copy_state
from services.rules.views import Phase, TrancaView

_Doing = Callable[[TrancaState, int, Any, list[Event]], None]

_DRAWS: Final[dict[type, _Doing]] = {DrawStock: drawing.draw_stock, TakeDiscard: drawing.take_discard}
_AFTER_DRAWING: Final[dict[type, _Doing]] = {
    Redraw: drawing.redraw,
    Meld: melding.meld,
    Add: melding.add,
    Discard: discarding.discard,
    Keep: discarding.keep,
}

_BY_PHASE: Final[dict[Phase, dict[type, _Doing]]] = {
    Phase.DRAW: _DRAWS,
    Phase.MELD: _AFTER_DRAWING,
    Phase.ROUND_OVER: {},
    Phase.MATCH_OVER: {},
}


class Tranca:
    """Implements `services.rules.game.Game`."""

    state_type: type = TrancaState
    kinds: frozenset[type] = frozenset(_DRAWS) | frozenset(_AFTER_DRAWING)
    hiding = viewing.HIDING

    def new_match(self, ruleset: Ruleset, seats: int, dealer: int, shuffler: Shuffler) -> Step:
        events: list[Event] = []
        return Step(rounds.new_match(ruleset, seats, dealer, shuffler, events), events)

    def next_round(self, state: TrancaState, shuffler: Shuffler) -> Step:
        if state.phase is not Phase.ROUND_OVER:
            raise ValueError(f"phase = {state.phase.name}; expected {Phase.ROUND_OVER.name}")
        events: list[Event] = []
        return Step(rounds.next_round(state, shuffler, events), events)

    legal_actions = staticmethod(legal.legal_actions)

    def penal_actions(self, state: TrancaState, seat: int) -> list[Action]:
        return []

    def must_act(self, state: TrancaState) -> tuple[int, ...]:
        return (state.turn,) if state.phase is Phase.MELD or state.phase is Phase.DRAW else ()

    def may_act(self, state: TrancaState) -> tuple[int, ...]:
        return ()

    def apply(self, state: TrancaState, seat: int, action: Action, shuffler: Shuffler) -> Step:
        after = copy_state(state)
        events: list[Event] = []
        self.advance(after, seat, action, shuffler, events)
        return Step(after, events)

    def copy(self, state: TrancaState) -> TrancaState:
        return copy_state(state)

    def advance(
        self, state: TrancaState, seat: int, action: Action, shuffler: Shuffler, events: list[Event] | None
    ) -> None:
        # Events that nobody wants are made and dropped: that costs less than a question at each of them.
        _judge_moment(state, seat, action)(state, seat, action, [] if events is None else events)

    def default_action(self, state: TrancaState, seat: int) -> Action:
        return legal.default_action(state, seat)

    def view(self, state: TrancaState, viewer: Viewer) -> TrancaView:
        return viewing.view(state, viewer)

    def view_event(self, state: TrancaState, event: Event, viewer: Viewer) -> Event:
        return viewing.view_event(state, event, viewer)

    def outcome(self, state: TrancaState) -> Outcome | None:
        return scoring.outcome(state)

    def phase(self, state: TrancaState) -> Phase:
        return state.phase

    def subjects(self, state: TrancaState) -> Subjects:
        return {"turn": state.turns, "round": state.round}

    def acts_on(self, state: TrancaState, action: Action) -> str:
        return "turn"

    def encode(self, state: TrancaState) -> bytes:
        return stored.encode(state)

    def decode(self, ruleset: Ruleset, stored_form: bytes) -> TrancaState:
        return stored.decode(ruleset, stored_form)

    def cards(self, state: TrancaState) -> list[Card]:
        places = (*state.hands, state.stock, state.pile, *state.pozzetti, *state.red_threes)
        melded = (c for meld in state.melds for c in meld.cards)
        return sorted([*(c for place in places for c in place), *melded], key=lambda c: c.code)


def _judge_moment(state: TrancaState, seat: int, action: Action) -> _Doing:
    """What does this action. Raises IllegalAction where it is not this seat's moment for it."""
    kind = type(action)
    doing = _BY_PHASE[state.phase].get(kind)
    if doing is not None and seat == state.turn:
        return doing
    if kind not in _DRAWS and kind not in _AFTER_DRAWING:
        raise IllegalAction(Reason.ACTION_UNKNOWN)
    if state.phase is Phase.MATCH_OVER:
        raise IllegalAction(Reason.MATCH_OVER)
    if state.phase is Phase.ROUND_OVER:
        raise IllegalAction(Reason.ROUND_OVER)
    if seat != state.turn:
        raise IllegalAction(Reason.NOT_YOUR_TURN)
    raise IllegalAction(Reason.MUST_DRAW_FIRST if state.phase is Phase.DRAW else Reason.ALREADY_DREW)


GAME: Final = Tranca()
