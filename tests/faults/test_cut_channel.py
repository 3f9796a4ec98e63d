"""The connections on which processes hear of each other's versions are cut again and again: no client misses any.

Control: a process that does not read the log after a cut. Its bookmarks, whose version is Redis's own, show the loss.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

from maumau.v1 import authority_pb2_grpc

from services.runtime.routes import GAME_AUTHORITY, MATCHMAKING
from services.wire.resume import read_resume_token
from tests.e2e.calls import Duel, Guest, channel_to, duel
from tests.e2e.eventually import eventually
from tests.e2e.stacks import with_authority
from tests.faults.history import History
from tests.faults.rig import Rig, started
from tests.faults.scale import PATIENCE, count

pytestmark = PATIENCE

ROOMS, TURNS = 3, count(30, 300, 3_000)
TURNS_BETWEEN_CUTS = 3


class Watcher:
    """A plain `Watch` that is never opened anew."""

    def __init__(
        self, guest: Guest, room: str, name: str, at: authority_pb2_grpc.GameAuthorityServiceStub, history: History
    ) -> None:
        self.guest, self.room, self.name, self.history = guest, room, f"{name} {guest.id}", history
        self.version = self.promised = 0
        self.stream = guest.watch(room, at=at)
        self.task = asyncio.create_task(self._follow())

    async def _follow(self) -> None:
        async for message in self.stream:
            match message.WhichOneof("message"):
                case "snapshot":
                    self._saw(message.snapshot.room.version, b"", "asked")
                case "update":
                    mark = read_resume_token(message.update.resume_token, self.room).mark
                    self._saw(message.update.version, mark, "update")
                case "bookmark":
                    self.promised = message.bookmark.version

    def _saw(self, version: int, mark: bytes, cause: str) -> None:
        self.version = version
        self.history.saw(self.name, self.room, version, mark, cause)


def cut(rig: Rig) -> int:
    """Redis drops every connection that has subscribed; how many there were."""
    with contextlib.closing(rig.server.client()) as client:
        return int(client.client_kill_filter(_type="pubsub"))


@contextlib.asynccontextmanager
async def watched(rig: Rig, history: History, rooms: int) -> AsyncIterator[tuple[list[Duel], list[Watcher]]]:
    """Pairs whose matches have started; each guest watches at both processes. They act at the second."""
    async with contextlib.AsyncExitStack() as opened:
        first, second = [
            await opened.enter_async_context(channel_to(address)) for address in rig.stack.addresses(GAME_AUTHORITY)
        ]
        lobby = await opened.enter_async_context(channel_to(rig.stack.addresses(MATCHMAKING)[0]))
        pairs = [await duel(lobby, rooms=second) for _ in range(rooms)]
        for pair in pairs:
            await pair.start()
        stubs = [authority_pb2_grpc.GameAuthorityServiceStub(channel) for channel in (first, second)]
        watchers = [
            Watcher(guest, pair.room, f"watcher {number}", stub, history)
            for pair in pairs
            for guest in (pair.ana, pair.bo)
            for number, stub in enumerate(stubs)
        ]
        await eventually(lambda: all(watcher.version for watcher in watchers), "everybody watches")
        yield pairs, watchers
        for watcher in watchers:
            watcher.stream.cancel()
        await asyncio.gather(*(watcher.task for watcher in watchers), return_exceptions=True)


async def test_who_watches_misses_nothing_when_channels_are_cut(rig: Rig, history: History) -> None:
    cuts = 0

    async def play(pair: Duel) -> int:
        nonlocal cuts
        for number in range(TURNS):
            if number % TURNS_BETWEEN_CUTS == 0:
                cuts += cut(rig)
            last = await pair.turn()
        return last

    async with watched(rig, history, ROOMS) as (pairs, watchers):
        lasts = await asyncio.gather(*(play(pair) for pair in pairs))
        last_of = {pair.room: last for pair, last in zip(pairs, lasts, strict=True)}
        await eventually(lambda: all(w.version >= last_of[w.room] for w in watchers), "everybody sees the last version")
    assert await rig.findings(last_of, history) == []
    assert cuts > 0, "subscriptions were there to be cut"


async def test_control_a_process_that_does_not_read_the_log_is_found_out(tmp_path: Path, history: History) -> None:
    changed = {"modules": with_authority("tests.faults.deaf_deliveries"), "environ": {"MAUMAU_BOOKMARK_SECONDS": "0.2"}}
    with started(tmp_path, envoy=False, **changed) as rig:
        async with watched(rig, history, 1) as ((pair,), watchers):
            for _ in range(TURNS):
                cut(rig)
                await pair.turn()
            await eventually(lambda: any(w.promised > w.version for w in watchers), "a bookmark shows the loss")
