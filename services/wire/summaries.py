"""A room as one line of a list, on the wire."""

from __future__ import annotations

from maumau.v1 import room_pb2

from services.rules.room.state import Room
from services.wire.rulesets import ruleset_message
from services.wire.times import timestamp
from services.wire.views import ROOM_STATE


def summary_message(room: Room, created_ms: int = 0) -> room_pb2.RoomSummary:
    """What a list shows of a room; `created_ms` is when it was made, in milliseconds since 1970, 0 if not known."""
    return room_pb2.RoomSummary(
        room_id=room.id,
        state=ROOM_STATE.write(room.phase),
        ruleset_label=room.ruleset.label,
        title=room.settings.title,
        seats=len(room.seats),
        free_seats=sum(seat is None for seat in room.seats),
        people=len(room.people()),
        created=timestamp(created_ms) if created_ms else None,
        ruleset=ruleset_message(room.ruleset),
    )
