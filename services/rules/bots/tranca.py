"""Rules of thumb for Tranca: take the pile when it pays, lay what makes canastas, keep twos, discard what helps
nobody."""

from __future__ import annotations

from services.rules.actions import Action, Add, Discard, DrawStock, Keep, Meld, Redraw, TakeDiscard
from services.rules.cards import Card, Rank
from services.rules.views import TrancaView

CANASTA = 7
TAKE_PILE_FROM = 3
"""A pile of this size is worth more than an unknown card."""


class Table:
    """A position as the bot sees it, and what actions are worth in it."""

    def __init__(self, view: TrancaView, seat: int) -> None:
        self.view = view
        self.side = seat % 2
        self.melds = {meld.id: meld for meld in view.melds}

    def worth(self, action: Action) -> float:
        """How good the action seems; only comparisons mean something."""
        if isinstance(action, TakeDiscard):
            return 60.0 + self.view.discard_size - 15 * _twos(action.cards) - 40 * self._is_small_pile()
        if isinstance(action, DrawStock):
            return 40.0
        if isinstance(action, Redraw):
            return -100.0
        if isinstance(action, Add):
            return self._add(action)
        if isinstance(action, Meld):
            return 50.0 + 3 * len(action.cards) - 30 * _twos(action.cards) + 5 * _is_run(action.cards)
        if isinstance(action, Discard):
            return self._discard(action.card)
        return 30.0 if isinstance(action, Keep) else 0.0

    def _is_small_pile(self) -> bool:
        return self.view.discard_size < TAKE_PILE_FROM

    def _add(self, action: Add) -> float:
        """Naturals always; a two only where it completes a canasta."""
        size = len(self.melds[action.meld].cards) if action.meld in self.melds else 0
        completes = size < CANASTA <= size + len(action.cards)
        return 70.0 + len(action.cards) - (60 * _twos(action.cards) if not completes else 0) + 20 * completes

    def _discard(self, card: Card) -> float:
        """From 20 down to 0: black threes lock the pile, twos are kept, and so is what may still become a meld or
        would fit a meld of the others."""
        if card.rank is Rank.THREE:
            return 20.0
        if card.rank is Rank.TWO:
            return 0.0
        friends = sum(_near(card, other) for other in self.view.hand) - 1
        gift = any(self._fits(card, meld.cards) for meld in self.view.melds if meld.partnership != self.side)
        return 15.0 - 3 * min(friends, 4) - 4 * gift

    def _fits(self, card: Card, cards: tuple[Card, ...]) -> bool:
        naturals = [other for other in cards if other.rank is not Rank.TWO]
        return any(_near(card, other) for other in naturals)


def _near(card: Card, other: Card) -> bool:
    """Whether the two could lie in one meld."""
    if card.rank is other.rank:
        return True
    return card.suit is other.suit and abs(card.rank.value - other.rank.value) <= 2


def _twos(cards: tuple[Card, ...]) -> int:
    return sum(card.rank is Rank.TWO for card in cards)


def _is_run(cards: tuple[Card, ...]) -> bool:
    return len({card.suit for card in cards if card.rank is not Rank.TWO}) == 1
