"""What players report of each other, for the operator to read and to close."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final, NamedTuple

import msgspec

from services.store import scripts
from services.store.batcher import Pipelines
from services.store.keys import PlayerId, RoomId

DAY_MS: Final = 24 * 3_600_000


class Complaint(msgspec.Struct, frozen=True):
    """What was reported. `reason` is a number of the contract; `name` is that of the reported player in the room,
    empty for somebody without a seat."""

    room: RoomId
    reporter: PlayerId
    player: PlayerId
    name: str
    reason: int
    text: str


class Report(NamedTuple):
    """A complaint as it is kept. Times are ms since 1970; `verdict` is empty and `closed_ms` 0 while it is open."""

    id: str
    time_ms: int
    complaint: Complaint
    verdict: str
    closed_by: str
    closed_ms: int


class Place(NamedTuple):
    """Where a report stands in the list, the newest first."""

    minus_ms: int
    report: str


class ReportStore:
    """Reports live for `days`, closed or not. Methods raise `StoreUnavailable`."""

    def __init__(self, pipelines: Pipelines, days: int) -> None:
        self._keys = pipelines.keys
        self._reads = pipelines.reads
        self._writes = pipelines.writes
        self._lifetime_ms = days * DAY_MS

    async def put(self, report: str, complaint: Complaint) -> bool:
        """Keep a complaint under this id; false if there was one, which stays."""
        keys = (self._keys.reports, self._keys.report(report))
        args = (report, _encode(complaint), self._lifetime_ms)
        return bool(await self._writes.script(scripts.PUT_REPORT, keys, args))

    async def close(self, report: str, by: str, verdict: str) -> Report | None:
        """Note what became of it; the first note stands. The report after that, None if there is none."""
        key = self._keys.report(report)
        await self._writes.script(scripts.CLOSE_REPORT, (key,), (by, verdict))
        return await self.find(report)

    async def find(self, report: str) -> Report | None:
        """One report; None if there is none."""
        reply = await self._reads.command("HGETALL", self._keys.report(report))
        pairs = reply.items() if isinstance(reply, Mapping) else zip(reply[::2], reply[1::2], strict=True)
        fields = {name.decode(): value for name, value in pairs}
        if "time" not in fields:
            return None
        return Report(
            report,
            int(fields["time"]),
            _decode(fields["content"]),
            fields.get("verdict", b"").decode(),
            fields.get("by", b"").decode(),
            int(fields.get("closed", 0)),
        )

    async def listed(self, after: Place | None, limit: int) -> list[Report]:
        """The next reports after a place, the newest first."""
        newest = "+inf" if after is None else -after.minus_ms
        # Those of the very same millisecond come again and are left out: more of them than `limit` would stop the list.
        ids = await self._reads.command("ZREVRANGEBYSCORE", self._keys.reports, newest, "-inf", "LIMIT", 0, limit + 8)
        found = await asyncio.gather(*(self.find(each.decode()) for each in ids))
        there = [report for report in found if report is not None]
        return [report for report in sorted(there, key=place) if after is None or place(report) > after][:limit]

    async def drop(self, report: str) -> None:
        """Forget a report."""
        await self._writes.command("ZREM", self._keys.reports, report, lane=self._keys.reports)
        await self._writes.command("DEL", self._keys.report(report), lane=self._keys.reports)


def place(report: Report) -> Place:
    """Where a report stands in the list."""
    return Place(-report.time_ms, report.id)


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Complaint).decode
