"""Seats and rulesets by the names that people know."""

from __future__ import annotations

from typing import Final

from rich.cells import cell_len, set_cell_size

from maumau.v1 import events_pb2, room_pb2

LONGEST_NAME: Final = 16
_TITLES: Final = {
    "mau-mau-32": "Mau-Mau",
    "mau-mau-brasil": "Mau-Mau Brasil",
    "uno": "UNO",
    "tranca": "Tranca",
}


def seat_name(view: room_pb2.RoomView, number: int) -> str:
    """Who sits there, `you` for oneself, cut to 16 cells."""
    if view.HasField("own_seat") and view.own_seat == number:
        return "you"
    return given_name(view, number)


def given_name(view: room_pb2.RoomView, number: int) -> str:
    """The display name of a seat, also one's own."""
    if number >= len(view.seats) or view.seats[number].kind == events_pb2.SEAT_KIND_FREE:
        return f"seat {number + 1}"
    return cut(view.seats[number].display_name or f"seat {number + 1}", LONGEST_NAME)


def cut(text: str, cells: int) -> str:
    """The text, or its beginning with `…` where it takes more cells (a wide character takes two)."""
    return text if cell_len(text) <= cells else set_cell_size(text, cells - 1).rstrip() + "…"


def is_me(view: room_pb2.RoomView, number: int) -> bool:
    return view.HasField("own_seat") and view.own_seat == number


def ruleset_title(view: room_pb2.RoomView) -> str:
    """The game, and whether options differ from the preset."""
    title = _TITLES.get(view.ruleset.preset) or _TITLES.get(view.ruleset.game) or view.ruleset.preset
    if view.ruleset.preset not in _TITLES:
        title = f"{title} ({view.ruleset.preset})"
    return f"{title}, own rules" if view.ruleset.options else title
