"""Results on their way to scoring. A commit puts them in; the committing process relays at once; the sweep relays what
is left; an entry goes when scoring has the result and the log of the match, and until then its room stays. What scoring
refuses for good goes to the dead ones (`dead.py`)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from services.store import scripts
from services.store.batcher import Pipelines
from services.store.keys import DEAD_MS, PARTITIONS, RoomId
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
    first_id: str = ""
    """The id that it had before it was dead and came back; empty if it never was."""

    @property
    def committed_ms(self) -> int:
        """By Redis time."""
        return int((self.first_id or self.id).split("-")[0])


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

    async def refused(self, entry: OutboxEntry, why: str) -> bool:
        """Scoring refused it for this reason (not: could not be reached). The tenth time it moves to the dead ones,
        with a copy of the log, and the room may go; true if it did."""
        keys = self._keys.room(entry.room)
        partition = keys.partition
        copy = self._keys.dead_log(entry.room, entry.first_id or entry.id)
        reply = await self._writes.script(
            scripts.REFUSED,
            (partition.outbox, partition.refusals, partition.dead, keys.room, keys.log, copy),
            (entry.id, MOST_REFUSALS, why, DEAD_MS),
        )
        return bool(reply == -1)

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
    room, first_id = RoomId(named[b"r"].decode()), named.get(b"f", b"").decode()
    return OutboxEntry(entry_id.decode(), room, int(named[b"v"]), named[b"b"], first_id)
