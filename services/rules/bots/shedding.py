"""Rules of thumb for Mau-Mau and UNO: get rid of dear cards, keep wild ones, hurt whoever is about to finish, call in
time, accuse at once."""

from __future__ import annotations

from collections import Counter

from msgspec.structs import replace

from services.rules.actions import (
    Accept,
    Accuse,
    Action,
    Call,
    Challenge,
    Choose,
    Draw,
    JumpIn,
    Pass,
    Play,
    PlayMany,
    React,
    Speak,
    Word,
)
from services.rules.cards import Card, Rank, Suit
from services.rules.ruleset import Ruleset
from services.rules.views import SheddingView

AT_ONCE = 1_000.0
FINISH = 500.0
PLAYING = 100.0
"""What a play is worth before it is looked at: more than drawing, less than what must be done at once."""
CALLED = 0.1
"""Enough to decide between two plays that differ in the call alone."""
DANGER = 2
"""Cards in a hand that is about to finish."""
LIKELY_BLUFF = 5
"""With this many cards left, who plays a Wild Draw Four probably had a choice."""

_WILDS = (Rank.WILD, Rank.WILD_DRAW_FOUR)
_UNO_ATTACKS = (Rank.DRAW_TWO, Rank.WILD_DRAW_FOUR, Rank.SKIP, Rank.REVERSE)


class Table:
    """A position as the bot sees it, and what actions are worth in it."""

    def __init__(self, view: SheddingView, seat: int, ruleset: Ruleset) -> None:
        self.view = view
        self.seat = seat
        options = ruleset.options
        effects, points = options.get("effects", {}), options["score.values"]
        assert isinstance(effects, dict | type(options))
        assert isinstance(points, dict | type(options))
        self.is_uno = ruleset.game == "uno"
        self.points = points
        self.effects = effects
        seats = len(view.hand_sizes)
        self.previous_size = view.hand_sizes[(seat - view.direction) % seats]
        self.next_size = view.hand_sizes[(seat + view.direction) % seats]
        self.least_size = min(size for other, size in enumerate(view.hand_sizes) if other != seat)

    def worth(self, action: Action) -> float:
        """How good the action seems; only comparisons mean something."""
        if isinstance(action, Accuse | React):
            return AT_ONCE
        if isinstance(action, Call):
            return AT_ONCE - (1 if action.word is self._word() else 2)
        if isinstance(action, Play | JumpIn | PlayMany):
            return self._lay(action)
        if isinstance(action, Choose):
            return float(self._suits(())[action.suit])
        if isinstance(action, Challenge):
            return 1.0 if self.previous_size >= LIKELY_BLUFF else -1.0
        return _IDLE.get(type(action), 0.0)

    def _lay(self, action: Play | JumpIn | PlayMany) -> float:
        """A call that is listed with a play is needed: the hand that the play brings may be one card, too."""
        cards = action.cards if isinstance(action, PlayMany) else (action.card,)
        wish = None if isinstance(action, PlayMany) else action.wish
        return self._play(cards, wish) + self._target(action.target, action.give) + CALLED * (action.call is not None)

    def _play(self, cards: tuple[Card, ...], wish: Suit | None) -> float:
        left = len(self.view.hand) - len(cards)
        if left <= 0:
            return FINISH
        rest = _without(self.view.hand, cards)
        worth = PLAYING + 4 * len(cards) + sum(self._points(card) for card in cards) / 5
        last = cards[-1]
        if self._is_wild(last):
            worth -= 0 if self.least_size <= DANGER else 25
            worth += self._suits(cards)[wish] if wish is not None else 0
        else:
            worth += sum(card.suit is last.suit or card.rank is last.rank for card in rest)
        if self._attacks(last):
            worth += 30 if self.next_size <= DANGER else 2
        return worth

    def _target(self, target: int | None, give: tuple[Card, ...]) -> float:
        """A swap is worth what it makes the hand smaller, a gift what it takes away."""
        if target is None:
            return 0.0
        theirs, mine = self.view.hand_sizes[target], len(self.view.hand) - 1
        if give:
            return 5.0 * len(give) + theirs / 10
        return 5.0 * (mine - theirs)

    def _suits(self, without: tuple[Card, ...]) -> Counter[Suit]:
        """How often each suit is left in the hand; wild cards belong to none."""
        rest = _without(self.view.hand, without)
        return Counter(card.suit for card in rest if card.suit is not None and not self._is_wild(card))

    def _points(self, card: Card) -> int:
        return int(self.points.get(card.rank.letter, 0))

    def _is_wild(self, card: Card) -> bool:
        return card.rank in _WILDS or self._effect(card) == "wish"

    def _attacks(self, card: Card) -> bool:
        return card.rank in _UNO_ATTACKS if self.is_uno else self._effect(card) in ("draw", "skip")

    def _effect(self, card: Card) -> str:
        return str(self.effects.get(card.rank.letter, "none"))

    def _word(self) -> Word:
        """The word for the card that will be left, or is."""
        if self.is_uno:
            return Word.UNO
        left = min(self.view.hand, key=lambda card: not self._is_wild(card))
        return Word.MAUMAU if self._is_wild(left) else Word.MAU


_IDLE: dict[type, float] = {Draw: 10.0, Pass: 5.0, Accept: 0.0, Speak: -AT_ONCE}


def _without(hand: tuple[Card, ...], cards: tuple[Card, ...]) -> list[Card]:
    rest = list(hand)
    for card in cards:
        if card in rest:
            rest.remove(card)
    return rest


def with_call(action: Action, view: SheddingView, ruleset: Ruleset) -> Action:
    """The play with the call that it needs: where the ruleset takes calls with a play, and one card will be left."""
    if not isinstance(action, Play | PlayMany | JumpIn) or ruleset.options["call.timing"] != "with_or_after":
        return action
    cards = action.cards if isinstance(action, PlayMany) else (action.card,)
    rest = _without(view.hand, (*cards, *action.give))
    if len(rest) != 1:
        return action
    if ruleset.game == "uno":
        return replace(action, call=Word.UNO)
    final_jack = ruleset.options.get("call.finalJack", False) and rest[0].rank is Rank.JACK
    return replace(action, call=Word.MAUMAU if final_jack else Word.MAU)
