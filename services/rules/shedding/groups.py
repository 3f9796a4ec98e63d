"""House rules `group.*`: playing a sequence, two equal cards or a mirror in one action (rules.md 4.2)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from services.rules.actions import PlayMany
from services.rules.cards import Card, Rank
from services.rules.reasons import IllegalAction, Reason
from services.rules.shedding.fit import refusal_of
from services.rules.shedding.laying import check_given, effect_of, put_down
from services.rules.shedding.state import State


def check_play_many(s: State, seat: int, action: PlayMany) -> None:
    """The first card is judged by debt and matching, all cards by what was drawn, the last by wish and target."""
    cards = action.cards
    if seat != s.turn:
        raise IllegalAction(Reason.NOT_YOUR_TURN)
    if not cards:
        raise IllegalAction(Reason.INVALID_GROUP)
    if not holds(s, seat, cards):
        raise IllegalAction(Reason.CARD_NOT_IN_HAND)
    refusal = _refusal_before_shape(s, seat, cards)
    if refusal is not None:
        raise IllegalAction(refusal)
    check_given(s, seat, action, cards, effect_of(s, cards, jumped_in=False))
    refusal = refusal_of_shape(s, cards)
    if refusal is not None:
        raise IllegalAction(refusal)


def play_many(s: State, seat: int, action: PlayMany) -> None:
    """All cards go to the pile, the last one on top; equal action cards all work, of numbers only the last."""
    put_down(s, seat, action, action.cards)


def holds(s: State, seat: int, cards: tuple[Card, ...]) -> bool:
    """Whether the hand has all these cards, equal ones counted."""
    hand = s.hands[seat]
    return all(hand.count(card) >= cards.count(card) for card in cards)


def _refusal_before_shape(s: State, seat: int, cards: tuple[Card, ...]) -> Reason | None:
    refusal = refusal_of(s, seat, cards[0])
    if s.has_drawn and s.drew is not None and refusal is not Reason.MUST_TAKE_OR_STACK:
        if s.rules.draw_play == "none":
            return Reason.TURN_SPENT
        if s.rules.draw_play == "drawn_only" and any(card is not s.drew for card in cards):
            return Reason.ONLY_DRAWN_CARD
    return refusal


def refusal_of_shape(s: State, cards: tuple[Card, ...]) -> Reason | None:
    """Check 10: these cards form a group, and it is one that is played at this table."""
    rules = s.rules
    if is_same(cards):
        return None if rules.same else Reason.GROUP_NOT_ENABLED
    if is_mirror(cards):
        return None if rules.mirror else Reason.GROUP_NOT_ENABLED
    if not is_sequence(cards) or len(cards) < rules.sequence_least:
        return Reason.INVALID_GROUP
    if not rules.sequences:
        return Reason.GROUP_NOT_ENABLED
    if rules.sequence_from_top and not _continues(s.top, cards):
        return Reason.INVALID_GROUP
    return None


def is_same(cards: tuple[Card, ...]) -> bool:
    """Two cards equal in colour and number or symbol."""
    return len(cards) == 2 and cards[0] is cards[1] and cards[0].suit is not None


def is_mirror(cards: tuple[Card, ...]) -> bool:
    """Two cards of equal number and different colour."""
    return len(cards) == 2 and cards[0].rank is cards[1].rank and cards[0] is not cards[1] and is_number(cards[0])


def is_sequence(cards: tuple[Card, ...]) -> bool:
    """Number cards of one colour, rising or falling by one."""
    if len(cards) < 2 or any(card.suit is not cards[0].suit or not is_number(card) for card in cards):
        return False
    steps = {after.rank.value - before.rank.value for before, after in pairwise(cards)}
    return steps in ({1}, {-1})


def is_number(card: Card) -> bool:
    return Rank.NUMBER_0.value <= card.rank.value <= Rank.NUMBER_9.value


def _continues(top: Card, cards: tuple[Card, ...]) -> bool:
    step = cards[1].rank.value - cards[0].rank.value
    return is_number(top) and cards[0].rank.value - top.rank.value == step


def groups_of(s: State, seat: int) -> Iterator[tuple[Card, ...]]:
    """The groups that the seat on turn may put down as far as debt, drawing, matching and shape go: pairs, and the
    shortest and longest sequence from each first card."""
    if not s.rules.any_groups:
        return
    hand = s.hands[seat]
    for first in dict.fromkeys(hand):
        if first.suit is None or refusal_of(s, seat, first) is not None:
            continue
        for cards in _from(s, hand, first):
            if _refusal_before_shape(s, seat, cards) is None and refusal_of_shape(s, cards) is None:
                yield cards


def _from(s: State, hand: list[Card], first: Card) -> Iterator[tuple[Card, ...]]:
    if hand.count(first) > 1:
        yield (first, first)
    if not is_number(first):
        return
    for other in dict.fromkeys(hand):
        if other.rank is first.rank and other is not first:
            yield (first, other)
    by_number = {card.rank.value: card for card in hand if card.suit is first.suit and is_number(card)}
    for step in (1, -1):
        run = [first]
        while (after := by_number.get(run[-1].rank.value + step)) is not None:
            run.append(after)
        for length in dict.fromkeys((s.rules.sequence_least, len(run))):
            if 2 <= length <= len(run):
                yield tuple(run[:length])
