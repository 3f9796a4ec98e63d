"""The table of Tranca: melds by partnership."""

from __future__ import annotations

from rich.text import Text

from maumau.terminal.faces import card_text, rank_sign, suit_text
from maumau.terminal.layout import WIDTH, wrap
from maumau.terminal.names import seat_name
from maumau.terminal.seats import seat_lines, tranca_seat
from maumau.v1 import cards_pb2, events_pb2, room_pb2

View = room_pb2.RoomView
_HAND_LINES = 2
_MELD_LINES = 3
_SHOWN_WHOLE = 4
_CANASTA_SIGNS = {events_pb2.CANASTA_CLEAN: "★", events_pb2.CANASTA_DIRTY: "☆"}


def tranca_lines(view: View) -> list[Text]:
    """Seats, pile, the melds of both partnerships and the own hand."""
    game = view.tranca
    seats = seat_lines(view, len(game.hand_sizes), lambda number: tranca_seat(view, number))
    melds = [line for side in range(len(game.partnerships)) for line in _side(view, side)]
    return [*seats, _pile(view), *melds, *_hand(game)]


def _pile(view: View) -> Text:
    game = view.tranca
    line = Text(f"  Stock {game.stock_size}   Pile {game.discard_size}")
    if game.HasField("discard_top"):
        line.append(", top ").append(card_text(game.discard_top))
    phase = {room_pb2.PHASE_DRAW: "draw first", room_pb2.PHASE_MELD: "meld and discard"}.get(game.phase, "")
    line.append(f"   Pozzetti {game.pozzetti}   Dealer {seat_name(view, game.dealer)}", style="dim")
    return line.append(f"   {phase}", style="bold yellow") if phase else line


def _side(view: View, number: int) -> list[Text]:
    side = view.tranca.partnerships[number]
    names = " & ".join(seat_name(view, seat) for seat in side.seats)
    head = Text(f"  Pair {number + 1}: {names}  {side.score} points", style="bold")
    if side.red_threes:
        head.append("  red threes ").append(Text(" ").join(card_text(card) for card in side.red_threes))
    if side.HasField("pozzetto_seat"):
        head.append("  pozzetto taken" if side.pozzetto_used else "  pozzetto waits", style="dim")
    melds = [meld_text(meld) for meld in view.tranca.melds if meld.partnership == number]
    lines = wrap(melds, width=WIDTH - 4, lines=_MELD_LINES) if melds else [Text("no melds", style="dim")]
    return [head, *(Text("    ").append(line) for line in lines)]


def meld_text(meld: events_pb2.Meld) -> Text:
    """A meld in short: `m3 ♥4-T` for a run, `m4 K×5` for a set, with a star for a canasta."""
    line = Text().append(f"{meld.id} ", style="dim").append(_short(meld))
    line.append(f"({len(meld.cards)}) ")
    return line.append(_CANASTA_SIGNS.get(meld.canasta, ""), style="bold yellow")


def _short(meld: events_pb2.Meld) -> Text:
    cards = list(meld.cards)
    if len(cards) <= _SHOWN_WHOLE:
        return Text(" ").join(card_text(card) for card in cards)
    naturals = [card for card in cards if card.rank != cards_pb2.RANK_TWO] or cards
    wild = "+2" if len(naturals) < len(cards) else ""
    if len({card.rank for card in naturals}) == 1:
        return Text(f"{rank_sign(naturals[0].rank)}s{wild}")
    sign = suit_text(naturals[0].suit).plain[0]
    return Text(f"{sign}{rank_sign(naturals[0].rank)}-{rank_sign(naturals[-1].rank)}{wild}")


def _hand(game: room_pb2.TrancaView) -> list[Text]:
    if not game.hand:
        return []
    lines = wrap([card_text(card) for card in game.hand], width=WIDTH - 14, lines=_HAND_LINES)
    return [Text("  Your hand " if place == 0 else " " * 12).append(line) for place, line in enumerate(lines)]
