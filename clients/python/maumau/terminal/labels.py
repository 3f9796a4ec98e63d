"""Actions in words, as the numbered list shows them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from rich.text import Text

from maumau.terminal.faces import card_text, cards_text, suit_text
from maumau.terminal.names import seat_name
from maumau.v1 import actions_pb2, cards_pb2, room_pb2

Action = actions_pb2.Action
View = room_pb2.RoomView

WORDS: Final = {
    cards_pb2.WORD_MAU: "Mau",
    cards_pb2.WORD_MAUMAU: "Mau Mau",
    cards_pb2.WORD_UNO: "UNO",
}


def action_label(view: View, action: Action) -> Text:
    """The action in a few words."""
    kind = action.WhichOneof("action") or ""
    if kind in _PLAIN:
        return Text(_PLAIN[kind])
    if kind == "draw":
        debt = view.shedding.debt
        return Text(f"take {debt} cards" if debt else "draw a card")
    write = _WRITERS.get(kind)
    return write(view, getattr(action, kind)) if write else Text(kind.replace("_", " "))


_PLAIN: Final = {
    "pass": "pass",
    "challenge": "challenge the wild+4",
    "accept": "accept the wild+4",
    "concede": "do not contest",
    "react": "slap!",
    "speak": "say something",
    "draw_stock": "draw from the stock",
    "redraw": "throw it away and draw again",
    "keep": "keep the last card",
    "leave_seat": "leave the seat",
    "start": "start the match",
    "ready_for_round": "ready for the next round",
    "rematch": "play again",
    "rotate_invite": "new invite code",
    "take_back": "take the seat back",
}


def _play(view: View, action: Action.Play | Action.JumpIn) -> Text:
    return _with_extras(view, action, card_text(action.card), action.wish)


def _jump_in(view: View, action: Action.JumpIn) -> Text:
    return Text("jump in ").append(_play(view, action))


def _play_many(view: View, action: Action.PlayMany) -> Text:
    return _with_extras(view, action, cards_text(action.cards), cards_pb2.SUIT_UNSPECIFIED)


def _with_extras(
    view: View, action: Action.Play | Action.JumpIn | Action.PlayMany, cards: Text, wish: cards_pb2.Suit.ValueType
) -> Text:
    label = cards.copy()
    if wish:
        label.append(" wish ").append(suit_text(wish))
    if action.call:
        label.append(f' "{WORDS.get(action.call, "?")}"')
    if action.HasField("target"):
        label.append(f" with {seat_name(view, action.target)}")
    if action.give:
        label.append(" give ").append(cards_text(action.give))
    return label


def _call(view: View, action: Action.Call) -> Text:
    return Text(f'call "{WORDS.get(action.word, "?")}"')


def _accuse(view: View, action: Action.Accuse) -> Text:
    return Text(f"accuse {seat_name(view, action.target)}" if action.HasField("target") else "accuse")


def _choose(view: View, action: Action.Choose) -> Text:
    return Text("choose ").append(suit_text(action.suit))


def _take_discard(view: View, action: Action.TakeDiscard) -> Text:
    label = Text("take the pile")
    if action.HasField("meld_id"):
        return label.append(f" for {action.meld_id}")
    return label.append(" with ").append(cards_text(action.cards)) if action.cards else label


def _lay_meld(view: View, action: Action.LayMeld) -> Text:
    return Text("meld ").append(cards_text(action.cards))


def _add_to_meld(view: View, action: Action.AddToMeld) -> Text:
    return Text(f"add to {action.meld_id}: ").append(cards_text(action.cards))


def _discard(view: View, action: Action.Discard) -> Text:
    return Text("discard ").append(card_text(action.card))


_WRITERS: Final[dict[str, Callable[[View, Any], Text]]] = {
    "play": _play,
    "play_many": _play_many,
    "jump_in": _jump_in,
    "call": _call,
    "accuse": _accuse,
    "choose": _choose,
    "take_discard": _take_discard,
    "lay_meld": _lay_meld,
    "add_to_meld": _add_to_meld,
    "discard": _discard,
}
