"""The line of each seat."""

from __future__ import annotations

from collections.abc import Callable

from rich.text import Text

from maumau.terminal.labels import WORDS
from maumau.terminal.layout import WIDTH, pad
from maumau.terminal.names import LONGEST_NAME, given_name, is_me
from maumau.v1 import events_pb2, room_pb2

View = room_pb2.RoomView
_HALF = WIDTH // 2


def seat_lines(view: View, count: int, describe: Callable[[int], Text]) -> list[Text]:
    """Two seats a line, in order of play downwards; `describe` says what there is to say of a seat."""
    seats = [_seat(view, number, describe(number)) for number in range(count)]
    down = -(-len(seats) // 2)
    lines = []
    for row in range(down):
        line = Text()
        for seat in seats[row::down]:
            line.append(pad(seat, _HALF))
        lines.append(line)
    return lines


def _seat(view: View, number: int, described: Text) -> Text:
    on_turn = number == turn_of(view)
    line = Text("▶ " if on_turn else "  ", style="bold" if on_turn else "")
    name = Text(given_name(view, number), style="bold" if is_me(view, number) else "")
    return line.append(pad(name, LONGEST_NAME)).append(" ").append(described)


def turn_of(view: View) -> int | None:
    """The seat on turn; None while nobody is."""
    if view.state != room_pb2.ROOM_STATE_PLAYING:
        return None
    return view.tranca.turn if view.WhichOneof("game") == "tranca" else view.shedding.turn


def shedding_seat(view: View, number: int) -> Text:
    """Cards, score, call and what else there is to know."""
    game = view.shedding
    line = _cards(game.hand_sizes[number])
    line.append(f" {game.scores[number]:>4}" if number < len(game.scores) else "     ")
    if game.calls[number]:
        line.append(f" {WORDS.get(game.calls[number], '?')}!", style="bold yellow")
    elif game.HasField("exposed") and game.exposed == number:
        line.append(" no call!", style="bold red")
    return line.append(presence(view, number))


def tranca_seat(view: View, number: int) -> Text:
    """Cards and partnership."""
    side = next((place for place, side in enumerate(view.tranca.partnerships) if number in side.seats), 0)
    line = _cards(view.tranca.hand_sizes[number])
    return line.append(f" pair {side + 1}").append(presence(view, number))


def _cards(count: int) -> Text:
    text = f"{count:>2} card " if count == 1 else f"{count:>2} cards"
    return Text(text, style="bold red" if count == 1 else "")


def presence(view: View, number: int) -> Text:
    """Whether the person is there."""
    seat = view.seats[number]
    if seat.kind == events_pb2.SEAT_KIND_BOT:
        return Text(" bot", style="dim")
    if seat.deserted:
        return Text(" left", style="dim")
    return Text(" away", style="dim") if seat.played_by_bot else Text()
