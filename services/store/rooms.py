"""Rooms in Redis: make, commit, read, log, end. What a caller must know stands at each method; why it is so, in
`scripts/commit.lua`."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from enum import IntEnum
from typing import Any, Final

from services.store import scripts
from services.store.batcher import Pipelines
from services.store.errors import BadArgument, DamagedRoom
from services.store.keys import PARTITIONS, PLAYER_ROOMS_MS, PlayerId, RoomId
from services.store.packing import (
    pack_aside,
    pack_change,
    pack_pending,
    unpack_clock,
    unpack_entry,
    unpack_snapshot,
)
from services.store.records import (
    Clock,
    Commit,
    CommitResult,
    Committed,
    Conflict,
    Early,
    Grace,
    Head,
    LogEntry,
    Missing,
    Pending,
    Snapshot,
    Uncredited,
    check_commit,
)
from services.store.routed import Arg

ALL_PARTITIONS: Final = range(PARTITIONS)


class _Reply(IntEnum):
    """The first element of the commit script's reply."""

    COMMITTED = 0
    CONFLICT = 1
    EARLY = 2
    UNCREDITED = 3
    MISSING = 4
    DAMAGED = 5


class RoomStore:
    """All methods raise `StoreUnavailable` when Redis is away, and `BadArgument` for an id that no key takes."""

    def __init__(self, pipelines: Pipelines) -> None:
        self._keys = pipelines.keys
        self._reads = pipelines.reads
        self._writes = pipelines.writes
        self._waits = int(pipelines.waits)

    async def commit(self, commit: Commit) -> CommitResult:
        """Write one version of one room, or nothing. One round trip, shared with the commits of other rooms.

        After `StoreUnavailable` with `maybe_applied` send the same commit again: if it took effect, the answer is a
        `Conflict` whose newest mark is its own or whose state shows its request id. Raises `OutOfMemory` (nothing
        written) and `DamagedRoom`."""
        check_commit(commit)
        keys = self._keys.room(commit.room)
        partition = keys.partition
        reply = await self._writes.script(
            scripts.COMMIT,
            (
                keys.room,
                keys.log,
                partition.deadlines,
                partition.outbox,
                partition.open,
                keys.channel,
                partition.outages,
            ),
            (*_commit_args(commit), self._waits, int(commit.keep_state)),
            lane=commit.room,
        )
        return _commit_result(commit, reply)

    async def read(self, room: RoomId) -> Snapshot | None:
        """The newest version, its state and clock; None if there is no such room."""
        reply = await self._reads.script(scripts.READ, (self._keys.room(room).room,), ())
        return None if reply[0] is None else unpack_snapshot(room, reply)

    async def head(self, room: RoomId) -> Head | None:
        """The newest version and its mark only; None if there is no such room."""
        version, mark = await self._reads.command("HMGET", self._keys.room(room).room, "v", "m")
        return None if version is None else Head(int(version), mark)

    async def glance(self, room: RoomId) -> tuple[Head, Clock] | None:
        """The newest version, its mark and the clock as it is now; None if there is no such room."""
        version, mark, clock, now = await self._reads.script(scripts.GLANCE, (self._keys.room(room).room,), ())
        return None if version is None else (Head(int(version), mark), unpack_clock(clock, now))

    async def log(self, room: RoomId, after: int = 0, limit: int = 1_000) -> list[LogEntry]:
        """Entries of the versions above `after`, oldest first, at most `limit`. What was trimmed is missing at the
        front: compare the first version with `after` + 1."""
        replies = await self._reads.command("XRANGE", self._keys.room(room).log, f"({after}-0", "+", "COUNT", limit)
        return [unpack_entry(reply) for reply in replies]

    async def first_version(self, room: RoomId) -> int | None:
        """The oldest version that the log still has; None if it has none."""
        entries = await self.log(room, limit=1)
        return entries[0].version if entries else None

    async def created_ms(self, room: RoomId) -> int:
        """When the room was made, by Redis time; 0 if there is no such room, or nobody knows any more."""
        first = await self.log(room, limit=1)
        if not first or first[0].version == 1:
            return first[0].time if first else 0
        kept = await self._reads.command("HGET", self._keys.room(room).room, "a")
        return int(kept or 0)

    async def mark_at(self, room: RoomId, version: int) -> bytes | None:
        """The mark of that version in the log; None if it was trimmed or never was."""
        entry_id = f"{version}-0"
        replies = await self._reads.command("XRANGE", self._keys.room(room).log, entry_id, entry_id)
        return unpack_entry(replies[0]).mark if replies else None

    async def last_by(self, room: RoomId, time_ms: int) -> LogEntry | None:
        """The last entry that was committed by this time of Redis; None if there is none. Where the clock of Redis went
        back meanwhile, an entry before which it may not be the last one."""
        oldest, newest = await asyncio.gather(self.log(room, limit=1), self._newest_entry(room))
        if not oldest or newest is None or oldest[0].time > time_ms:
            return None
        if newest.time <= time_ms:
            return newest
        found, above = oldest[0], newest.version
        while above - found.version > 1:
            half = (found.version + above) // 2
            middle = await self.log(room, half - 1, 1)
            if not middle:
                break
            if middle[0].time <= time_ms:
                found = middle[0]
            else:
                above = half  # not its version: what is below may have been cut off meanwhile
        return found

    async def _newest_entry(self, room: RoomId) -> LogEntry | None:
        replies = await self._reads.command("XREVRANGE", self._keys.room(room).log, "+", "-", "COUNT", 1)
        return unpack_entry(replies[0]) if replies else None

    async def retire(self, room: RoomId, head: Head, lifetime_ms: int) -> bool:
        """Let the room and its log go after `lifetime_ms` (0: now), unless it has moved on from `head`; where an outbox
        entry of it is not confirmed, that long after it is. A later commit without a lifetime keeps them. False if it
        has moved on or is gone."""
        if lifetime_ms < 0:
            raise BadArgument("lifetime_ms", lifetime_ms, "0 or more")
        keys = self._keys.room(room)
        partition = keys.partition
        return bool(
            await self._writes.script(
                scripts.RETIRE,
                (keys.room, keys.log, partition.deadlines, partition.open, keys.presence),
                (room, head.mark, lifetime_ms),
                lane=room,
            )
        )

    async def rearm(
        self,
        room: RoomId,
        at: Head,
        pending: Sequence[Pending],
        *,
        restart_turn: bool = False,
        grace: Grace | None = None,
    ) -> Clock | None:
        """Set the room's deadline anew without a version, since who is there has changed; with `grace` not before its
        time is over. None, and nothing is written, if the room has moved on, owes a credit, or has had that grace."""
        keys = self._keys.room(room)
        reply = await self._writes.script(
            scripts.REARM,
            (keys.room, keys.partition.deadlines, keys.partition.outages),
            (
                room,
                at.version,
                at.mark,
                pack_pending(pending),
                1 if restart_turn else 0,
                *(grace or ("", "", 0, 0)),
            ),
            lane=room,
        )
        return None if reply is None else unpack_clock(reply[1], reply[0])

    async def say(self, room: RoomId, content: bytes) -> None:
        """Say something beside the log to all who listen to the room now; nobody who comes later hears it."""
        channel = self._keys.room(room).channel
        await self._writes.command("SPUBLISH", channel, pack_aside(content), lane=room)

    async def open_rooms(self, partitions: Iterable[int] = ALL_PARTITIONS) -> dict[RoomId, bytes]:
        """What the commits of these partitions put on the room list."""
        listings = await asyncio.gather(
            *(self._reads.command("HGETALL", self._keys.partition(number).open) for number in partitions)
        )
        return {RoomId(fields[i].decode()): fields[i + 1] for fields in listings for i in range(0, len(fields), 2)}

    async def add_player_room(self, player: PlayerId, room: RoomId) -> None:
        """Put a room on a player's index. Before the commit that seats the player, so that no seat is ever lost."""
        key = self._keys.player_rooms(player)
        await asyncio.gather(
            self._writes.command("SADD", key, room, lane=key),
            self._writes.command("PEXPIRE", key, PLAYER_ROOMS_MS, lane=key),
        )

    async def remove_player_room(self, player: PlayerId, room: RoomId) -> None:
        """Take a room off a player's index, after the commit that freed the seat."""
        key = self._keys.player_rooms(player)
        await self._writes.command("SREM", key, room, lane=key)

    async def forget_player_rooms(self, player: PlayerId) -> None:
        """Drop a player's index."""
        key = self._keys.player_rooms(player)
        await self._writes.command("DEL", key, lane=key)

    async def player_rooms(self, player: PlayerId) -> list[RoomId]:
        """The rooms of a player, in no order. May name rooms that are gone or that the player left: look there."""
        members = await self._reads.command("SMEMBERS", self._keys.player_rooms(player))
        return [RoomId(member.decode()) for member in members]


