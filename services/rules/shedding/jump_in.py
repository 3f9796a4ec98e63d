"""House rule `jumpIn.mode`: throwing in a card identical to the top card, out of turn."""

from __future__ import annotations

from services.rules.actions import JumpIn
from services.rules.cards import Card, Rank
from services.rules.reasons import IllegalAction, Reason
from services.rules.shedding.fit import breaks_four_test
from services.rules.shedding.laying import check_given, effect_of, put_down
from services.rules.shedding.state import State


def check_jump_in(s: State, seat: int, action: JumpIn) -> None:
    card = action.card
    if card not in s.hands[seat]:
        raise IllegalAction(Reason.CARD_NOT_IN_HAND)
    if _breaks_strict_rule(s, seat, card):
        raise IllegalAction(Reason.WD4_NOT_ALLOWED)
    check_given(s, seat, action, (card,), effect_of(s, (card,), jumped_in=True))
    refusal = refusal_of_jump_in(s, seat, card)
    if refusal is not None:
        raise IllegalAction(refusal)


def refusal_of_jump_in(s: State, seat: int, card: Card) -> Reason | None:
    """Check 10."""
    if not s.rules.jump_in:
        return Reason.JUMP_IN_DISABLED
    if s.start_card:
        return Reason.JUMP_IN_ON_START_CARD
    if card is not s.top:
        return Reason.JUMP_IN_NOT_IDENTICAL
    if s.barred == seat:
        return Reason.JUMP_IN_BARRED
    return None


def jump_in(s: State, seat: int, action: JumpIn) -> None:
    """Play goes on from the seat that jumped in; a debt that was not taken yet lapses."""
    put_down(s, seat, action, (action.card,))


def _breaks_strict_rule(s: State, seat: int, card: Card) -> bool:
    strict = s.rules.strict_four and s.rules.jump_in_works
    return strict and card.rank is Rank.WILD_DRAW_FOUR and breaks_four_test(s, seat, card)


def may_jump_in(s: State, seat: int, card: Card) -> bool:
    """The seat holds this card and may throw it in now, as far as the table goes."""
    return (
        card in s.hands[seat] and refusal_of_jump_in(s, seat, card) is None and not _breaks_strict_rule(s, seat, card)
    )
