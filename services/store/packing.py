"""The binary forms that the commit script reads and writes, in Python."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Any

import msgspec

from services.store.errors import StoreError
from services.store.keys import RoomId
from services.store.records import Aside, Clock, ClockChange, Head, LogEntry, Outage, Pending, Snapshot

_HEADER = struct.Struct(">BQ8s8sQII")
"""Of a message: form, version, mark, mark before, time, lengths of clock and payload. Clock, payload, state follow."""
_FORM = 1
_ASIDE_FORM = b"\2"

_encode = msgspec.msgpack.Encoder().encode
_decode_outages = msgspec.msgpack.Decoder(list[tuple[int, int, int]]).decode
_decode_clock = msgspec.msgpack.Decoder(list[int]).decode


def pack_change(due: int | None, change: ClockChange) -> bytes:
    """The seventh argument of the commit script. Nil would leave a hole in a Lua table: -1 and false stand for it."""
    pending = False if change.pending is None else _pending_fields(change.pending)
    return _encode(
        (
            due or 0,
            -1 if change.charge is None else change.charge,
            change.base_ms,
            change.restart_turn,
            change.restart_window,
            change.credit,
            False if change.banks is None else change.banks,
            pending,
        )
    )


def pack_pending(pending: Iterable[Pending]) -> bytes:
    """What waits for time, as the rearm script takes it."""
    return _encode(_pending_fields(pending))


def _pending_fields(pending: Iterable[Pending]) -> list[tuple[int, int, int, int]]:
    return [
        (item.kind, int(item.origin), item.after_ms, -1 if item.bank_seat is None else item.bank_seat)
        for item in pending
    ]


def unpack_clock(packed: bytes, now: int) -> Clock:
    """The clock of a room as the script stored it, seen at `now`."""
    turn_at, window_at, deadline, kind, due_from, credited, *banks = _decode_clock(packed)
    return Clock(now, turn_at, window_at, tuple(banks), deadline, kind, due_from, credited)


def unpack_snapshot(room: RoomId, reply: list[Any]) -> Snapshot:
    """From {version, mark, state, clock, now}."""
    version, mark, state, clock, now = reply
    return Snapshot(room, Head(int(version), mark), state, unpack_clock(clock, now))


def unpack_outages(partition: int, packed: bytes | None) -> list[Outage]:
    """From the list that the hash of a partition keeps."""
    return [] if packed is None else [Outage(partition, *fields) for fields in _decode_outages(packed)]


def unpack_entry(reply: tuple[bytes, list[bytes]]) -> LogEntry:
    """From an entry of the log: id and fields."""
    entry_id, fields = reply
    named = dict(zip(fields[::2], fields[1::2], strict=True))
    time = int(named[b"t"])
    version = int(entry_id.split(b"-", 1)[0])
    clock = unpack_clock(named[b"c"], time)
    return LogEntry(version, named[b"m"], named[b"b"], time, named[b"p"], clock, named.get(b"s"))


def pack_aside(content: bytes) -> bytes:
    """A message beside the log."""
    return _ASIDE_FORM + content


class Published:
    """One version as it is published: its log entry and the state it led to, unpacked when somebody asks. Whoever made
    the version knows it by its head."""

    __slots__ = ("_fields", "_message", "head", "room")

    def __init__(self, room: RoomId, message: bytes) -> None:
        self.room = room
        self._message = message
        self._fields = _HEADER.unpack_from(message)
        self.head = Head(self._fields[1], self._fields[2])

    @property
    def entry(self) -> LogEntry:
        _, version, mark, before, time, clock_bytes, payload_bytes = self._fields
        payload_at = _HEADER.size + clock_bytes
        clock = unpack_clock(self._message[_HEADER.size : payload_at], time)
        return LogEntry(version, mark, before, time, self._message[payload_at : payload_at + payload_bytes], clock)

    @property
    def state(self) -> bytes:
        return self._message[_HEADER.size + self._fields[5] + self._fields[6] :]


def unpack_message(room: RoomId, message: bytes) -> Published | Aside:
    """From a message on a room's channel. `StoreError` if it is of a form that this release does not know."""
    if message[:1] == _ASIDE_FORM:
        return Aside(room, message[1:])
    if len(message) < _HEADER.size or message[0] != _FORM:
        raise StoreError(f"a message of {len(message)} bytes on the channel of {room} is of no known form")
    return Published(room, message)
