"""What each special card does once it lies on the pile: one function for each effect, which also ends the turn.

All take the state, the seat that played, the action with its wish, target or gift, and how often the effect works (two
for two equal cards played together; for `takeN` the number of cards).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from services.rules.actions import JumpIn, Play, PlayMany
from services.rules.cards import Card, Rank
from services.rules.events import (
    CardsGiven,
    DebtRaised,
    DirectionReversed,
    DrawCause,
    HandsMoved,
    ReactionOpened,
    SilenceBegan,
    SilenceEnded,
)
from services.rules.shedding.effects import Effect
from services.rules.shedding.state import (
    Debt,
    State,
    enter,
    hand_grew,
    hand_over,
    seat_after,
    seats_from,
    take,
)
from services.rules.views import Phase

Laid = Play | PlayMany | JumpIn
"""The three actions that put cards on the pile."""

EffectFunction = Callable[[State, int, Laid, int], None]


def nothing(s: State, seat: int, action: Laid, times: int) -> None:
    """An ordinary card: the next seat is on turn."""
    hand_over(s, seat)


def seven(s: State, seat: int, action: Laid, times: int) -> None:
    """The next seat owes two cards more (or three, or twice as many) and may pass them on with a seven."""
    raise_seven(s)
    hand_over(s, seat)
    _tell_debt(s)


def raise_seven(s: State) -> None:
    """What one more seven makes of the debt."""
    rules = s.rules
    s.debt = s.debt * 2 if rules.seven_doubles and s.debt else s.debt + rules.seven_amount
    s.kind = Debt.SEVEN


def take_cards(s: State, seat: int, action: Laid, times: int) -> None:
    """The next seat owes this many cards, and nothing helps against it."""
    s.debt, s.kind = times, Debt.HARD
    hand_over(s, seat)
    _tell_debt(s)


def skip(s: State, seat: int, action: Laid, times: int) -> None:
    """The next seat is left out, unless skips may be passed on: then it is on turn only to do that."""
    if s.rules.skip_counter:
        s.kind = Debt.SKIP
        hand_over(s, seat)
    else:
        hand_over(s, seat, 1 + times)


def reverse(s: State, seat: int, action: Laid, times: int) -> None:
    """Play runs the other way from now on. With two seats the turn passes, or its player moves again."""
    if times % 2:
        s.direction = -s.direction
    if s.log is not None:
        s.log.append(DirectionReversed(direction=s.direction))
    hand_over(s, seat, 1 + times if s.seats == 2 and s.rules.reverse_again else 1)


def name_suit(s: State, seat: int, action: Laid, times: int) -> None:
    """The suit that the next card must have."""
    s.wish = action.wish if not isinstance(action, PlayMany) else None
    hand_over(s, seat)


def previous_draws(s: State, seat: int, action: Laid, times: int) -> None:
    """The seat before takes a card at once, and loses no turn by it."""
    hand_over(s, seat)
    take(s, previous_seat(s, seat), s.rules.previous_amount, DrawCause.CARD_EFFECT)


def previous_seat(s: State, seat: int) -> int:
    """The seat before in the direction of play, or whoever played the card below (`prevDraw.target`)."""
    if s.rules.previous_is_last_actor and s.last is not None:
        return s.last
    return seat_after(s, seat, -1)


def again(s: State, seat: int, action: Laid, times: int) -> None:
    """The same seat has another full turn."""
    hand_over(s, seat, 0)


def draw_two(s: State, seat: int, action: Laid, times: int) -> None:
    """The next seat takes two cards at once and is left out. It owes them where Draw Twos are stacked, and where this
    one answered a debt."""
    owes = s.rules.two_on_two != "off" or s.kind is not None
    s.debt += 2 * times
    s.kind = Debt.DRAW_TWO
    if owes:
        hand_over(s, seat)
        _tell_debt(s)
    else:
        _takes_at_once(s, seat)


def start_draw_two(s: State, seat: int) -> None:
    """A start Draw Two is never answered."""
    s.debt, s.kind = 2, Debt.DRAW_TWO
    _takes_at_once(s, seat)


def _takes_at_once(s: State, seat: int) -> None:
    take_debt(s, seat_after(s, seat), DrawCause.CARD_EFFECT)
    hand_over(s, seat, 2)


def wild_draw_four(s: State, seat: int, action: Laid, times: int) -> None:
    """A colour is named, and the next seat has to accept or challenge (or answer, where that is allowed)."""
    s.wish = action.wish if not isinstance(action, PlayMany) else None
    s.debt += 4
    s.kind = Debt.WILD_DRAW_FOUR
    hand_over(s, seat)
    enter(s, Phase.CHALLENGE)
    _tell_debt(s)


def rotate(s: State, seat: int, action: Laid, times: int) -> None:
    """Zero: every hand moves to the next seat in the direction of play."""
    move_hands(s, {giver: seat_after(s, giver) for giver in range(s.seats)})
    hand_over(s, seat)


def swap(s: State, seat: int, action: Laid, times: int) -> None:
    """Zero or seven: the hand is exchanged with that of the chosen seat, if one was chosen."""
    if action.target is not None:
        move_hands(s, {seat: action.target, action.target: seat})
    hand_over(s, seat)


def silence(s: State, seat: int, action: Laid, times: int) -> None:
    """Seven: who talks takes two cards, until the round ends or until the next seven."""
    ends = s.silence and s.rules.silence_until_seven
    if s.log is not None and ends == s.silence:
        s.log.append(SilenceEnded() if ends else SilenceBegan(seat=seat))
    s.silence = not ends
    hand_over(s, seat)


def react(s: State, seat: int, action: Laid, times: int) -> None:
    """Nine: everybody slaps or shouts, and play waits for it."""
    hand_over(s, seat)
    s.waiting = list(range(s.seats))
    enter(s, Phase.REACT)
    if s.log is not None:
        s.log.append(ReactionOpened(seat=seat))


def give(s: State, seat: int, action: Laid, times: int) -> None:
    """Two: two cards go to the chosen seat, if any were given. Who has none left then has finished."""
    if action.give and action.target is not None:
        for card in action.give:
            s.hands[seat].remove(card)
        s.hands[action.target].extend(action.give)
        hand_grew(s, action.target)
        if s.log is not None:
            count = len(action.give)
            s.log.append(CardsGiven(seat=seat, target=action.target, count=count, cards=tuple(action.give)))
    if s.hands[seat]:
        hand_over(s, seat)


def move_hands(s: State, moves: dict[int, int]) -> None:
    """Each hand goes from its seat to another. A seat whose hand grew by it loses its call."""
    before = s.hands
    s.hands = list(before)
    for giver, receiver in moves.items():
        s.hands[receiver] = before[giver]
        if len(before[giver]) > len(before[receiver]):
            hand_grew(s, receiver)
    if s.log is not None:
        hands = tuple(tuple(hand) for hand in s.hands)
        s.log.append(HandsMoved(moves=tuple(moves.items()), hands=hands, hand_sizes=tuple(map(len, hands))))


def take_debt(s: State, seat: int, cause: DrawCause, extra: int = 0) -> None:
    """The seat takes all that is owed, and some cards more; nothing is owed then."""
    cards = take(s, seat, s.debt + extra, cause)
    bar_copies(s, seat, cards)
    s.debt, s.kind = 0, None


def bar_copies(s: State, seat: int, cards: list[Card]) -> None:
    """Who drew a copy of the Draw Two or Wild Draw Four that made him draw may not jump in with it."""
    if s.top in cards and s.top.rank in (Rank.DRAW_TWO, Rank.WILD_DRAW_FOUR):
        s.barred = seat


def last_card_draws(s: State, seat: int, effect: Effect, times: int) -> None:
    """What a last card still makes others take, debts that it answers included (`finish.lastCardEffects`)."""
    if effect is Effect.DRAW:
        raise_seven(s)
    elif effect is Effect.TAKE:
        s.debt = times
    elif effect is Effect.DRAW_TWO:
        s.debt += 2 * times
    elif effect is Effect.WILD_DRAW_FOUR:
        s.debt += 4
    elif effect is Effect.PREVDRAW:
        take(s, previous_seat(s, seat), s.rules.previous_amount, DrawCause.CARD_EFFECT)
        return
    else:
        return
    take(s, seats_from(s, seat)[0], s.debt, DrawCause.CARD_EFFECT)


def _tell_debt(s: State) -> None:
    if s.log is not None:
        s.log.append(DebtRaised(seat=s.turn, amount=s.debt))


FUNCTIONS: Final[dict[Effect, EffectFunction]] = {
    Effect.NONE: nothing,
    Effect.DRAW: seven,
    Effect.SKIP: skip,
    Effect.REVERSE: reverse,
    Effect.WISH: name_suit,
    Effect.PREVDRAW: previous_draws,
    Effect.AGAIN: again,
    Effect.TAKE: take_cards,
    Effect.DRAW_TWO: draw_two,
    Effect.WILD_DRAW_FOUR: wild_draw_four,
    Effect.ROTATE: rotate,
    Effect.SWAP_MAY: swap,
    Effect.SWAP_MUST: swap,
    Effect.SILENCE: silence,
    Effect.REACT: react,
    Effect.GIVE: give,
}
