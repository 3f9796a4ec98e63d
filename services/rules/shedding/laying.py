"""Putting cards on the pile: what plays, groups and jump-ins have in common (rules.md 1.4 checks 8 and 9, 1.6)."""

from __future__ import annotations

from typing import Final

from services.rules.actions import JumpIn, PlayMany
from services.rules.cards import Card
from services.rules.events import CardsPlayed, DebtLapsed
from services.rules.reasons import IllegalAction, Reason
from services.rules.shedding.card_effects import FUNCTIONS, Laid
from services.rules.shedding.effects import NUMBER_RULES, Effect
from services.rules.shedding.finish import finish, must_contest
from services.rules.shedding.fit import breaks_four_test, copied, may_be_last, taken_by
from services.rules.shedding.state import State, announce_turn, clear_debt, seats_from
from services.rules.shedding.windows import expose, judge_call, window_closes

WISHES: Final = (Effect.WISH, Effect.WILD_DRAW_FOUR)
SWAPS: Final = (Effect.ROTATE, Effect.SWAP_MAY, Effect.SWAP_MUST)


def effect_of(s: State, cards: tuple[Card, ...], jumped_in: bool) -> Effect:
    """What the last of these cards does if they are put down now. A special card jumped in does nothing unless the
    ruleset says so; UNO's number rules work all the same."""
    effect = s.rules.effect[cards[-1]]
    if effect is Effect.COPY:
        effect = copied(s)[0]
    if jumped_in and not s.rules.jump_in_works and effect not in NUMBER_RULES:
        return effect if effect is Effect.AGAIN and s.rules.is_uno else Effect.NONE
    return effect


NEED_TARGET: Final = (Effect.SWAP_MUST, Effect.GIVE)
"""Effects that may not go without the name of another seat."""


def check_given(s: State, seat: int, action: Laid, cards: tuple[Card, ...], effect: Effect) -> None:
    """Checks 8 and 9: wish, target and gift, and whether this may be the last card. What a card has no use for is
    ignored, save a wish."""
    is_last = len(cards) == len(s.hands[seat])
    wish = None if isinstance(action, PlayMany) else action.wish
    if effect not in WISHES:
        if wish is not None:
            raise IllegalAction(Reason.WISH_NOT_ALLOWED)
    elif wish not in s.rules.suits and (not is_last or must_contest(s, seat, cards[-1])):
        raise IllegalAction(Reason.WISH_REQUIRED)
    if not is_last:
        if action.target is not None or effect in NEED_TARGET:
            _check_target(s, seat, action, effect)
        if effect is Effect.GIVE and action.give:
            _check_gift(s, seat, action, cards)
    elif not may_be_last(s.rules, cards[-1]):
        raise IllegalAction(Reason.FINISH_FORBIDDEN)


def _check_target(s: State, seat: int, action: Laid, effect: Effect) -> None:
    needs = effect is Effect.SWAP_MUST or (effect is Effect.GIVE and bool(action.give))
    if action.target is None:
        if needs:
            raise IllegalAction(Reason.TARGET_REQUIRED)
        return
    is_other_seat = 0 <= action.target < s.seats and action.target != seat
    if not is_other_seat and (needs or effect is Effect.SWAP_MAY):
        raise IllegalAction(Reason.INVALID_TARGET, target=action.target)


def _check_gift(s: State, seat: int, action: Laid, cards: tuple[Card, ...]) -> None:
    rest = list(s.hands[seat])
    try:
        for card in (*cards, *action.give):
            rest.remove(card)
    except ValueError:
        raise IllegalAction(Reason.INVALID_GIFT) from None
    if len(action.give) != 2 or not (rest or s.rules.gift_may_empty):
        raise IllegalAction(Reason.INVALID_GIFT)


def put_down(s: State, seat: int, action: Laid, cards: tuple[Card, ...]) -> None:
    """The cards go to the pile and do what they do; then the seat is judged by the cards it has left."""
    jumped_in = isinstance(action, JumpIn)
    effect = effect_of(s, cards, jumped_in)
    times = taken_by(s, cards[-1]) if effect is Effect.TAKE else len(cards)
    if effect is Effect.WILD_DRAW_FOUR:
        s.guilty = breaks_four_test(s, seat, cards[-1])
    free_of_duty = not s.rules.call_after_draw and s.drew is not None and s.turn == seat
    window_closes(s)
    move_to_pile(s, seat, action, cards)
    if jumped_in:
        _lapse_debt(s)
    if not s.hands[seat]:
        finish(s, seat, effect, action, times)
    else:
        FUNCTIONS[effect](s, seat, action, times)
        if len(s.hands[seat]) <= 1 or s.rules.all_call_after_swap:
            _judge_hands(s, seat, action, effect, free_of_duty)
    s.last = seat
    announce_turn(s)


def move_to_pile(s: State, seat: int, action: Laid, cards: tuple[Card, ...]) -> None:
    """From the hand to the pile, first card first. A wild that is jumped in and names no suit leaves the named one."""
    hand, rules = s.hands[seat], s.rules
    for card in cards:
        hand.remove(card)
        s.pile.append(s.top)
        s.top = card
    does_nothing = isinstance(action, JumpIn) and not rules.jump_in_works
    if not (does_nothing and s.top in rules.wilds):
        s.wish = None
    s.start_card = False
    s.barred = None
    s.idle = 0
    s.pile_serial += 1
    if s.log is not None:
        wish = None if isinstance(action, PlayMany) else action.wish
        jumped_in = isinstance(action, JumpIn)
        s.log.append(CardsPlayed(seat=seat, cards=cards, wish=wish, jumped_in=jumped_in, left=len(hand)))


def _lapse_debt(s: State) -> None:
    if s.kind is not None:
        clear_debt(s)
        if s.log is not None:
            s.log.append(DebtLapsed())


def _judge_hands(s: State, seat: int, action: Laid, effect: Effect, free_of_duty: bool) -> None:
    """Who has one card left now must have called. A gift can also have emptied the hand."""
    left = len(s.hands[seat])
    if left == 0:
        finish(s, seat, Effect.NONE, action, 0)
    elif left == 1:
        judge_call(s, seat, action.call, free_of_duty)
    if s.rules.all_call_after_swap and effect in SWAPS and s.exposed != seat:
        receivers = seats_from(s, seat) if effect is Effect.ROTATE else [action.target]
        for receiver in receivers:
            if receiver is not None and len(s.hands[receiver]) == 1 and s.said[receiver] is None:
                expose(s, receiver)
                break
