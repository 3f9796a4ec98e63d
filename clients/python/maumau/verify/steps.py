"""Each step of a replay by itself and in its place: nothing missing, and what an action caused fits the action."""

from __future__ import annotations

from typing import Any, Final

from maumau.v1 import actions_pb2, authority_pb2, events_pb2
from maumau.verify.packs import face, faces
from maumau.verify.table import expect

_CAUSES: Final[dict[str, tuple[str, ...]]] = {
    "play": ("cards_played", "play_rejected"),
    "play_many": ("cards_played",),
    "jump_in": ("cards_played",),
    "pass": ("turn_passed", "seat_skipped"),
    "call": ("called", "called_falsely"),
    "accuse": ("accused",),
    "challenge": ("challenged",),
    "accept": ("accepted",),
    "choose": ("suit_chosen",),
    "concede": ("conceded",),
    "react": ("reacted",),
    "speak": ("spoke",),
    "draw_stock": ("stock_drawn", "round_ended"),
    "redraw": ("card_thrown",),
    "take_discard": ("pile_taken",),
    "lay_meld": ("meld_laid",),
    "add_to_meld": ("meld_extended",),
    "discard": ("discarded",),
    "keep": ("kept_last",),
}
"""What one of has to follow from an action of the game."""

_ON_TURN: Final = ("stock_drawn", "pile_taken", "challenged", "accepted")
"""Events of the seat on turn, whose turn goes on."""

_TURN_ENDS: Final = ("cards_played", "turn_passed", "discarded", "kept_last")
"""Events of the seat on turn after which somebody's turn begins anew, also if it is the same seat's."""


class Sequence:
    """Follows the steps of a match from its first version to its last, and whose turn it is."""

    def __init__(self, first_version: int) -> None:
        self._next = first_version
        self._turn: int | None = None
        self._debt = 0
        self._reacting = self._finishing = False

    def follow(self, step: authority_pb2.ReplayStep) -> None:
        """Raises Wrong where a version is missing, or an event without which the others cannot be."""
        expect(step.version == self._next, f"version {self._next} is missing")
        self._next += 1
        expect(bool(step.events), "nothing happened")
        self._follow_action(step)
        for event in step.events:
            self._follow_turn(event)

    def _follow_action(self, step: authority_pb2.ReplayStep) -> None:
        action = step.action.WhichOneof("action")
        wanted = _CAUSES.get(action or "")
        if wanted is None:
            return
        caused = [event for event in step.events if event.WhichOneof("event") in wanted]
        expect(bool(caused), f"what the action {action} caused is missing")
        attempted, told = getattr(step.action, str(action)), caused[0]
        _compare_cards(attempted, getattr(told, str(told.WhichOneof("event"))))

    def _follow_turn(self, event: events_pb2.Event) -> None:
        """Whoever acts on a turn has been told to be on turn, each time anew; what is owed has been told before."""
        kind = str(event.WhichOneof("event"))
        about = getattr(event, kind)
        if kind == "turn_started":
            expect(about.debt in (0, self._debt), "a debt was not told before")
            self._turn, self._debt = about.seat, about.debt
            self._finishing = False
        elif kind == "contest_opened":
            self._finishing = True
        elif kind == "cards_played" and self._finishing:
            pass  # a last seven is answered, which is no turn
        elif kind == "debt_raised":
            self._debt = about.amount
        elif kind == "cards_drawn" and about.cause in (events_pb2.DRAW_CAUSE_TURN, events_pb2.DRAW_CAUSE_DEBT):
            self._expect_turn(about.seat, ends=about.cause == events_pb2.DRAW_CAUSE_DEBT)
        elif kind in _ON_TURN or (kind in _TURN_ENDS and not getattr(about, "jumped_in", False)):
            self._expect_turn(about.seat, ends=kind in _TURN_ENDS)
        elif kind == "reaction_opened":
            self._reacting = True
        elif kind == "reacted":
            expect(self._reacting, "somebody reacts to nothing")

    def _expect_turn(self, seat: int, *, ends: bool) -> None:
        expect(seat == self._turn, "somebody plays out of turn")
        if ends:
            self._turn = None


def _compare_cards(action: Any, event: Any) -> None:
    """The cards that were laid are those of the action."""
    if isinstance(action, (actions_pb2.Action.Play, actions_pb2.Action.JumpIn, actions_pb2.Action.Discard)):
        told = faces(event.cards) if hasattr(event, "cards") else [face(event.card)]
        expect(told == [face(action.card)], "another card was laid than the action names")
    elif isinstance(action, (actions_pb2.Action.PlayMany, actions_pb2.Action.AddToMeld)):
        expect(sorted(faces(event.cards)) == sorted(faces(action.cards)), "other cards were laid than the action names")
