"""Spectators whom a room keeps behind see each version when it is old enough, and nothing younger anywhere.

The age of a version is judged by the times that Redis gave it: what a spectator gets at a moment must have been
committed that long before. The control is a server that takes every spectator for a present one.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import grpc
import maumau
import pytest
from maumau.v1 import authority_pb2, matchmaking_pb2, room_pb2, rules_pb2, settings_pb2

from services.local.stack import Stack
from services.rules.events import MatchEnded
from services.rules.room.journal import decode_entry
from services.store.assembly import Store
from services.store.connect import StoreSettings
from services.store.keys import RoomId
from tests.e2e.calls import Guest, channel_to, next_message, reason_of, sign_in
from tests.e2e.eventually import eventually
from tests.e2e.knowledge import leaks, places
from tests.e2e.lounge import Lounge, choose, lounge, play, start
from tests.e2e.recorder import Recording, truth_of
from tests.e2e.stacks import complaints, options, with_authority
from tests.faults.checker import read_log
from tests.faults.scale import PATIENCE
from tests.faults.short_delays import SHORT_SECONDS, SHOWS_THE_PRESENT

pytestmark = PATIENCE

DELAY = SHORT_SECONDS
SOON = {"MAUMAU_BOOKMARK_SECONDS": "0.5"}
MODULES = with_authority("tests.faults.short_delays")


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with Stack(options(tmp_path_factory.mktemp("stack"), environ=SOON, modules=MODULES)) as running:
        yield running
        assert complaints(running) == []


async def delayed_match(hall: Lounge) -> list[maumau.Room]:
    """Two people at a table whose spectators are behind; the match has started, and its end is far away: after it they
    would not be behind any more."""
    return await hall.match(
        *("Ana", "Bo"),
        options={"match.target": 10_000},
        visibility=settings_pb2.VISIBILITY_PUBLIC,
        spectators=settings_pb2.SPECTATORS_DELAYED,
    )


async def keep_playing(sides: list[maumau.Room]) -> None:
    while True:
        for side in sides:
            if side.legal:
                with contextlib.suppress(maumau.Refused):
                    await side.act(choose(side.legal))
        await asyncio.sleep(0.2)


@contextlib.asynccontextmanager
async def play_going_on(sides: list[maumau.Room]) -> AsyncIterator[None]:
    playing = asyncio.create_task(keep_playing(sides))
    try:
        yield
    finally:
        playing.cancel()
        await asyncio.gather(playing, return_exceptions=True)


class Eve:
    """A spectator who writes down which versions were named to her, when, and by what."""

    def __init__(self, guest: Guest, room: str) -> None:
        self.guest, self.room = guest, room
        self.told: list[tuple[float, int, str]] = []
        self.updates: list[int] = []
        self.chats: list[tuple[float, str]] = []
        self.token = b""
        self.recording = Recording(None)

    @property
    def kinds(self) -> set[str]:
        """By what she was told."""
        return {how for _, _, how in self.told}

    async def ask(self, **waiting: Any) -> room_pb2.RoomView | None:
        """`GetRoom`; None where there is nothing for her yet."""
        try:
            view = (await self.guest.get_room(self.room, **waiting)).room
        except grpc.aio.AioRpcError as error:
            if reason_of(error)[0] != "ROOM_NOT_FOUND":
                raise
            return None
        self._note(view.version, "get room")
        self.recording.messages.append((view.version, room_pb2.Snapshot(room=view)))
        return view  # type: ignore[no-any-return]

    async def watch(self, seconds: float | None = None, token: bytes = b"") -> None:
        """Follows the room for so long, or until it is cancelled."""
        call = self.guest.watch(self.room, token)
        try:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    async for message in call:
                        self._take(message)
        finally:
            call.cancel()

    async def is_kept_out(self) -> bool:
        """Whether she may not follow the room, since nothing is old enough; looks on for a while where she may."""
        try:
            await self.watch(1)
        except grpc.aio.AioRpcError as error:
            if reason_of(error)[0] != "ROOM_NOT_FOUND":
                raise
            return True
        return False

    def _take(self, message: authority_pb2.WatchResponse) -> None:
        match message.WhichOneof("message"):
            case "snapshot":
                self._note(message.snapshot.room.version, "snapshot")
                self.token = message.snapshot.resume_token
                self.recording.messages.append((message.snapshot.room.version, message.snapshot))
                assert not message.snapshot.room.HasField("legal")
            case "update":
                self.updates.append(message.update.version)
                self._note(message.update.version, "update")
                self.token = message.update.resume_token
                self.recording.messages.append((message.update.version, message.update))
            case "bookmark":
                self._note(message.bookmark.version, "bookmark")
            case "chat":
                self.chats.append((time.time(), message.chat.text))

    def _note(self, version: int, how: str) -> None:
        self.told.append((time.time(), version, how))

    async def too_young(self, store: Store) -> list[str]:
        """Versions that were named before they were old enough."""
        committed = {entry.version: entry.time / 1000 for entry in await store.rooms.log(RoomId(self.room), 0, 10_000)}
        return [f"{how} named {v}" for at, v, how in self.told if at - committed[v] < DELAY - 0.05]


async def is_old(store: Store, room: str) -> bool:
    """Whether the first version of the room is old enough by now: on a busy machine it may be from the beginning."""
    (first,) = await store.rooms.log(RoomId(room), 0, 1)
    return time.time() - first.time / 1000 >= DELAY


async def test_a_spectator_sees_each_version_once_it_is_old_enough_and_nothing_younger(stack: Stack) -> None:
    async with (
        lounge(stack.address) as hall,
        channel_to(stack.address) as channel,
        Store(StoreSettings(url=stack.redis_url)) as store,
        contextlib.AsyncExitStack() as told,
    ):
        sides = await delayed_match(hall)
        eve = Eve(await sign_in(channel, "Eve"), sides[0].id)
        truth = await told.enter_async_context(truth_of(store, eve.room))
        early = Eve(await sign_in(channel, "Early"), eve.room)
        assert await early.ask() is None or await is_old(store, eve.room)
        assert await early.is_kept_out() or await is_old(store, eve.room)
        async with play_going_on(sides):
            await eventually(eve.ask, "something is old enough")
            cid = await hall.client("Cid")
            watching = asyncio.create_task(eve.watch())
            await eventually(lambda: "bookmark" in eve.kinds, "she follows the room")
            said_at = time.time()
            await cid.send_chat(eve.room, "look at that")
            await eventually(lambda: eve.chats and len(eve.updates) > 3, "what happens reaches her")
            await eventually(lambda: places(eve.recording).total() > 10, "she sees cards")
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)
            await eve.ask(since_version=eve.told[-1][1], wait_milliseconds=2_000)
            await eve.watch(1, eve.token)
        assert await eve.too_young(store) + await early.too_young(store) == []
        assert truth.complete
    assert leaks(eve.recording, truth) == []
    assert eve.updates == list(range(eve.updates[0], eve.updates[0] + len(eve.updates)))
    assert eve.kinds == {"get room", "snapshot", "update", "bookmark"}
    assert [text for _, text in eve.chats] == ["look at that"]
    assert eve.chats[0][0] - said_at > DELAY - 0.2


@pytest.mark.long
async def test_control_a_server_that_shows_the_present_is_found_out(tmp_path: Path) -> None:
    environ = {**SOON, SHOWS_THE_PRESENT: "1"}
    with Stack(options(tmp_path, environ=environ, authorities=1, modules=MODULES)) as present:
        async with lounge(present.address) as hall, channel_to(present.address) as channel:
            sides = await delayed_match(hall)
            eve = Eve(await sign_in(channel, "Eve"), sides[0].id)
            found = set[str]()
            async with Store(StoreSettings(url=present.redis_url)) as store:
                while found != {"snapshot", "update", "bookmark", "get room"}:  # once more where all came late
                    await see_all(eve, sides)
                    found = {how.split(" named")[0] for how in await eve.too_young(store)}


async def see_all(eve: Eve, sides: list[maumau.Room]) -> None:
    """She follows the room while it is played, looks at it, and is told when nothing happens any more."""
    watching, seen = asyncio.create_task(eve.watch()), len(eve.updates)
    async with play_going_on(sides):
        await eventually(lambda: len(eve.updates) > seen, "what happens reaches her")
        await eve.ask()
    told = len(eve.told)
    await eventually(lambda: "bookmark" in [how for _, _, how in eve.told[told:]], "she is told that nothing happens")
    watching.cancel()
    await asyncio.gather(watching, return_exceptions=True)


async def test_who_leaves_a_running_match_is_behind_from_then_on_until_he_comes_back(stack: Stack) -> None:
    async with channel_to(stack.address) as channel:
        ana, bo = [await sign_in(channel, name) for name in ("Ana", "Bo")]
        room = await _delayed_room(ana)
        await bo.join(room)
        for guest in (ana, bo):
            await guest.act(room, maumau.actions.set_ready(True), 0)
        await ana.act(room, maumau.actions.start(), 0)
        stream = bo.watch(room)
        assert (await next_message(stream)).snapshot.room.HasField("shedding")
        leaving = time.time()
        left = await bo.act(room, maumau.actions.leave_seat(), 0)
        assert not left.HasField("room")
        assert await _last_kind(stream) == "go_away"
        assert await _version_for(bo, room) < left.version or time.time() - leaving >= DELAY
        assert await _version_for(ana, room) >= left.version
        back = await bo.act(room, maumau.actions.take_seat(), 0)
        assert back.room.own_seat == 1
        assert await _version_for(bo, room) >= back.version


async def test_the_replay_of_a_match_waits_until_spectators_have_seen_its_end(stack: Stack) -> None:
    async with lounge(stack.address) as hall, Store(StoreSettings(url=stack.redis_url)) as store:
        ana, eve = await hall.clients("Ana", "Eve")
        room = await hall.create(
            ana, seats=2, visibility=settings_pb2.VISIBILITY_PUBLIC, spectators=settings_pb2.SPECTATORS_DELAYED
        )
        await room.add_bot()
        await start([room])
        await play([room])
        early, asked = await _replay_for(eve, room.id), time.time()
        assert early is None or asked - await _ended(store, room.id) >= DELAY
        own = await ana.replay(room.id)
        assert await eventually(lambda: _replay_for(eve, room.id), "the replay is shown to spectators") == own


async def _ended(store: Store, room: str) -> float:
    """When the match was over, in seconds since 1970."""
    log = await read_log(store.rooms, room)
    (ended,) = [e.time for e in log if any(isinstance(event, MatchEnded) for event in decode_entry(e.payload).events)]
    return ended / 1000


async def _replay_for(client: maumau.Client, room: str) -> authority_pb2.GetReplayResponse | None:
    try:
        return await client.replay(room)
    except maumau.Refused as refusal:
        if refusal.reason != "MATCH_RUNNING":
            raise
        return None


async def _delayed_room(host: Guest) -> str:
    request = matchmaking_pb2.CreateRoomRequest(
        ruleset=rules_pb2.Ruleset(preset="mau-mau-32", options={"match.target": rules_pb2.OptionValue(number=500)}),
        settings=settings_pb2.RoomSettings(
            seats=2,
            visibility=settings_pb2.VISIBILITY_PUBLIC,
            spectators=settings_pb2.SPECTATORS_DELAYED,
        ),
        request_id=bytes(16),
    )
    answer = await host.matchmaking.CreateRoom(request, metadata=host.metadata(), timeout=20)
    return str(answer.room_id)


async def _last_kind(stream: Any) -> str:
    kind = ""
    while (message := await next_message(stream)) is not grpc.aio.EOF:
        kind = str(message.WhichOneof("message"))
    return kind


async def _version_for(guest: Guest, room: str) -> int:
    """Which version somebody sees now; 0 where nothing is old enough."""
    try:
        return int((await guest.get_room(room)).room.version)
    except grpc.aio.AioRpcError as error:
        if reason_of(error)[0] != "ROOM_NOT_FOUND":
            raise
        return 0
