"""The sweep over the partitions: it keeps the pulse, finds outages and finds what is due.

Every process sweeps once a second. A partition in which no room waits for time costs Redis three small reads and no
write, and needs no pulse: nobody there can lose time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable, Mapping
from typing import Any, Final, NamedTuple

from services.store import scripts
from services.store.batcher import Pipelines
from services.store.errors import OutOfMemory, StoreUnavailable
from services.store.keys import PARTITIONS, RoomId
from services.store.packing import unpack_outages
from services.store.records import Outage

ALL_PARTITIONS: Final = range(PARTITIONS)

LATE_SECONDS: Final = 1.0
"""How long the primaries that answer wait for those that do not. With the pause between two sweeps it is less than a
pulse may be late: else the partitions of one primary would be in an outage as long as another is."""

_AT_END = float("inf")


class Due(NamedTuple):
    """A room whose deadline has passed."""

    room: RoomId
    deadline: int
    """Redis time in ms."""
    late_ms: int
    """By how much it had passed at the sweep."""


class Swept(NamedTuple):
    """What one sweep found."""

    outages: tuple[Outage, ...]
    """Those that this sweep found, and no other: credit the rooms of `rooms_waiting` of their partitions. What a commit
    found is in `last_outages` alone. A room that is missed has its timeouts refused until somebody credits it."""
    due: tuple[Due, ...]
    next_ms: int | None
    """Until the earliest deadline of these partitions, 0 if it has passed; None if no room waits for time."""
    idle: frozenset[int] = frozenset()
    """Partitions in which no room waits for time."""
    last_outages: Mapping[int, int] = {}
    """The id of the last outage of each other partition that had one, whoever found it."""


class Sweep:
    """Sweeps partitions in one pipeline."""

    def __init__(self, pipelines: Pipelines) -> None:
        self._keys = pipelines.keys
        self._reads = pipelines.reads

    async def sweep(self, partitions: Iterable[int] = ALL_PARTITIONS, *, limit: int = 64, overdue_ms: int = 0) -> Swept:
        """Pulse the partitions and name at most `limit` due rooms of each, the oldest first. With `overdue_ms` only
        those that the process with the local timer has evidently left alone. Raises `StoreUnavailable` if no partition
        can be reached; those that others can be are swept."""
        numbers = list(partitions)
        replies = await all_reached(self._sweep_one(number, limit, overdue_ms) for number in numbers)
        return _combine([numbers[index] for index, _ in replies], [reply for _, reply in replies])

    async def rooms_waiting(self, partition: int) -> list[RoomId]:
        """The rooms of a partition that have a deadline: those that an outage costs time."""
        members = await self._reads.command("ZRANGE", self._keys.partition(partition).deadlines, 0, -1)
        return [RoomId(member.decode()) for member in members]

    async def outages(self, partition: int) -> list[Outage]:
        """The last outages of a partition (at most 32), oldest first."""
        packed = await self._reads.command("HGET", self._keys.partition(partition).outages, "o")
        return unpack_outages(partition, packed)

    def _sweep_one(self, number: int, limit: int, overdue_ms: int) -> asyncio.Future[Any]:
        keys = self._keys.partition(number)
        return self._reads.script(scripts.SWEEP, (keys.outages, keys.deadlines), (limit, overdue_ms))


async def all_reached(commands: Iterable[Awaitable[Any]]) -> list[tuple[int, Any]]:
    """The replies of those primaries that answer, with the place of each command. One that is away or full, of several,
    must not keep the partitions of the others waiting: what has no reply when others had theirs for a while is given
    up. Raises `StoreUnavailable` or `OutOfMemory` if none answers."""
    replies = [asyncio.ensure_future(command) for command in commands]
    if not replies:
        return []
    answered, late = await asyncio.wait(replies, timeout=LATE_SECONDS)
    if not answered:
        answered, late = await asyncio.wait(replies)
    for reply in late:
        reply.cancel()
    failures = {reply: error for reply in answered if (error := reply.exception()) is not None}
    grave = [failure for failure in failures.values() if not isinstance(failure, StoreUnavailable | OutOfMemory)]
    if grave or len(failures) == len(answered):
        raise (grave or list(failures.values()))[0]
    return [(index, reply.result()) for index, reply in enumerate(replies) if reply in answered - failures.keys()]


def _combine(numbers: list[int], replies: list[Any]) -> Swept:
    outages: list[Outage] = []
    due: list[Due] = []
    next_ms = _AT_END
    idle = set[int]()
    last_outages: dict[int, int] = {}
    for number, reply in zip(numbers, replies, strict=True):
        if reply is None:
            idle.add(number)
            continue
        now, earliest, outage, last, *rooms = reply
        next_ms = min(next_ms, max(0, earliest - now))
        if last:
            last_outages[number] = last
        if outage is not None:
            outages.append(Outage(number, *outage))
        due += [
            Due(RoomId(room.decode()), int(deadline), now - int(deadline))
            for room, deadline in zip(rooms[::2], rooms[1::2], strict=True)
        ]
    due_in = None if next_ms == _AT_END else int(next_ms)
    return Swept(tuple(outages), tuple(due), due_in, frozenset(idle), last_outages)
