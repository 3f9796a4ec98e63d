"""Clients in a process of their own that watch rooms, so that they can be frozen, counted by hundreds, or not read.

    async with crowd(Way.PLAIN, address, members, history_path) as watching:
        answer = await watching.reach(version)      # everybody has seen it; `answer.at` says when the last one had
        watching.freeze()

The process (`python -m tests.faults.crowd`) gets its orders as JSON lines on standard input and answers each with one.
What the clients see goes into a history of their own, with times of the machine's monotonic clock.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import itertools
import json
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable, Sequence
from enum import Enum
from pathlib import Path
from typing import Any, Final, NamedTuple

import grpc
import maumau
from maumau.v1 import authority_pb2, authority_pb2_grpc

from services.wire.resume import read_resume_token
from tests.e2e.calls import reason_of
from tests.faults.history import History, RecordingRoom

AT_ONCE: Final = 20
"""Clients that one process lets connect at a time."""
SMALL_WINDOW: Final = (("grpc.http2.bdp_probe", 0), ("grpc.http2.lookahead_bytes", 65_536))
"""A client that takes no more than this before it has read: what it does not read piles up at the server."""


class Way(Enum):
    """How a client follows its room."""

    PLAIN = "plain"
    """One `Watch`, never opened anew."""
    ONCE = "once"
    """`Watch`; when that is lost another one, at once and once only."""
    SDK = "sdk"
    """As the SDK does."""
    DEAF = "deaf"
    """One `Watch` of which only the first message is read, until the order to read comes, and nothing again from the
    order not to. When it is lost another one, from the token that the server gave."""


class Member(NamedTuple):
    """One client: the room it watches and the session it has."""

    room: str
    token: str


class Answer(NamedTuple):
    """What came of an order: when the last client was there (ns, monotonic), how many were not, and what ended the
    streams that ended (`errors`, a reason or a code each)."""

    at: int
    missing: int
    errors: list[str]


class Crowd:
    """The handle of such a process."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    def freeze(self) -> None:
        """SIGSTOP: from now on no client of it does anything."""
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    async def reach(self, version: int, seconds: float = 30.0) -> Answer:
        """Waits until all have seen this version, or ended, or the time is over."""
        return await self._order("reach", seconds, version=version)

    async def alone(self, seconds: float = 30.0) -> Answer:
        """Waits until all see that nobody but themselves is connected."""
        return await self._order("alone", seconds)

    async def together(self, seconds: float = 30.0) -> Answer:
        """Waits until all see somebody else connected."""
        return await self._order("together", seconds)

    async def read(self, seconds: float = 30.0, *, ends: int = 1) -> Answer:
        """The deaf ones read until as many streams of each have ended, then they resume and go on reading."""
        return await self._order("read", seconds, ends=ends)

    async def stop_reading(self) -> None:
        """They read nothing any more, until `read`."""
        await self._order("deaf", 0)

    async def _order(self, order: str, seconds: float, **more: int) -> Answer:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"order": order, "seconds": seconds, **more}).encode() + b"\n")
        return await self.answer(seconds + 20)

    async def answer(self, seconds: float) -> Answer:
        assert self._process.stdout is not None
        line = await asyncio.wait_for(self._process.stdout.readline(), seconds)
        return Answer(**json.loads(line))


