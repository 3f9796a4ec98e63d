"""Drawing, taking what is owed, and passing (rules.md 1.5)."""

from __future__ import annotations

from services.rules.cards import Card
from services.rules.events import CardsDrawn, DrawCause, RoundEndCause, TurnPassed
from services.rules.reasons import IllegalAction, Reason
from services.rules.shedding.card_effects import take_debt
from services.rules.shedding.fit import can_play, must_stack, refusal_of
from services.rules.shedding.scoring import end_round
from services.rules.shedding.state import (
    Debt,
    State,
    announce_turn,
    clear_debt,
    draw_card,
    hand_grew,
    hand_over,
)
from services.rules.shedding.windows import action_begins, pressed, turn_ends_without_play


def refusal_of_draw(s: State, seat: int) -> Reason | None:
    """Why the seat on turn may not draw or take."""
    if s.kind is not None:
        if s.kind is Debt.SKIP:
            return Reason.MUST_TAKE_OR_STACK
        if must_stack(s, seat):
            return Reason.MUST_STACK
    if s.has_drawn:
        return Reason.ALREADY_DREW
    if s.rules.must_play and s.kind is None and can_play(s, seat):
        return Reason.MUST_PLAY
    return Reason.MUST_PLAY_AFTER_CALL if _must_play_after_call(s, seat) else None


def refusal_of_pass(s: State, seat: int) -> Reason | None:
    """Why the seat on turn may not pass."""
    if s.kind is not None and s.kind is not Debt.SKIP:
        return Reason.MUST_TAKE_OR_STACK
    if s.kind is None and not s.has_drawn:
        return Reason.MUST_DRAW_FIRST
    return Reason.MUST_PLAY_AFTER_CALL if _must_play_after_call(s, seat) else None


def _must_play_after_call(s: State, seat: int) -> bool:
    """A won challenge can leave nothing that fits: the card that would have answered may be an action card on another
    (`actionOnAction`)."""
    return pressed(s, seat) and can_play(s, seat)


def check_draw(s: State, seat: int, action: object) -> None:
    if seat != s.turn:
        raise IllegalAction(Reason.NOT_YOUR_TURN)
    refusal = refusal_of_draw(s, seat)
    if refusal is not None:
        raise IllegalAction(refusal)


def check_pass(s: State, seat: int, action: object) -> None:
    if seat != s.turn:
        raise IllegalAction(Reason.NOT_YOUR_TURN)
    refusal = refusal_of_pass(s, seat)
    if refusal is not None:
        raise IllegalAction(refusal)


def draw(s: State, seat: int, action: object) -> None:
    """Take what is owed and lose the turn, or draw of one's own will and go on with the turn."""
    action_begins(s)
    if s.kind is None:
        draw_freely(s, seat)
    elif s.kind is Debt.SEVEN and s.rules.play_after_take:
        take_debt(s, seat, DrawCause.DEBT)
        hand_over(s, seat, 0)
        announce_turn(s)
    else:
        take_owed(s, seat)
        announce_turn(s)


def take_owed(s: State, seat: int) -> None:
    """Take everything owed; the turn is over."""
    take_debt(s, seat, DrawCause.DEBT)
    s.idle = 0
    turn_ends_without_play(s)
    hand_over(s, seat)


def draw_freely(s: State, seat: int) -> None:
    """One card; under the other draw modes card after card until one fits, three at most or without end."""
    hand = s.hands[seat]
    cards: list[Card] = []
    while len(cards) < s.rules.draw_limit:
        card = draw_card(s)
        if card is None:
            break
        cards.append(card)
        hand.append(card)
        if s.rules.draw_limit > 1 and refusal_of(s, seat, card) is None:
            break
    s.has_drawn = True
    if cards:
        s.drew = cards[-1]
        hand_grew(s, seat)
    if s.log is not None:
        s.log.append(CardsDrawn(seat=seat, count=len(cards), cards=tuple(cards), cause=DrawCause.TURN))


def pass_turn(s: State, seat: int, action: object) -> None:
    """End the turn. When everybody in a row has passed after drawing nothing, the round is blocked."""
    if s.kind is Debt.SKIP:
        be_skipped(s)
        return
    if s.log is not None:
        s.log.append(TurnPassed(seat=seat))
    turn_ends_without_play(s)
    s.idle = 0 if s.drew is not None else s.idle + 1
    if s.idle >= s.seats:
        end_round(s, None, RoundEndCause.BLOCKED)
        return
    hand_over(s, seat)
    announce_turn(s)


def be_skipped(s: State) -> None:
    """The skip is not passed on: its seat is left out."""
    clear_debt(s)
    hand_over(s, s.turn - s.direction, 2)
    announce_turn(s)


def lose_turn(s: State) -> None:
    """The seat on turn may not play any more; what it owes it takes. That is no pass after drawing nothing."""
    s.idle = 0
    if s.kind is Debt.SKIP:
        clear_debt(s)
        hand_over(s, s.turn)
    elif s.kind is not None:
        take_owed(s, s.turn)
    else:
        turn_ends_without_play(s)
        hand_over(s, s.turn)
    announce_turn(s)
