"""What the tests of the store build commits from, and how they bend time and protections."""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import os
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import redis

from services.store.assembly import Store
from services.store.keys import Keys, RoomId, partition_of
from services.store.records import ClockChange, Commit, CommitResult, Committed, Head, Origin, Pending
from services.store.rooms import RoomStore
from services.store.scripts import Script

TURN = 1
_NUMBERS = itertools.count()
_TIMES_IN_CLOCK = (0, 1, 2, 4)
"""turn_at, window_at, deadline, due_from"""


def new_room(partition: int | None = None) -> RoomId:
    """An id that no test has used, in that partition."""
    while True:
        room = RoomId(f"room-{next(_NUMBERS)}")
        if partition is None or partition_of(room) == partition:
            return room


def commit(room: RoomId, after: Head | None, clock: ClockChange | None = None, **fields: Any) -> Commit:
    """A commit with a fresh mark and a state and payload of its own."""
    version = 1 if after is None else after.version + 1
    given: dict[str, Any] = {"state": b"state %d" % version, "payload": b"payload %d" % version, **fields}
    return Commit(room=room, after=after, mark=given.pop("mark", os.urandom(8)), clock=clock or ClockChange(), **given)


def accepted(result: CommitResult) -> Committed:
    """The result, which must be `Committed`."""
    assert isinstance(result, Committed), result
    return result


async def made(rooms: RoomStore, room: RoomId, clock: ClockChange | None = None, **fields: Any) -> Committed:
    """A new room."""
    return accepted(await rooms.commit(commit(room, None, clock, **fields)))


async def extended(
    rooms: RoomStore, room: RoomId, head: Head, clock: ClockChange | None = None, **fields: Any
) -> Committed:
    """One more version, which must be accepted."""
    return accepted(await rooms.commit(commit(room, head, clock, **fields)))


async def cut_log(store: Store, room: RoomId, first: int) -> int:
    """Drop the log below version `first`, as a confirmed result does; how many entries went."""
    cut: int = await store.pipelines.writes.command("XTRIM", store.pipelines.keys.room(room).log, "MINID", f"{first}-0")
    return cut


def turn(lasts_ms: int, seat: int | None = None, **fields: Any) -> ClockChange:
    """A turn begins, with one pending timeout."""
    return ClockChange(restart_turn=True, pending=(Pending(TURN, Origin.TURN, lasts_ms, seat),), **fields)


def pass_time(raw: redis.Redis, keys: Keys, room: RoomId, ms: int) -> None:
    """Make the room, and the outages of its partition, as old as if `ms` had passed since they were stored."""
    named = keys.room(room)
    outages: Any = raw.hget(named.partition.outages, "o")
    if outages is not None:
        older = [(number, began - ms, ended - ms) for number, began, ended in msgspec.msgpack.decode(outages)]
        raw.hset(named.partition.outages, "o", msgspec.msgpack.encode(older))
    stored: Any = raw.hget(named.room, "c")
    clock = msgspec.msgpack.decode(stored)
    for index in _TIMES_IN_CLOCK:
        clock[index] -= ms if clock[index] else 0
    raw.hset(named.room, "c", msgspec.msgpack.encode(clock))
    if clock[2]:
        raw.zadd(named.partition.deadlines, {room: clock[2]})


def silence(raw: redis.Redis, keys: Keys, room: RoomId, ms: int) -> None:
    """Make the last pulse of the room's partition `ms` older (or younger), as if nobody had served it since."""
    key = keys.room(room).partition.outages
    stored: Any = raw.hget(key, "p")
    raw.hset(key, "p", int(stored) - ms)


def weakened(script: Script, protection: str, instead: str = "") -> Script:
    """The script without one of its protections, for the control of a fault test."""
    assert script.source.count(protection) == 1, protection
    source = script.source.replace(protection, instead)
    return script._replace(source=source, sha=hashlib.sha1(source.encode()).hexdigest())


async def until(condition: Callable[[], Awaitable[bool]], within_s: float = 40.0) -> None:
    """Wait until the condition holds; a `TimeoutError` if it does not."""
    async with asyncio.timeout(within_s):
        while not await condition():  # noqa: ASYNC110 - what Redis does sets no event
            await asyncio.sleep(0.002)
