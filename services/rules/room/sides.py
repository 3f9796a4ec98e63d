"""Who plays together: a partnership in Tranca, else each seat for itself."""

from __future__ import annotations

from services.rules.room.state import Room


def side_of(room: Room, seat: int) -> int:
    """The number of the side: the index of its score in points and scores."""
    return seat % 2 if room.ruleset.game == "tranca" else seat


def sides(room: Room, seats: int) -> int:
    """How many sides this many seats make."""
    return 2 if room.ruleset.game == "tranca" else seats


def seats_of_side(room: Room, side: int | None) -> list[int]:
    """The seats of the match that score together; none for None."""
    assert room.match is not None
    return [seat for seat in range(room.match.proof.seats) if side_of(room, seat) == side]
