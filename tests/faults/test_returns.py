"""Clients that return after any absence: exactly what they missed, or a snapshot that says why; then they know what the
server knows.

Control: an authority that leaves one of the missed versions out.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import random
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from maumau.follower import Follower, VersionsMissing
from maumau.v1 import authority_pb2_grpc, room_pb2

from services.runtime.routes import GAME_AUTHORITY
from services.store.assembly import Store
from services.store.connect import StoreSettings
from services.store.keys import RoomId
from services.wire.resume import resume_token
from tests.e2e.calls import Duel, channel_to, duel, read_to
from tests.e2e.stacks import with_authority
from tests.e2e.test_streams import essence
from tests.faults.record import Promise
from tests.faults.rig import Rig, started
from tests.faults.scale import PATIENCE, count
from tests.store.making import cut_log

pytestmark = PATIENCE

TURNS, RETURNS = count(12, 150, 300), count(16, 1_000, 10_000)
AT_ONCE = 8
SEED = 7
EXACT, CHANGED, TRIMMED = (
    room_pb2.SNAPSHOT_REASON_UNSPECIFIED,
    room_pb2.SNAPSHOT_REASON_HISTORY_CHANGED,
    room_pb2.SNAPSHOT_REASON_HISTORY_TRIMMED,
)


def state_hash(view: room_pb2.RoomView) -> str:
    """Of everything in a view that has a version."""
    return hashlib.sha256(essence(view).SerializeToString(deterministic=True)).hexdigest()


def told(update: room_pb2.Update) -> bytes:
    """What an update says of its version; the legal actions of then are of no use to who comes later."""
    kept = room_pb2.Update()
    kept.CopyFrom(update)
    kept.ClearField("legal")
    return kept.SerializeToString(deterministic=True)


class Past:
    """A match as one who was always there saw it: a snapshot at each turn, and each version's update."""

    def __init__(self, pair: Duel, processes: list[authority_pb2_grpc.GameAuthorityServiceStub]) -> None:
        self.pair, self._processes = pair, processes
        self.snapshots = list[room_pb2.Snapshot]()
        self.updates = dict[int, bytes]()
        self.now = room_pb2.RoomView()

    async def play(self, turns: int) -> None:
        """So many turns. The last view is the server's state to compare with."""
        stream = self.pair.ana.watch(self.pair.room)
        (first,) = await read_to(stream, 1)
        self.snapshots.append(first.snapshot)
        for _ in range(turns):
            await self.pair.turn()
            self.snapshots.append(await self.pair.ana.get_room(self.pair.room))
        await self.pair.on_turn()  # where the last turn ended a round, the next one has been dealt
        self.now = (await self.pair.ana.get_room(self.pair.room)).room
        messages = await read_to(stream, self.now.version)
        stream.cancel()
        self.updates = {message.update.version: told(message.update) for message in messages}

    async def faults_of_return(
        self, number: int, known: room_pb2.Snapshot, reason: int, token: bytes | None = None
    ) -> list[str]:
        """What is wrong when a client that knows this much returns, with its own or the given token."""
        at = self._processes[number % len(self._processes)]
        stream = self.pair.ana.watch(self.pair.room, token or known.resume_token, at=at)
        messages = await read_to(stream, self.now.version)
        stream.cancel()
        follower = Follower()
        if reason != EXACT:
            snapshots = [message.snapshot.reason for message in messages]
            follower.take_snapshot(messages[-1].snapshot)
            faults = [] if snapshots == [reason] else [f"{snapshots} instead of one snapshot for {reason}"]
        else:
            follower.take_snapshot(known)
            faults = self._fold(follower, known.room.version, messages)
        if follower.uncertain:
            follower.take_fetched((await self.pair.ana.get_room(self.pair.room)).room)
        if not faults and (follower.view is None or state_hash(follower.view) != state_hash(self.now)):
            faults.append(f"another state after returning from {known.room.version}")
        return faults

    def _fold(self, follower: Follower, known: int, messages: list[Any]) -> list[str]:
        missed = [told(message.update) for message in messages]
        if missed != [self.updates[version] for version in range(known + 1, self.now.version + 1)]:
            return [f"other events than were missed since {known}"]
        try:
            for message in messages:
                follower.take_update(message.update)
        except VersionsMissing:
            return [f"a hole after {known}"]
        return []

    def false_token(self, chance: random.Random) -> bytes:
        """Of a history that never was, at a version that there is or is not."""
        return resume_token(self.pair.room, chance.randint(1, self.now.version + 20), os.urandom(8))


@contextlib.asynccontextmanager
async def played(rig: Rig) -> AsyncIterator[Past]:
    """A match that has been played for a while and rests."""
    async with contextlib.AsyncExitStack() as opened:
        edge = await opened.enter_async_context(channel_to(rig.stack.address))
        channels: list[grpc.aio.Channel] = [edge] if rig.stack.has_envoy else []
        for address in rig.stack.addresses(GAME_AUTHORITY):
            channels.append(await opened.enter_async_context(channel_to(address)))
        pair = await duel(edge, rooms=channels[0])
        await pair.start()
        past = Past(pair, [authority_pb2_grpc.GameAuthorityServiceStub(channel) for channel in channels])
        await past.play(TURNS)
        yield past


async def faults_of(returns: list[Any]) -> list[str]:
    """Of all these returns, some at a time."""
    gate = asyncio.Semaphore(AT_ONCE)

    async def one(way: Any) -> list[str]:
        async with gate:
            return list(await way)

    return [fault for faults in await asyncio.gather(*map(one, returns)) for fault in faults]


@pytest.mark.shows("P7")
async def test_who_returns_knows_what_the_server_knows(rig: Rig, promise: Promise) -> None:
    chance = random.Random(SEED)
    async with played(rig) as past:
        known = past.snapshots[:-1]
        exact = [past.faults_of_return(n, chance.choice(known), EXACT) for n in range(RETURNS // 2)]
        false = [
            past.faults_of_return(n, chance.choice(known), CHANGED, past.false_token(chance))
            for n in range(RETURNS // 4)
        ]
        assert await faults_of([*exact, *false]) == []
        limit = known[len(known) * 2 // 3].room.version
        async with Store(StoreSettings(url=rig.server.url)) as store:
            await cut_log(store, RoomId(past.pair.room), limit)
        after = [snapshot for snapshot in known if snapshot.room.version >= limit]
        old = [chance.choice(known) for _ in range(RETURNS - len(exact) - len(false))]
        wanted = Counter(EXACT if snapshot in after else TRIMMED for snapshot in old)
        late = [past.faults_of_return(n, s, EXACT if s in after else TRIMMED) for n, s in enumerate(old)]
        assert await faults_of(late) == []
    assert min(wanted.values()) > 0
    promise(
        "P7",
        f"{RETURNS:,} of {RETURNS:,} returns end in the server's state: {len(exact) + wanted[EXACT]:,} with exactly "
        f"what was missed, {len(false):,} told that their history is not the room's, {wanted[TRIMMED]:,} that it is "
        "trimmed",
    )


@pytest.mark.long
@pytest.mark.control("P7")
async def test_control_an_authority_that_leaves_a_version_out_is_found_out(tmp_path: Path, promise: Promise) -> None:
    chance = random.Random(SEED)
    with started(tmp_path, modules=with_authority("tests.faults.skipping_returns")) as rig:
        async with played(rig) as past:
            known = past.snapshots[:-5]
            faults = await faults_of([past.faults_of_return(n, chance.choice(known), EXACT) for n in range(50)])
    assert faults
    promise("P7", f"{len(faults)} of 50 returns with a version left out are found")
