"""How a bot chooses among legal actions. It knows no rules: the server lists what it may do."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from typing import Final, Literal, Protocol

from maumau.v1 import actions_pb2, cards_pb2, room_pb2

Action = actions_pb2.Action
Level = Literal["random", "heuristic"]


class Chooser(Protocol):
    """Chooses one of the legal actions of a view, which are not none."""

    def __call__(self, view: room_pb2.RoomView, legal: Sequence[Action]) -> Action: ...


class RandomChooser:
    """Any legal action, evenly, by its own generator: the same seed chooses the same from the same lists."""

    def __init__(self, seed: str) -> None:
        self._chance = random.Random(seed)

    def __call__(self, view: room_pb2.RoomView, legal: Sequence[Action]) -> Action:
        return self._chance.choice(legal)


class HeuristicChooser:
    """Gets rid of cards, calls when it can, keeps wilds for later, wishes for the suit that it holds most of."""

    def __init__(self, seed: str) -> None:
        self._chance = random.Random(seed)

    def __call__(self, view: room_pb2.RoomView, legal: Sequence[Action]) -> Action:
        game = view.tranca if view.HasField("tranca") else view.shedding
        held = Counter(card.suit for card in game.hand)
        return max(legal, key=lambda action: (_worth(action, held), self._chance.random()))


_KINDS: Final = {
    "lay_meld": 80,
    "add_to_meld": 75,
    "take_discard": 70,
    "play_many": 65,
    "call": 60,
    "jump_in": 55,
    "play": 50,
    "accuse": 45,
    "react": 45,
    "challenge": 20,
    "accept": 25,
    "choose": 40,
    "discard": 30,
    "draw_stock": 30,
    "draw": 10,
    "concede": 10,
    "pass": 5,
    "keep": 5,
    "speak": -10,
}
_WILD_RANKS: Final = (cards_pb2.RANK_JACK, cards_pb2.RANK_WILD, cards_pb2.RANK_WILD_DRAW_FOUR)
_TRANCA_TWO: Final = cards_pb2.RANK_TWO


def _worth(action: Action, held: Counter[cards_pb2.Suit.ValueType]) -> float:
    kind = action.WhichOneof("action") or ""
    worth = float(_KINDS.get(kind, 0))
    match kind:
        case "play":
            worth += _worth_of_play(action.play, held)
        case "play_many":
            worth += len(action.play_many.cards) + (2 if action.play_many.call else 0)
        case "choose":
            worth += held[action.choose.suit]
        case "lay_meld":
            worth += len(action.lay_meld.cards) - _twos(action.lay_meld.cards)
        case "add_to_meld":
            worth += len(action.add_to_meld.cards) - _twos(action.add_to_meld.cards)
        case "discard":
            worth -= 5 if action.discard.card.rank == _TRANCA_TWO else 0
    return worth


def _worth_of_play(play: Action.Play, held: Counter[cards_pb2.Suit.ValueType]) -> float:
    worth = 3.0 if play.call else 0.0
    if play.card.rank in _WILD_RANKS:
        worth -= 5.0
    return worth + 0.1 * held[play.wish or play.card.suit]


def _twos(cards: Sequence[cards_pb2.Card]) -> int:
    return sum(card.rank == _TRANCA_TWO for card in cards)


def chooser(level: Level, seed: str) -> Chooser:
    """A chooser of its own for one seat of one match."""
    return RandomChooser(seed) if level == "random" else HeuristicChooser(seed)
