"""Playing one card."""

from __future__ import annotations

from services.rules.actions import Play
from services.rules.cards import Card
from services.rules.events import DrawCause, PlayRejected
from services.rules.reasons import IllegalAction, Reason
from services.rules.shedding.fit import refusal_of
from services.rules.shedding.laying import check_given, effect_of, put_down
from services.rules.shedding.state import State, take
from services.rules.views import Phase

WRONG_CARD_TAKES = 2
DOES_NOT_FIT = frozenset(
    (
        Reason.ACTION_ON_ACTION,
        Reason.WD4_NOT_ALLOWED,
        Reason.JACK_ON_JACK,
        Reason.JACK_NOT_WILD_ON_SEVEN,
        Reason.CARD_DOES_NOT_MATCH,
    )
)
"""Check 7: what `illegalPlay` may punish instead of refusing."""


def check_play(s: State, seat: int, action: Play) -> None:
    """All checks; a card that does not fit passes where it is punished instead, which an answer never is."""
    card = action.card
    refusal = refusal_of_card(s, seat, card)
    if refusal is None:
        check_given(s, seat, action, (card,), effect_of(s, (card,), jumped_in=False))
    elif not (s.rules.penal_plays and s.phase is Phase.PLAY and refusal in DOES_NOT_FIT):
        raise IllegalAction(refusal)


def refusal_of_card(s: State, seat: int, card: Card) -> Reason | None:
    """Checks 3 to 7: turn, hand, debt, what was drawn, matching."""
    if seat != s.turn:
        return Reason.NOT_YOUR_TURN
    if card not in s.hands[seat]:
        return Reason.CARD_NOT_IN_HAND
    refusal = refusal_of(s, seat, card)
    if s.has_drawn and s.drew is not None and refusal is not Reason.MUST_TAKE_OR_STACK:
        if s.rules.draw_play == "none":
            return Reason.TURN_SPENT
        if s.rules.draw_play == "drawn_only" and card is not s.drew:
            return Reason.ONLY_DRAWN_CARD
    return refusal


def play(s: State, seat: int, action: Play) -> None:
    """The card goes to the pile; one that does not fit comes back with two others (`illegalPlay`)."""
    if s.rules.penal_plays and refusal_of(s, seat, action.card) is not None:
        if s.log is not None:
            s.log.append(PlayRejected(seat=seat, card=action.card))
        take(s, seat, WRONG_CARD_TAKES, DrawCause.ILLEGAL_PLAY)
        return
    put_down(s, seat, action, (action.card,))
