"""Results and logs of matches on their way to scoring: at once by who committed the end, later by the sweep.

A result lies in the outbox, in the very commit that ended the match, until scoring has counted it and keeps the log of
the match; until then the room's own log stays. Afterwards it keeps that match until scoring has the next one, so that a
room that lives on by rematches holds two matches at most. Several processes may relay the same result: scoring counts
it once and keeps the same log twice.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from functools import partial
from typing import Final

import grpc
import msgspec
from maumau.internal.v1.result_intake_pb2 import ArchiveLogRequest, ReportResultRequest
from maumau.internal.v1.result_intake_pb2_grpc import ResultIntakeServiceStub

from services.game_authority.archive import ReadLog, chunks_of
from services.rules.room.step import MatchResult
from services.runtime import metrics
from services.runtime.channels import PassedOn, internal_channel, passed_on
from services.runtime.logs import log
from services.runtime.routes import SCORING
from services.runtime.settings import Settings
from services.store.assembly import Store
from services.store.errors import StoreError, StoreUnavailable
from services.store.keys import RoomId
from services.store.outbox import OutboxEntry
from services.store.records import Committed
from services.wire.results import archived_match, result_message

SWEEP_SECONDS: Final = 2.0
"""Each sweep asks every partition."""
DEAD_EVERY: Final = 5
"""Only every so many sweeps count what scoring refused for good: nobody but an operator acts on it."""
FULL: Final = "SERVER_FULL"
"""A refusal of scoring that passes by itself."""
OLD_MS: Final = 2_000
"""Entries older than this were left by their own process."""

_decode = msgspec.msgpack.Decoder(MatchResult).decode
_encode = msgspec.msgpack.Encoder().encode


def encode_result(result: MatchResult) -> bytes:
    """What a commit puts into the outbox for a match that ended."""
    return _encode(result)


def own_entry(room: RoomId, committed: Committed, result: MatchResult) -> OutboxEntry | None:
    """The outbox entry that this commit made; None where it made none, or where only the sweep can know its id."""
    if committed.outbox_id is None:
        return None
    return OutboxEntry(committed.outbox_id, room, committed.head.version, encode_result(result))


class Relay:
    """See the module."""

    def __init__(self, settings: Settings, store: Store, redis_now: Callable[[], int]) -> None:
        """`redis_now` gives the last known time of Redis in ms, 0 before there is one."""
        self._store = store
        self._redis_now = redis_now
        self._channel = internal_channel(settings, settings.scoring_target)
        self.scoring = ResultIntakeServiceStub(self._channel)
        self._limit_seconds = settings.internal_call_seconds
        self._tasks: set[asyncio.Task[None]] = set()
        self._round = 0

    def relay_soon(self, entry: OutboxEntry) -> None:
        """Relays in a task of its own; what fails is the sweep's."""
        task = asyncio.create_task(self._relay_quietly(entry), name=f"result {entry.room}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def sweep_all(self) -> None:
        """Runs as long as the process."""
        while True:
            await asyncio.sleep(SWEEP_SECONDS * random.uniform(0.8, 1.2))
            try:
                await self._sweep()
            except StoreError as error:
                log.info("outbox not swept", error=str(error))

    async def _sweep(self) -> None:
        now = self._redis_now()
        if self._round % DEAD_EVERY == 0:
            await self._count_dead(now)
        self._round += 1
        if not now:  # this process has not reached Redis with an announcement yet
            return
        entries = await self._store.outbox.older_than(OLD_MS, now=now)
        oldest = min((int(entry.id.split("-")[0]) for entry in entries), default=now)
        metrics.outbox_lag_seconds.set(max(0, now - oldest) / 1000)
        for entry in entries:
            await self._relay_quietly(entry)

    async def _count_dead(self, now: int) -> None:
        dead = (await self._store.outbox.counts()).dead
        metrics.outbox_dead.set(dead)
        if dead and now and (gone := await self._store.dead.forget_old(now)):
            log.error("results that scoring refused are forgotten: nobody has seen to them in time", results=gone)

    async def _relay_quietly(self, entry: OutboxEntry) -> None:
        try:
            await self._relay(entry)
        except StoreUnavailable as error:
            log.info("result not relayed", room=entry.room, error=str(error))
        except Exception:
            log.exception("result not relayed", room=entry.room)

    async def _relay(self, entry: OutboxEntry) -> None:
        read = await self._reader(entry)
        report = await self._report(entry, read)
        log_of_match = await self._log_of_match(entry, report, read)
        try:
            await self.scoring.ReportResult(report, timeout=self._limit_seconds)
            if log_of_match:
                await self.scoring.ArchiveLog(iter(log_of_match), timeout=self._limit_seconds)
        except grpc.aio.AioRpcError as error:
            answer = passed_on(error, SCORING)
            passes = error.code() is grpc.StatusCode.UNAVAILABLE or str(answer) == FULL
            if not isinstance(answer, PassedOn) or passes:
                log.info("scoring cannot be reached", room=entry.room, error=str(answer))
                return
            dead = await self._store.outbox.refused(entry, answer.reason)
            log.error("scoring refused a result", room=entry.room, reason=answer.reason, dead=dead)
            return
        await self._store.outbox.done(entry.room, entry.id, await self._log_from(entry))
        if entry.first_id:
            await self._store.dead.drop_log(entry.room, entry.first_id)

    async def _reader(self, entry: OutboxEntry) -> ReadLog:
        """Where the log of this match is: with its room, or beside it since the result was dead for a while."""
        if entry.first_id and await self._store.dead.log(entry.room, entry.first_id, 0, 1):
            return partial(self._store.dead.log, entry.room, entry.first_id)
        return partial(self._store.rooms.log, entry.room)

    async def _report(self, entry: OutboxEntry, read: ReadLog) -> ReportResultRequest:
        """The same for every relay of an entry: its times are those of the log."""
        result = _decode(entry.entry)
        started = await _time_of(read, result.first_version)
        ended = await _time_of(read, entry.version) or entry.committed_ms
        return result_message(result, started, ended)

    async def _log_of_match(
        self, entry: OutboxEntry, report: ReportResultRequest, read: ReadLog
    ) -> list[ArchiveLogRequest]:
        """The log in messages; none where the room no longer has all of it, which no later try would mend."""
        record = report.match
        messages, versions = list[ArchiveLogRequest](), 0
        async for chunk in chunks_of(read, record.first_version, record.last_version):
            messages.append(ArchiveLogRequest(**chunk._asdict()))
            versions += chunk.versions
        if versions != record.last_version - record.first_version + 1:
            log.error("the log of a match is not whole and cannot be archived", room=entry.room, match=record.match_id)
            return []
        messages[0].match.CopyFrom(archived_match(_decode(entry.entry), record))
        return messages

    async def _log_from(self, entry: OutboxEntry) -> int:
        """The first version that the room's log still needs once scoring has this match and all before it; 0 where it
        needs all. Nobody is brought up from before the last match that the room began; its replay comes from the room.
        Whoever watches late may be further back."""
        result = _decode(entry.entry)
        if result.number == 1:
            return 0
        needed = result.first_version - 1
        if result.delay_seconds:
            seen = await self._store.rooms.last_by(entry.room, self._redis_now() - result.delay_seconds * 1000)
            needed = min(needed, seen.version if seen else 0)
        return needed

    async def aclose(self) -> None:
        """Lets what is under way end, then closes the channel."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=self._limit_seconds)
        await self._channel.close()


async def _time_of(read: ReadLog, version: int) -> int:
    entries = await read(version - 1, 1)
    return entries[0].time if entries and entries[0].version == version else 0
