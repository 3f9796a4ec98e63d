"""Results that scoring refused for good. They wait for whoever runs the server, for thirty days, and a copy of the
room's log with each: the room itself goes when its time has come."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from services.store import scripts
from services.store.batcher import Pipelines
from services.store.keys import DEAD_MS, PARTITIONS, RoomId
from services.store.packing import unpack_entry
from services.store.records import LogEntry
from services.store.sweep import all_reached

ALL_PARTITIONS: Final = range(PARTITIONS)
FIRST: Final = "-"
FORGOTTEN_AT_ONCE: Final = 100
"""Of a partition."""


class DeadResult(NamedTuple):
    """One of them."""

    partition: int
    id: str
    """Among the dead of its partition; begins with the ms at which it was given up."""
    room: RoomId
    version: int
    entry: bytes
    """As the commit gave it."""
    first_id: str
    """In the outbox, the first time."""
    why: str
    """The reason of the last refusal; empty where an older release gave it up."""

    @property
    def given_up_ms(self) -> int:
        return int(self.id.split("-")[0])


class Place(NamedTuple):
    """Where a page ends."""

    partition: int
    id: str


class DeadResults:
    """Methods raise `StoreUnavailable`."""

    def __init__(self, pipelines: Pipelines) -> None:
        self._keys = pipelines.keys
        self._reads = pipelines.reads
        self._writes = pipelines.writes

    async def listed(self, after: Place | None, limit: int) -> list[DeadResult]:
        """At most `limit`, by partition and the oldest first, from after a place on."""
        first = 0 if after is None else after.partition
        starts = [(number, FIRST) for number in range(first, PARTITIONS)]
        if after is not None:
            starts[0] = (after.partition, f"({after.id}")
        replies = await asyncio.gather(
            *(
                self._reads.command("XRANGE", self._keys.partition(number).dead, start, "+", "COUNT", limit)
                for number, start in starts
            )
        )
        found = (_dead(number, reply) for (number, _), page in zip(starts, replies, strict=True) for reply in page)
        return [result for result, _ in zip(found, range(limit), strict=False)]

    async def retry(self, result: DeadResult) -> bool:
        """Put it back into the outbox. False if it is not dead any more."""
        keys = self._keys.room(result.room)
        partition = keys.partition
        return bool(
            await self._writes.script(
                scripts.RETRY_DEAD, (partition.dead, partition.outbox, keys.room), (result.id, result.first_id)
            )
        )

    async def drop(self, result: DeadResult) -> bool:
        """Forget it and its log. False if it is not dead any more."""
        keys = self._keys.room(result.room)
        copy = self._keys.dead_log(result.room, result.first_id)
        return bool(
            await self._writes.script(scripts.DROP_DEAD, (keys.partition.dead, keys.room, keys.log, copy), (result.id,))
        )

    async def log(self, room: RoomId, first_id: str, after: int = 0, limit: int = 1_000) -> list[LogEntry]:
        """The log as it was kept with a result, like `RoomStore.log`."""
        key = self._keys.dead_log(room, first_id)
        replies = await self._reads.command("XRANGE", key, f"({after}-0", "+", "COUNT", limit)
        return [unpack_entry(reply) for reply in replies]

    async def drop_log(self, room: RoomId, first_id: str) -> None:
        """The result counts now: its log need not be kept beside."""
        key = self._keys.dead_log(room, first_id)
        await self._writes.command("UNLINK", key, lane=room)

    async def forget_old(self, now: int, partitions: Iterable[int] = ALL_PARTITIONS) -> int:
        """Forget those that waited for their whole time, by Redis time; how many these were."""
        numbers, latest = list(partitions), now - DEAD_MS
        replies = await all_reached(
            self._reads.command("XRANGE", self._keys.partition(number).dead, FIRST, latest, "COUNT", FORGOTTEN_AT_ONCE)
            for number in numbers
        )
        old = [_dead(numbers[index], reply) for index, page in replies for reply in page]
        return sum([await self.drop(result) for result in old])


def _dead(partition: int, reply: Any) -> DeadResult:
    dead_id, fields = reply
    named: dict[bytes, bytes] = dict(zip(fields[::2], fields[1::2], strict=True))
    first_id = named.get(b"f", named[b"id"]).decode()
    room, version, why = named[b"r"].decode(), int(named[b"v"]), named.get(b"w", b"").decode()
    return DeadResult(partition, dead_id.decode(), RoomId(room), version, named[b"b"], first_id, why)
