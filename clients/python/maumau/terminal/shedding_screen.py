"""The table of Mau-Mau and UNO."""

from __future__ import annotations

from rich.text import Text

from maumau.terminal.faces import card_text, suit_text
from maumau.terminal.layout import wrap
from maumau.terminal.names import seat_name
from maumau.terminal.seats import seat_lines, shedding_seat
from maumau.v1 import room_pb2

View = room_pb2.RoomView
_HAND_LINES = 3

_PHASES = {
    room_pb2.PHASE_CHALLENGE: "the wild+4 has to be answered",
    room_pb2.PHASE_CHOOSE: "a suit has to be chosen",
    room_pb2.PHASE_REACT: "everybody has to react",
    room_pb2.PHASE_CONTEST: "the finish may be contested",
    room_pb2.PHASE_ANSWER: "the finish may be answered",
}


def shedding_lines(view: View) -> list[Text]:
    """Seats, pile and own hand."""
    game = view.shedding
    seats = seat_lines(view, len(game.hand_sizes), lambda number: shedding_seat(view, number))
    return [*seats, Text(), *_pile(view), Text(), *_hand(game)]


def _pile(view: View) -> list[Text]:
    game = view.shedding
    top = Text("  Top card ").append(card_text(game.top))
    if game.wish:
        top.append("   Wish ").append(suit_text(game.wish))
    elif game.suit != game.top.suit:
        top.append("   Suit ").append(suit_text(game.suit))
    if game.debt:
        top.append(f"   Owed {game.debt} cards", style="bold red")
    if game.phase in _PHASES:
        top.append(f"   {_PHASES[game.phase]}", style="bold yellow")
    elif game.silence:
        top.append("   silence!", style="bold yellow")
    way = "clockwise ↓" if game.direction >= 0 else "the other way ↑"
    rest = f"  Play runs {way}   Stock {game.stock_size}   Pile {game.pile_size + 1}   Dealer "
    return [top, Text(rest, style="dim").append(seat_name(view, game.dealer))]


def _hand(game: room_pb2.SheddingView) -> list[Text]:
    if not game.hand:
        return []
    label = Text("  Your hand ")
    lines = wrap([card_text(card) for card in game.hand], width=66, lines=_HAND_LINES)
    indent = Text(" " * label.cell_len)
    return [(label if place == 0 else indent).copy().append(line) for place, line in enumerate(lines)]
