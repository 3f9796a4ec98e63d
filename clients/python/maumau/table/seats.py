"""Events about seats and about the room itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from maumau.v1 import events_pb2, room_pb2

Event = events_pb2.Event
Step = Callable[[room_pb2.RoomView, Any], bool]
"""Changes the view by one event; whether that is all that the event did."""


def _fresh_seat(view: room_pb2.RoomView, number: int) -> room_pb2.Seat:
    while len(view.seats) <= number:
        view.seats.add(kind=events_pb2.SEAT_KIND_FREE)
    seat = view.seats[number]
    seat.Clear()
    seat.kind = events_pb2.SEAT_KIND_FREE
    return seat


def _seat_taken(view: room_pb2.RoomView, event: Event.SeatTaken) -> bool:
    """Who sat on another seat has moved, with what belongs to the person. One's own wish takes back the ready, the
    start of a match that closes ranks does not; the event does not say which it was."""
    moved = room_pb2.Seat(kind=events_pb2.SEAT_KIND_PERSON)
    known = True
    for number, seat in enumerate(view.seats):
        if seat.player_id == event.player_id:
            moved.CopyFrom(seat)
            known = not moved.ready
            moved.ready = False
            _fresh_seat(view, number)
            if view.HasField("own_seat") and view.own_seat == number:
                view.own_seat = event.seat
            break
    else:
        # One without a seat cannot tell from the event whether the newcomer is oneself.
        known = view.HasField("own_seat")
    moved.player_id = event.player_id
    moved.display_name = event.display_name
    moved.deserted = moved.played_by_bot = False
    _fresh_seat(view, event.seat).CopyFrom(moved)
    return known


def _seat_left(view: room_pb2.RoomView, event: Event.SeatLeft) -> bool:
    if event.deserted:
        view.seats[event.seat].deserted = True
        view.seats[event.seat].played_by_bot = True
        return True
    return _free(view, event.seat)


def _free(view: room_pb2.RoomView, number: int) -> bool:
    _fresh_seat(view, number)
    if view.HasField("own_seat") and view.own_seat == number:
        view.ClearField("own_seat")
        view.ClearField("invite_code")
        view.ClearField("legal")
    return True


def _seat_removed(view: room_pb2.RoomView, event: Event.SeatRemoved) -> bool:
    return _free(view, event.seat)


def _bot_added(view: room_pb2.RoomView, event: Event.BotAdded) -> bool:
    seat = _fresh_seat(view, event.seat)
    seat.kind = events_pb2.SEAT_KIND_BOT
    seat.display_name = event.display_name
    seat.bot_level = event.level
    return True


def _ready_changed(view: room_pb2.RoomView, event: Event.ReadyChanged) -> bool:
    view.seats[event.seat].ready = event.ready
    return True


def _options_changed(view: room_pb2.RoomView, event: Event.OptionsChanged) -> bool:
    view.ruleset.CopyFrom(event.ruleset)
    view.settings.CopyFrom(event.settings)
    for seat in view.seats:
        seat.ready = False
    return False  # the number of seats may be another now


def _host_changed(view: room_pb2.RoomView, event: Event.HostChanged) -> bool:
    view.host_player_id = event.player_id
    return True


def _invite_rotated(view: room_pb2.RoomView, event: Event.InviteRotated) -> bool:
    return not view.invite_code  # the new code is in the view alone


def _muted(view: room_pb2.RoomView, event: Event.Muted) -> bool:
    view.seats[event.seat].muted = event.muted
    return True


def _handed_to_bot(view: room_pb2.RoomView, event: Event.SeatHandedToBot) -> bool:
    view.seats[event.seat].played_by_bot = True
    return True


def _taken_back(view: room_pb2.RoomView, event: Event.SeatTakenBack) -> bool:
    view.seats[event.seat].played_by_bot = False
    view.seats[event.seat].deserted = False
    return True


def _told(view: room_pb2.RoomView, event: object) -> bool:
    """Something to tell that changes nothing in the view (the clock comes with the update)."""
    return True


def _uncertain(view: room_pb2.RoomView, event: object) -> bool:
    return False


STEPS: Final[dict[str, Step]] = {
    "room_created": _uncertain,
    "seat_taken": _seat_taken,
    "seat_left": _seat_left,
    "seat_removed": _seat_removed,
    "bot_added": _bot_added,
    "ready_changed": _ready_changed,
    "options_changed": _options_changed,
    "host_changed": _host_changed,
    "invite_rotated": _invite_rotated,
    "muted": _muted,
    "seat_handed_to_bot": _handed_to_bot,
    "seat_taken_back": _taken_back,
    "timed_out": _told,
    "time_credited": _told,
}
