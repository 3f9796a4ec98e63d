"""What a client is shown, compared with what its seat may know: built anew from the state that Redis was given."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any, Final

from google.protobuf import json_format
from maumau.v1 import events_pb2, room_pb2

from services.rules.room.state import Room
from services.rules.room.views import room_view, view_events
from services.wire.events import event_message
from services.wire.views import room_message
from tests.simulation.oracle import Oracle, Record

if TYPE_CHECKING:
    from tests.simulation.client import Client

CHECKED: Final = 0.1
"""Share of updates after which the whole view is compared."""


class Views:
    """See the module."""

    def __init__(self, oracle: Oracle, chance: random.Random) -> None:
        self._oracle = oracle
        self._chance = chance
        self._events: dict[tuple[int, bytes, int | None], list[events_pb2.Event]] = {}

    def check_update(self, client: Client, update: room_pb2.Update, record: Record) -> None:
        """The events are those of the log, in the form of the client's seat: no card too many, none too few."""
        expected = self._expected(record, seat_in_play(record.room, client.player))
        if list(update.events) != expected:
            self._oracle.broken("content", f"{client.player} was shown other events of version {record.version}")

    def _expected(self, record: Record, seat: int | None) -> list[events_pb2.Event]:
        key = (*record.point, seat)
        known = self._events.get(key)
        if known is None:
            seen = view_events(record.room, record.entry.events, seat)
            known = self._events[key] = [event_message(event) for event in seen]
        return known

    def check_snapshot(self, client: Client, snapshot: room_pb2.Snapshot, mark: bytes) -> None:
        record = self._oracle.rooms[client.room].known.get((snapshot.room.version, mark))
        if record is not None:
            self._compare(client, snapshot.room, record, "snapshot", legal=True)

    def check_view(self, client: Client, record: Record) -> None:
        """Now and then: the view that the client keeps by events is the server's."""
        view = client.follower.view
        if view is not None and not client.follower.uncertain and self._chance.random() < CHECKED:
            self._compare(client, view, record, "view", legal=False)

    def check_final(self, client: Client, view: room_pb2.RoomView) -> None:
        record = self._oracle.rooms[client.room].records[view.version - 1]
        self._compare(client, view, record, "final view", legal=True)

    def check_answer(self, client: Client, version: int) -> None:
        """The event of a version comes before the answer that names it."""
        if client.world.calm_for > 10.0 and client.follower.version < version:
            self._oracle.broken("answer", f"{client.player} got the answer {version} before its event")

    def _compare(self, client: Client, view: room_pb2.RoomView, record: Record, what: str, *, legal: bool) -> None:
        seat = seat_in_play(record.room, client.player)
        expected = room_message(room_view(record.room, seat))
        mine, theirs = bare(view, legal=legal), bare(expected, legal=legal)
        if mine != theirs:
            self._oracle.broken(what, f"{client.player} at {record.version}: {difference(mine, theirs)}")


def seat_in_play(room: Room, player: str) -> int | None:
    """The seat whose cards this player may see, None for a spectator's view."""
    seat = room.seat_of(player)
    taken = None if seat is None else room.seats[seat]
    return None if taken is None or taken.left else seat


def bare(view: room_pb2.RoomView, *, legal: bool) -> room_pb2.RoomView:
    """The view without what has no version: who watches, clocks, codes, dates."""
    kept = room_pb2.RoomView()
    kept.CopyFrom(view)
    for field in ("clock", "spectators", "invite_code", "created"):
        kept.ClearField(field)
    if not legal or not (kept.legal.actions or kept.legal.penal):
        kept.ClearField("legal")
    for seat in kept.seats:
        seat.connected = False
    return kept


def difference(mine: room_pb2.RoomView, theirs: room_pb2.RoomView) -> dict[str, Any]:
    """Only what differs, for a trace."""
    one, other = (json_format.MessageToDict(each, preserving_proto_field_name=True) for each in (mine, theirs))
    return {key: (one.get(key), other.get(key)) for key in sorted(one | other) if one.get(key) != other.get(key)}
