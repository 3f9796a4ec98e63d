"""What the room list shows."""

from __future__ import annotations

from services.rules.room.settings import Visibility
from services.rules.room.state import Room, RoomPhase
from services.rules.room.step import Listing


def listing(room: Room) -> Listing | None:
    """The room's line, None unless it is public and open."""
    if room.settings.visibility is not Visibility.PUBLIC or room.phase is not RoomPhase.OPEN:
        return None
    return Listing(
        room_id=room.id,
        preset=room.preset,
        options=room.options,
        label=room.ruleset.label,
        title=room.settings.title,
        seats=len(room.seats),
        free_seats=sum(seat is None for seat in room.seats),
        people=len(room.people()),
    )
