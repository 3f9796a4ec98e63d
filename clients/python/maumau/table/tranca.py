"""Events of Tranca deals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from maumau.table import cards
from maumau.v1 import cards_pb2, events_pb2, room_pb2, rules_pb2

Event = events_pb2.Event
View = room_pb2.TrancaView
Step = Callable[[View, Any, int | None], None]
"""Changes the view by one event; the last argument is the viewer's own seat."""


def _side_of(game: View, seat: int) -> room_pb2.Partnership:
    return next(side for side in game.partnerships if seat in side.seats)


def _turn_started(game: View, event: Event.TurnStarted, own: int | None) -> None:
    game.turn = event.seat
    game.phase = room_pb2.PHASE_DRAW


def _cards_drawn(game: View, event: Event.CardsDrawn, own: int | None) -> None:
    game.stock_size -= event.count
    game.hand_sizes[event.seat] += event.count
    if event.seat == own:
        cards.put(game.hand, event.cards)


def _stock_drawn(game: View, event: Event.StockDrawn, own: int | None) -> None:
    if event.seat != own or event.HasField("card"):
        game.stock_size -= 1
        game.hand_sizes[event.seat] += 1
    if event.seat == own and event.HasField("card"):
        cards.put(game.hand, [event.card])
    _begin_melding(game, event.seat)


def _begin_melding(game: View, seat: int) -> None:
    """A pozzetto that was taken with the last discard is in use from now on."""
    game.phase = room_pb2.PHASE_MELD
    side = _side_of(game, seat)
    if side.HasField("pozzetto_seat") and side.pozzetto_seat == seat:
        side.pozzetto_used = True


def _red_threes_laid(game: View, event: Event.RedThreesLaid, own: int | None) -> None:
    """Out of a hand that was dealt or taken; cards in their place follow."""
    _side_of(game, event.seat).red_threes.extend(event.cards)
    _leave_hand(game, event.seat, list(event.cards), own)


def red_threes_drawn(game: View, event: Event.RedThreesLaid, own: int | None) -> bool:
    """Straight from the stock, while a card was being drawn. Whether one was left to draw, its drawer alone learns."""
    _side_of(game, event.seat).red_threes.extend(event.cards)
    game.stock_size -= len(event.cards)
    return event.seat == own


def _card_thrown(game: View, event: Event.CardThrown, own: int | None) -> None:
    _lay_on_pile(game, event.seat, event.card, own)
    game.hand_sizes[event.seat] -= 1


def _discarded(game: View, event: Event.Discarded, own: int | None) -> None:
    _lay_on_pile(game, event.seat, event.card, own)
    game.hand_sizes[event.seat] = event.left


def _lay_on_pile(game: View, seat: int, card: cards_pb2.Card, own: int | None) -> None:
    game.discard_size += 1
    game.discard_top.CopyFrom(card)
    game.discard.add().CopyFrom(card)
    if seat == own:
        cards.take(game.hand, [card])


def _pile_taken(game: View, event: Event.PileTaken, own: int | None) -> None:
    game.discard_size = 0
    game.ClearField("discard_top")
    game.ClearField("discard")
    # The top card comes to the hand as well; a meld that uses it takes it away again.
    game.hand_sizes[event.seat] += event.count
    if event.seat == own:
        cards.put(game.hand, [*event.rest, event.top])
    _begin_melding(game, event.seat)


def _meld_laid(game: View, event: Event.MeldLaid, own: int | None) -> None:
    game.melds.add().CopyFrom(event.meld)
    _leave_hand(game, event.seat, list(event.meld.cards), own)


def _meld_extended(game: View, event: Event.MeldExtended, own: int | None) -> None:
    for meld in game.melds:
        if meld.id == event.meld.id:
            meld.CopyFrom(event.meld)
    _leave_hand(game, event.seat, list(event.cards), own)


def _leave_hand(game: View, seat: int, melded: list[cards_pb2.Card], own: int | None) -> None:
    game.hand_sizes[seat] -= len(melded)
    if seat == own:
        cards.take(game.hand, melded)


def _pozzetto_taken(game: View, event: Event.PozzettoTaken, own: int | None) -> None:
    game.pozzetti -= 1
    side = _side_of(game, event.seat)
    side.pozzetto_seat = event.seat
    side.pozzetto_used = event.direct
    game.hand_sizes[event.seat] += event.count
    if event.seat == own:
        cards.put(game.hand, event.cards)


def _stock_renewed(game: View, event: Event.StockRenewed, own: int | None) -> None:
    game.stock_size = event.stock_size
    game.pozzetti -= 1


def _told(game: View, event: object, own: int | None) -> None:
    """Something to tell whose consequences follow as events of their own."""


STEPS: Final[dict[str, Step]] = {
    "turn_started": _turn_started,
    "cards_drawn": _cards_drawn,
    "red_threes_laid": _red_threes_laid,
    "stock_drawn": _stock_drawn,
    "card_thrown": _card_thrown,
    "pile_taken": _pile_taken,
    "meld_laid": _meld_laid,
    "meld_extended": _meld_extended,
    "discarded": _discarded,
    "kept_last": _told,
    "pozzetto_taken": _pozzetto_taken,
    "stock_renewed": _stock_renewed,
}


def settle(game: View, ruleset: rules_pb2.Ruleset) -> None:
    """Where the ruleset shows the top card of the pile only, the cards below it are not in the view."""
    if "discard.visible" not in ruleset.options or ruleset.options["discard.visible"].choice != "all":
        game.ClearField("discard")
