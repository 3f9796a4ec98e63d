"""What the player may choose from: the server's legal actions, and what a room offers outside a round."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from maumau import actions
from maumau.terminal.labels import action_label
from maumau.terminal.names import is_me
from maumau.v1 import actions_pb2, events_pb2, room_pb2, settings_pb2

View = room_pb2.RoomView
Choice = tuple[Text, actions_pb2.Action]
"""What is shown, and what is sent."""

_LOBBY = (room_pb2.ROOM_STATE_OPEN, room_pb2.ROOM_STATE_READY_CHECK)


def choices(view: View) -> list[Choice]:
    """In the order of their numbers; penal actions are not among them."""
    if not view.HasField("own_seat"):
        return []
    offered = [(action_label(view, action), action) for action in view.legal.actions]
    return offered or list(_offered_by_room(view))


def _offered_by_room(view: View) -> Iterator[Choice]:
    own = view.seats[view.own_seat]
    if view.state in _LOBBY:
        yield from _offered_in_lobby(view, own)
    elif view.state == room_pb2.ROOM_STATE_PAUSE and not own.round_ready:
        yield Text("ready for the next round"), actions.ready_for_round()
    elif view.state == room_pb2.ROOM_STATE_FINISHED:
        yield Text("play again"), actions.rematch()
    elif view.state == room_pb2.ROOM_STATE_PLAYING and own.played_by_bot:
        yield Text("take the seat back from the bot"), actions.take_back()


def _offered_in_lobby(view: View, own: room_pb2.Seat) -> Iterator[Choice]:
    yield Text("not ready after all" if own.ready else "ready"), actions.set_ready(not own.ready)
    if view.host_player_id != own.player_id or view.state == room_pb2.ROOM_STATE_READY_CHECK:
        return
    if everybody_ready(view):
        yield Text("start the match"), actions.start()
    if any(seat.kind == events_pb2.SEAT_KIND_FREE for seat in view.seats):
        yield Text("add a bot"), actions.add_bot(settings_pb2.BOT_LEVEL_HEURISTIC)
    for number, seat in enumerate(view.seats):
        if seat.kind != events_pb2.SEAT_KIND_FREE and not is_me(view, number):
            yield Text(f"free seat {number + 1}"), actions.remove_seat(number)


def everybody_ready(view: View) -> bool:
    """Whether enough seats are taken and every person on one is ready."""
    taken = [seat for seat in view.seats if seat.kind != events_pb2.SEAT_KIND_FREE]
    people_ready = all(seat.ready for seat in taken if seat.kind == events_pb2.SEAT_KIND_PERSON)
    return people_ready and len(taken) >= max(2, view.ruleset.min_seats)