@contextlib.asynccontextmanager
async def crowd(way: Way, address: str, members: Sequence[Member], history: Path) -> AsyncIterator[Crowd]:
    """A process whose clients all have their first view. For those of the SDK `address` may be the folder in which a
    server without Envoy runs (its `var` is in it)."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.faults.crowd"), stdin=pipe, stdout=pipe, limit=1 << 20
    )
    assert process.stdin is not None
    try:
        spec = {"way": way.value, "address": address, "members": members, "history": str(history)}
        process.stdin.write(json.dumps(spec).encode() + b"\n")
        opened = Crowd(process)
        first = await opened.answer(90)
        assert (first.missing, first.errors) == (0, []), first
        yield opened
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


# Inside the process.


class Watcher:
    """One client. `version` is the newest it saw, `others` the connected seats besides its own."""

    def __init__(self, way: Way, address: str, member: Member, name: str, history: History) -> None:
        self.way, self.address, self.member, self.name, self.history = way, address, member, name, history
        self.version, self.others, self.own = 0, set[int](), -1
        self.errors = list[str]()
        self.ended, self.may_read = False, asyncio.Event()
        self._token, self._change = b"", asyncio.Event()

    async def changes(self, seconds: float) -> None:
        """Returns when something about it is different, or after that time."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._change.wait(), seconds)

    def _notify(self) -> None:
        self._change.set()
        self._change = asyncio.Event()

    async def run(self, gate: asyncio.Semaphore) -> None:
        """Follows the room until nothing comes any more."""
        try:
            await (self._sdk(gate) if self.way is Way.SDK else self._plain(gate))
        except maumau.MaumauError as error:
            self.errors.append(repr(error))
        finally:
            self.ended = True
            self._notify()

    async def _plain(self, gate: asyncio.Semaphore) -> None:
        options = [("grpc.use_local_subchannel_pool", 1), *(SMALL_WINDOW if self.way is Way.DEAF else ())]
        for number in itertools.count(1):
            async with grpc.aio.insecure_channel(self.address, options=options) as channel:
                try:
                    await self._stream(authority_pb2_grpc.GameAuthorityServiceStub(channel), gate)
                    lost = "ended"
                except grpc.aio.AioRpcError as error:
                    reason, metadata = reason_of(error)
                    lost = reason or error.code().name
                    if "resume_token" in metadata:
                        self._token = base64.urlsafe_b64decode(metadata["resume_token"] + "==")
            if self.way is Way.DEAF or number == (1 if self.way is Way.PLAIN else 2):
                self.errors.append(lost)
                self._notify()
                if self.way is not Way.DEAF:
                    return

    async def _stream(self, stub: authority_pb2_grpc.GameAuthorityServiceStub, gate: asyncio.Semaphore) -> None:
        room, token = self.member
        metadata = (("authorization", f"Bearer {token}"), ("x-maumau-room", room))
        call: Any = stub.Watch(authority_pb2.WatchRequest(room_id=room, resume_token=self._token), metadata=metadata)
        async with gate:
            self._take(first := await call.read())
        if not (self.version or first is grpc.aio.EOF):
            self.errors.append(f"the stream began with {first.WhichOneof('message')}")
        while True:
            if self.way is Way.DEAF:
                await self.may_read.wait()
            if (message := await call.read()) is grpc.aio.EOF:
                return
            self._take(message)

    def _take(self, message: Any) -> None:
        match message.WhichOneof("message") if message is not grpc.aio.EOF else None:
            case "snapshot":
                view, self._token = message.snapshot.room, message.snapshot.resume_token
                self.own = view.own_seat if view.HasField("own_seat") else -1
                self._meet(number for number, seat in enumerate(view.seats) if seat.connected)
                self._saw(view.version, b"", "asked")
            case "update":
                self._token = message.update.resume_token
                self._saw(message.update.version, read_resume_token(self._token, self.member.room).mark, "update")
            case "bookmark":
                self._meet(message.bookmark.connected_seats)

    def _meet(self, connected: Any) -> None:
        self.others = set(connected) - {self.own}
        self._notify()

    def _saw(self, version: int, mark: bytes, cause: str) -> None:
        self.version = version
        self._notify()
        self.history.saw(self.name, self.member.room, version, mark, cause)

    async def _sdk(self, gate: asyncio.Semaphore) -> None:
        async with contextlib.AsyncExitStack() as opened:
            async with gate:
                if self.address.startswith("/"):
                    os.chdir(self.address)
                address = None if self.address.startswith("/") else self.address
                client = await opened.enter_async_context(maumau.connect(address, token=self.member.token))
                room = await opened.enter_async_context(client.room(self.member.room, mode="watch"))
            recording = RecordingRoom(self.history, self.name, "", room)
            async for event in room.events():
                recording.saw(event)
                if not isinstance(event, maumau.RoomChat):
                    self.version = event.version
                    self._notify()


class Room:
    """All clients of the process."""

    def __init__(self, spec: dict[str, Any]) -> None:
        history = History(Path(spec["history"]))
        way, gate = Way(spec["way"]), asyncio.Semaphore(AT_ONCE)
        self.watchers = [
            Watcher(way, spec["address"], Member(*member), f"watcher {os.getpid()}.{number}", history)
            for number, member in enumerate(spec["members"])
        ]
        self._tasks = [asyncio.create_task(watcher.run(gate)) for watcher in self.watchers]

    async def carry_out(self, order: dict[str, Any]) -> Answer:
        """One order."""
        conditions: dict[str, Callable[[Watcher], bool]] = {
            "reach": lambda watcher: watcher.version >= order["version"],
            "alone": lambda watcher: not watcher.others,
            "together": lambda watcher: bool(watcher.others),
            "read": lambda watcher: len(watcher.errors) >= order["ends"],
            "deaf": lambda watcher: True,
        }
        for watcher in self.watchers:
            match order["order"]:
                case "read":
                    watcher.may_read.set()
                case "deaf":
                    watcher.may_read.clear()
        return await self.all_are(conditions[order["order"]], order["seconds"])

    async def all_are(self, condition: Callable[[Watcher], bool], seconds: float) -> Answer:
        """Waits for all, and tells who is not in time."""
        end = time.monotonic() + seconds
        for watcher in self.watchers:
            while not (condition(watcher) or watcher.ended) and time.monotonic() < end:
                await watcher.changes(end - time.monotonic())
        at = time.monotonic_ns()
        missing = sum(not condition(watcher) for watcher in self.watchers)
        return Answer(at, missing, [error for watcher in self.watchers for error in watcher.errors])


async def _serve() -> None:
    room = Room(json.loads(await asyncio.to_thread(sys.stdin.readline)))
    answer = await room.all_are(lambda watcher: watcher.version > 0, 80)
    while True:
        print(json.dumps(answer._asdict()), flush=True)
        line = await asyncio.to_thread(sys.stdin.readline)
        if not line:
            return
        answer = await room.carry_out(json.loads(line))


if __name__ == "__main__":
    asyncio.run(_serve())
