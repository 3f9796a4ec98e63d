"""One interface for every game. Everything outside `services/rules` speaks to the games through this module.

A state is a value of the game's own type; nobody but its game looks inside. It carries its ruleset, which is left out
of the stored form (`encode`, `decode`). `apply` never touches the state it was given. Seats are numbers from 0.
A viewer is a seat, or None for a spectator.

The life of a match: `new_match` deals round 1; `apply` until `phase` is ROUND_OVER or MATCH_OVER; after a round that
did not end the match, `next_round` deals again. `must_act` names the seats that the table waits for, `may_act` those
that may do something (accuse, jump in) besides.

Search and simulation use `copy` and `advance`, which changes the state it is given: the same rules without the cost of
a new state an action. A loop that does little else takes its game once, `game = game_of(ruleset)`, and calls the same
functions on that: it saves looking up the game each time, a tenth of a random match.
"""

from __future__ import annotations

from typing import Final

from services.rules.actions import Action, action_name
from services.rules.cards import Card
from services.rules.events import Event
from services.rules.game import Game, State, Step, Subjects, Viewer
from services.rules.outcome import Outcome
from services.rules.reasons import IllegalAction, Reason
from services.rules.ruleset import Ruleset
from services.rules.shedding.game import SHEDDING
from services.rules.shuffler import Shuffler
from services.rules.tranca.game import GAME as TRANCA
from services.rules.views import Phase, View

__all__ = [
    "HIDING",
    "IllegalAction",
    "Phase",
    "Reason",
    "State",
    "Step",
    "Subjects",
    "Viewer",
    "acts_on",
    "advance",
    "apply",
    "cards",
    "copy",
    "decode",
    "default_action",
    "encode",
    "game_of",
    "legal_actions",
    "may_act",
    "must_act",
    "new_match",
    "next_round",
    "outcome",
    "penal_actions",
    "phase",
    "subjects",
    "view",
    "view_event",
]

_BY_GAME: dict[str, Game] = {"mau-mau-32": SHEDDING, "mau-mau-brasil": SHEDDING, "uno": SHEDDING, "tranca": TRANCA}
HIDING: Final = frozenset[type]().union(*(game.hiding for game in _BY_GAME.values()))
"""Kinds of events of which not everybody may know everything; `view_event` gives any other as it is."""

_BY_STATE: dict[type, Game] = {game.state_type: game for game in _BY_GAME.values()}


def game_of(ruleset: Ruleset) -> Game:
    """The game that a ruleset is of, with the functions below."""
    return _BY_GAME[ruleset.game]


def new_match(ruleset: Ruleset, seats: int, dealer: int, shuffler: Shuffler) -> Step:
    """Deal round 1. Raises IllegalAction (PLAYER_COUNT) for a number of seats that the ruleset does not allow, and
    ValueError for a dealer who is no seat."""
    if not ruleset.min_seats <= seats <= ruleset.max_seats:
        raise IllegalAction(Reason.PLAYER_COUNT, seats=seats, least=ruleset.min_seats, most=ruleset.max_seats)
    if not 0 <= dealer < seats:
        raise ValueError(f"dealer = {dealer}; expected a seat from 0 to {seats - 1}")
    return _BY_GAME[ruleset.game].new_match(ruleset, seats, dealer, shuffler)


def next_round(state: State, shuffler: Shuffler) -> Step:
    """Deal the next round of a match that is not over. Raises ValueError in any other phase than ROUND_OVER."""
    return _BY_STATE[type(state)].next_round(state, shuffler)


def legal_actions(state: State, seat: int) -> list[Action]:
    """What this seat may do now and is not merely a penalty; never empty for a seat of `must_act`."""
    return _BY_STATE[type(state)].legal_actions(state, seat)


def penal_actions(state: State, seat: int) -> list[Action]:
    """What would be accepted from this seat but only costs it cards."""
    return _BY_STATE[type(state)].penal_actions(state, seat)


def must_act(state: State) -> tuple[int, ...]:
    """The seats that the table waits for, empty between rounds."""
    return _BY_STATE[type(state)].must_act(state)


def may_act(state: State) -> tuple[int, ...]:
    """The other seats that have a legal action now."""
    return _BY_STATE[type(state)].may_act(state)


def apply(state: State, seat: int, action: Action, shuffler: Shuffler) -> Step:
    """The state after the action, and what happened; the given state is untouched. Raises IllegalAction with the
    first reason of rules.md 1.4 (Tranca: 5.1) that holds."""
    game = _BY_STATE[type(state)]
    try:
        return game.apply(state, seat, action, shuffler)
    except IllegalAction as refused:
        _explain(refused, game, state, type(action))
        raise


def _explain(refused: IllegalAction, game: Game, state: State, kind: type) -> None:
    """Adds what belongs to a reason wherever in the rules it comes from. Search has no use for it, so `advance` leaves
    it out."""
    if refused.reason is Reason.NOT_YOUR_TURN:
        refused.metadata["turn"] = str(state.turn)
    elif refused.reason is Reason.MUST_TAKE_OR_STACK:
        refused.metadata["debt"] = str(state.debt)
    elif refused.reason is Reason.ACTION_UNKNOWN:
        others = ", ".join(sorted(action_name(other) for other in game.kinds - {kind}))
        refused.metadata = {"action": action_name(kind), "expected": f"one of {others}", **refused.metadata}


def copy(state: State) -> State:
    """A state of its own that `advance` may change."""
    return _BY_STATE[type(state)].copy(state)


def advance(state: State, seat: int, action: Action, shuffler: Shuffler, events: list[Event] | None = None) -> None:
    """`apply` in place; events are only made when there is a list to put them in. A refused action changes nothing."""
    _BY_STATE[type(state)].advance(state, seat, action, shuffler, events)


def default_action(state: State, seat: int) -> Action:
    """What the clock does for a silent seat of `must_act`; never a penal action."""
    return _BY_STATE[type(state)].default_action(state, seat)


def view(state: State, viewer: Viewer) -> View:
    """What the viewer may know of the state."""
    return _BY_STATE[type(state)].view(state, viewer)


def view_event(state: State, event: Event, viewer: Viewer) -> Event:
    """What the viewer may know of an event of the step that led to this state."""
    return _BY_STATE[type(state)].view_event(state, event, viewer)


def outcome(state: State) -> Outcome | None:
    """How the match ended, None while it has not."""
    return _BY_STATE[type(state)].outcome(state)


def phase(state: State) -> Phase:
    """The named part of the round."""
    return _BY_STATE[type(state)].phase(state)


def subjects(state: State) -> Subjects:
    """What actions may act on, with serial numbers."""
    return _BY_STATE[type(state)].subjects(state)


def acts_on(state: State, action: Action) -> str:
    """The name of the subject that this action acts on."""
    return _BY_STATE[type(state)].acts_on(state, action)


def encode(state: State) -> bytes:
    """The stored form, without the ruleset."""
    return _BY_STATE[type(state)].encode(state)


def decode(ruleset: Ruleset, stored: bytes) -> State:
    """The state of a stored form. Raises ValueError for bytes that are none."""
    return _BY_GAME[ruleset.game].decode(ruleset, stored)


def cards(state: State) -> list[Card]:
    """Every card of the match, wherever it lies, sorted by code: always the same list (a test of the engine)."""
    return _BY_STATE[type(state)].cards(state)
