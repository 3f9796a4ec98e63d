"""House rules `group.*`: playing a sequence, two equal cards or a mirror in one action (rules.md 4.2)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from services.rules.actions import PlayMany
from services.rules.cards import PACKS, Card, Rank
from services.rules.reasons import IllegalAction, Reason
from services.rules.shedding.fit import fit_of, refusal_of
from services.rules.shedding.laying import check_given, effect_of, put_down
from services.rules.shedding.state import State

_COLOURED: Final = {(c.suit, c.rank.value): c for c in PACKS["uno108"] if c.rank.value <= Rank.NUMBER_9.value}
NUMBERS: Final = frozenset(_COLOURED.values())
NUMBER_ABOVE: Final = {c: _COLOURED[c.suit, v + 1] for (_, v), c in _COLOURED.items() if c.rank is not Rank.NUMBER_9}
NUMBER_BELOW: Final = {above: below for below, above in NUMBER_ABOVE.items()}
"""From each number card to the one of its colour that is one higher, or lower."""


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
        if s.rules.draw_play == "drawn_only":
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
    if rules.sequence_from_top and not is_sequence((s.top, *cards)):
        return Reason.INVALID_GROUP
    return None


def is_same(cards: tuple[Card, ...]) -> bool:
    """Two cards equal in colour and number or symbol."""
    return len(cards) == 2 and cards[0] is cards[1] and cards[0].suit is not None


def is_mirror(cards: tuple[Card, ...]) -> bool:
    """Two cards of equal number and different colour."""
    return len(cards) == 2 and cards[0].rank is cards[1].rank and cards[0] is not cards[1] and cards[0] in NUMBERS


def is_sequence(cards: tuple[Card, ...]) -> bool:
    """Number cards of one colour, rising or falling by one."""
    if len(cards) < 2 or cards[0] not in NUMBERS:
        return False
    return any(all(after.get(a) is b for a, b in pairwise(cards)) for after in (NUMBER_ABOVE, NUMBER_BELOW))


def groups_of(s: State, seat: int) -> Iterator[tuple[Card, ...]]:
    """The groups that the seat on turn may put down as far as debt, drawing, matching and shape go: pairs, and the
    shortest and longest sequence from each first card."""
    rules, hand = s.rules, s.hands[seat]
    if s.drew is not None and rules.draw_play != "any":
        return
    refusals = fit_of(s).refusals
    held = dict.fromkeys(hand)
    for first in held:
        if refusals[first] is not None or first.suit is None:
            continue
        if rules.same and hand.count(first) > 1:
            yield (first, first)
        if first in NUMBERS:
            if rules.mirror:
                yield from ((first, other) for other in held if other.rank is first.rank and other is not first)
            if rules.sequences:
                yield from _sequences(s, held, first)


def _sequences(s: State, held: dict[Card, None], first: Card) -> Iterator[tuple[Card, ...]]:
    least = s.rules.sequence_least
    for after in (NUMBER_ABOVE, NUMBER_BELOW):
        card = after.get(first)
        if card not in held:
            continue
        run = [first]
        while card is not None and card in held:
            run.append(card)
            card = after.get(card)
        if len(run) < least or (s.rules.sequence_from_top and after.get(s.top) is not first):
            continue
        yield tuple(run[:least])
        if len(run) > least:
            yield tuple(run)