def _commit_args(commit: Commit) -> Sequence[Arg]:
    after = commit.after or Head(0, b"")
    return (
        commit.room,
        after.version,
        after.mark,
        commit.mark,
        commit.state,
        commit.payload,
        pack_change(commit.due, commit.clock),
        commit.outbox or b"",
        _listing_arg(commit.listing),
        commit.lifetime_ms or 0,
    )


def _listing_arg(listing: bytes | None) -> bytes:
    if listing is None:
        return b""
    return b"+" + listing if listing else b"-"


def _commit_result(commit: Commit, reply: list[Any]) -> CommitResult:
    kind, *rest = reply
    match kind:
        case _Reply.COMMITTED:
            now, clock, outbox_id = rest
            version = (commit.after.version if commit.after else 0) + 1
            return Committed(
                Head(version, commit.mark),
                unpack_clock(clock, now),
                outbox_id.decode() if outbox_id else None,
            )
        case _Reply.CONFLICT:
            return Conflict(unpack_snapshot(commit.room, rest))
        case _Reply.EARLY:
            return Early(rest[0])
        case _Reply.UNCREDITED:
            return Uncredited(rest[0], rest[1])
        case _Reply.MISSING:
            return Missing(commit.room)
        case _:
            raise DamagedRoom(f"the log of {commit.room} is ahead of the room")
