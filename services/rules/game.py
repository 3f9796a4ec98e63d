"""What a game is: the protocol that every game implements, and the values that it hands back.

`engine.py` picks the game of a ruleset or state; games import from here, never from the engine.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

from services.rules.actions import Action
from services.rules.cards import Card
from services.rules.events import Event
from services.rules.outcome import Outcome
from services.rules.ruleset import Ruleset
from services.rules.shuffler import Shuffler
from services.rules.views import Phase, View

State = Any
"""A game's own state."""

Viewer = int | None


class Step(NamedTuple):
    """A new state and what happened on the way, in order."""

    state: State
    events: list[Event]


Subjects = dict[str, int]
"""What actions act on: the turn, a debt or a window, each by name with its serial number in the match. When a subject's
serial grows, a new one has begun; an action decided before that is stale. Names: `turn` (with its debt), `exposed` (who
may be accused), `pile` (what may be jumped in on), `phase` (challenge, choice, reaction, contest), `round`."""


class Game(Protocol):
    """What each game implements. `state_type` is the class of its states, by which the engine finds the game; `kinds`
    are the classes of its actions, `hiding` those of its events that `view_event` changes; the functions are described
    in `engine.py`."""

    state_type: type
    kinds: frozenset[type]
    hiding: frozenset[type]

    def new_match(self, ruleset: Ruleset, seats: int, dealer: int, shuffler: Shuffler) -> Step: ...
    def next_round(self, state: State, shuffler: Shuffler) -> Step: ...
    def legal_actions(self, state: State, seat: int) -> list[Action]: ...
    def penal_actions(self, state: State, seat: int) -> list[Action]: ...
    def must_act(self, state: State) -> tuple[int, ...]: ...
    def may_act(self, state: State) -> tuple[int, ...]: ...
    def apply(self, state: State, seat: int, action: Action, shuffler: Shuffler) -> Step: ...
    def copy(self, state: State) -> State: ...
    def advance(
        self, state: State, seat: int, action: Action, shuffler: Shuffler, events: list[Event] | None
    ) -> None: ...
    def default_action(self, state: State, seat: int) -> Action: ...
    def view(self, state: State, viewer: Viewer) -> View: ...
    def view_event(self, state: State, event: Event, viewer: Viewer) -> Event: ...
    def outcome(self, state: State) -> Outcome | None: ...
    def phase(self, state: State) -> Phase: ...
    def subjects(self, state: State) -> Subjects: ...
    def acts_on(self, state: State, action: Action) -> str: ...
    def encode(self, state: State) -> bytes: ...
    def decode(self, ruleset: Ruleset, stored: bytes) -> State: ...
    def cards(self, state: State) -> list[Card]: ...
