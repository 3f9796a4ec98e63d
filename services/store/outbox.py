"""Results on their way to scoring. A commit puts them in; the committing process relays at once; the sweep relays what
is left; an entry goes when scoring has the result and the log of the match, and until then its room stays."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from services.store import scripts
from services.store.batcher import Pipelines
from services.store.keys import PARTITIONS, RoomId, partition_of
from services.store.sweep import all_reached

ALL_PARTITIONS: Final = range(PARTITIONS)
MOST_REFUSALS: Final = 10


class OutboxEntry(NamedTuple):
    """One result that scoring has not confirmed."""

    id: str
    """In its partition; begins with the Redis time in ms at which it was committed."""
    room: RoomId
    version: int
    """The version whose commit put it in."""
    entry: bytes
    """As the commit gave it."""


class OutboxCounts(NamedTuple):
    """For the metrics, over all partitions asked for."""

    waiting: int
    dead: int


class Outbox:
    """The outboxes of all partitions. Several processes may relay the same entry: scoring takes it once."""

    def __init__(self, pipelines: Pipelines) -> None:
        self._keys = pipelines.keys
        self._reads = pipelines.reads
        self._writes = pipelines.writes

    async def older_than(
        self, age_ms: int, partitions: Iterable[int] = ALL_PARTITIONS, *, now: int, limit: int = 16
    ) -> list[OutboxEntry]:
        """Entries committed at least `age_ms` before `now` (Redis time, from `Fleet.announce` or any clock of a room),
        at most `limit` of each partition, the oldest first."""
        latest = now - age_ms
        replies = await all_reached(
            self._reads.command("XRANGE", self._keys.partition(number).outbox, "-", latest, "COUNT", limit)
            for number in partitions
        )
        return [_entry(reply) for _, partition in replies for reply in partition]

    async def done(self, room: RoomId, entry_id: str, log_from: int = 0) -> bool:
        """Scoring has the result and the log of its match: remove the entry, and let the room go if its end only waited
        for that. Of a room that has nothing else in the outbox the log begins with version `log_from` from now on; 0
        leaves it. False if the entry was gone."""
        keys = self._keys.room(room)
        partition = keys.partition
        reply = await self._writes.script(
            scripts.CONFIRM, (partition.outbox, partition.refusals, keys.room, keys.log), (entry_id, log_from)
        )
        return bool(reply)

    async def refused(self, room: RoomId, entry_id: str) -> bool:
        """Scoring refused it (not: could not be reached). The tenth time it moves to the dead ones; true if it did."""
        keys = self._keys.partition(partition_of(room))
        reply = await self._writes.script(
            scripts.REFUSED, (keys.outbox, keys.refusals, keys.dead), (entry_id, MOST_REFUSALS)
        )
        return bool(reply == -1)

    async def dead(self, partition: int, limit: int = 100) -> list[OutboxEntry]:
        """Entries that were refused ten times, the oldest first."""
        reply = await self._reads.command("XRANGE", self._keys.partition(partition).dead, "-", "+", "COUNT", limit)
        return [_entry(entry) for entry in reply]

    async def counts(self, partitions: Iterable[int] = ALL_PARTITIONS) -> OutboxCounts:
        """How many entries wait and how many are dead, in the partitions that can be reached."""
        keys = [self._keys.partition(number) for number in partitions]
        lengths = await all_reached(
            self._reads.command("XLEN", key) for pair in keys for key in (pair.outbox, pair.dead)
        )
        waiting = sum(length for index, length in lengths if index % 2 == 0)
        return OutboxCounts(waiting, sum(length for _, length in lengths) - waiting)


def _entry(reply: Any) -> OutboxEntry:
    entry_id, fields = reply
    named = dict(zip(fields[::2], fields[1::2], strict=True))
    # A dead entry has an id of its own in its stream and keeps the old one as a field.
    return OutboxEntry(named.get(b"id", entry_id).decode(), RoomId(named[b"r"].decode()), int(named[b"v"]), named[b"b"])
