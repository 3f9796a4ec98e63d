"""Redis comes back with an older copy of its data: every client is told before the next event, none plays on along a
history that is gone.

Control: an authority that does not compare marks.
"""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import maumau
import pytest
from maumau.v1 import room_pb2

from services.local.stack import Stack
from services.store.assembly import Store
from services.store.connect import StoreSettings
from services.store.keys import RoomId
from tests.e2e.calls import Duel, channel_to, duel, read_to
from tests.e2e.eventually import eventually
from tests.e2e.stacks import complaints, options, with_authority
from tests.faults.checker import Kind, check_room, read_log
from tests.faults.history import History, RecordingRoom, read_records
from tests.faults.record import Promise

BEFORE, LOST, AFTER = 6, 5, 6
"""Turns before the copy, between the copy and the loss, and on the restored data."""


def data_of(stack: Stack) -> Path:
    """Where the embedded server keeps its append-only file."""
    (found,) = stack.var_dir.glob("*/appendonlydir")
    return found


async def restore(stack: Stack, copy: Path) -> None:
    """Kills Redis, puts the copy in the place of its data, and starts it again."""
    redis = stack["redis"]
    redis.restart = False
    redis.kill()
    await asyncio.to_thread(redis.wait_ended, 10)
    data = data_of(stack)
    shutil.rmtree(data)
    shutil.copytree(copy, data)
    redis.restart = True
    await asyncio.to_thread(stack.wait_ready)


class Follower:
    """A client of the SDK that only looks, and writes down what it sees."""

    def __init__(self, recording: RecordingRoom) -> None:
        self.recording = recording
        self.causes: list[maumau.SnapshotCause] = []
        self.task = asyncio.create_task(self._follow())

    async def _follow(self) -> None:
        async for event in self.recording.room.events():
            self.recording.saw(event)
            if isinstance(event, maumau.RoomSnapshot):
                self.causes.append(event.cause)

    def was_told(self) -> bool:
        return maumau.SnapshotCause.HISTORY_CHANGED in self.causes


async def play(pair: Duel, turns: int) -> int:
    """So many turns; the version that they reached."""
    return [await pair.turn() for _ in range(turns)][-1]


@pytest.mark.shows("P8")
async def test_a_rollback_is_told_to_those_who_watch_and_to_those_who_return(
    tmp_path: Path, history: History, promise: Promise
) -> None:
    with Stack(options(tmp_path / "var")) as stack:
        async with channel_to(stack.address) as channel:
            pair = await duel(channel)
            await pair.start()
            copied = await play(pair, BEFORE)
            shutil.copytree(data_of(stack), tmp_path / "copy")
            async with (
                maumau.connect(stack.address, token=pair.ana.token) as client,
                client.room(pair.room, mode="watch") as watched,
            ):
                follower = Follower(RecordingRoom(history, "watching", pair.ana.id, watched))
                last = await play(pair, LOST)
                gone = await pair.bo.get_room(pair.room)
                await watched.wait_until(lambda view: view.version >= last)  # a clock may have made one more
                await restore(stack, tmp_path / "copy")
                await eventually(follower.was_told, "who watches is told of the rollback")
                assert copied <= watched.version < gone.room.version
                await returns(pair, gone, watched.version)
                last = await play(pair, AFTER)
                await watched.wait_until(lambda view: view.version >= last)
                follower.task.cancel()
            await agrees(stack, pair, history)
        assert complaints(stack) == []
    promise(
        "P8",
        f"{last - copied + LOST} versions around a loss of {LOST}: who watched and who returned were told before the "
        "next event, log and state agree",
    )


async def returns(pair: Duel, gone: room_pb2.Snapshot, now: int) -> None:
    """A client that was away comes back with a token of the history that is gone."""
    stream = pair.bo.watch(pair.room, gone.resume_token)
    (message,) = await read_to(stream, 1)
    stream.cancel()
    assert message.snapshot.reason == room_pb2.SNAPSHOT_REASON_HISTORY_CHANGED
    assert now <= message.snapshot.room.version < gone.room.version


async def agrees(stack: Stack, pair: Duel, history: History) -> None:
    """The log is whole, the state is its last version's, and nobody saw anything twice but for the one notice."""
    async with Store(StoreSettings(url=stack.redis_url)) as store:
        log = await read_log(store.rooms, pair.room)
        stored = await store.rooms.read(RoomId(pair.room))
    assert stored is not None
    assert stored.head == (log[-1].version, log[-1].mark)
    found = check_room(pair.room, log, read_records([history.path]))
    assert Kind.HOLE not in {finding.kind for finding in found}
    assert [finding.kind for finding in found].count(Kind.ROLLED_BACK) == 1


@pytest.mark.long
@pytest.mark.control("P8")
async def test_control_an_authority_that_compares_no_marks_lets_clients_play_on(
    tmp_path: Path, promise: Promise
) -> None:
    modules = with_authority("tests.faults.markless_returns")
    with Stack(options(tmp_path / "var", authorities=1, modules=modules)) as stack:
        async with channel_to(stack.address) as channel:
            pair = await duel(channel)
            await pair.start()
            copied = await play(pair, BEFORE)
            shutil.copytree(data_of(stack), tmp_path / "copy")
            await pair.turn()
            gone = await pair.bo.get_room(pair.room)
            await restore(stack, tmp_path / "copy")
            last = await play(pair, AFTER)
            stream = pair.bo.watch(pair.room, gone.resume_token)
            told = await read_to(stream, last)
            stream.cancel()
    assert last > gone.room.version > copied
    assert [message.WhichOneof("message") for message in told] == ["update"] * len(told)
    promise("P8", f"without comparing marks {len(told)} events are told along a history that is gone")
