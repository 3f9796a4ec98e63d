"""What the simulation has found, each put on a small stage: the seed that showed it is another run by now."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, cast

import msgspec
import pytest
from maumau.v1.authority_pb2 import PlayResponse

from services.game_authority.commits import Attempt
from services.game_authority.live_room import Asked, LiveRoom, Newest
from services.game_authority.relay import Relay
from services.rules import engine
from services.rules.room.actions import Act, CreateRoom, Matchmaker, Person, Player, SetReady, Start
from services.rules.room.clock import TimerKind
from services.store.errors import StoreUnavailable
from services.store.keys import RoomId, partition_of
from services.store.records import Commit, Head, Snapshot
from services.wire.errors import Refusal
from tests.simulation.client import Client, Manner
from tests.simulation.process import Process
from tests.simulation.protections import Protection
from tests.simulation.sources import simulated_sources
from tests.simulation.world import World, stubs

ROOM = RoomId("found")
PEOPLE = ("ann", "bob")
Scene = Callable[[World, Process], Awaitable[None]]


def staged(scene: Scene, without: Protection | None = None) -> World:
    """Plays a scene on one process with a room of two people whose match has begun and whom nobody has seen yet; with a
    protection switched off for a control, whatever the simulation finds."""
    world = World(0, without)

    async def play() -> None:
        process = world.start_process()
        await asyncio.sleep(1.0)
        world.partitions.add(partition_of(ROOM))
        await process.node.spawn(_begin(process))
        await process.node.spawn(cast(Any, scene(world, process)))

    with stubs(world), simulated_sources(random.Random(0), world.log):
        try:
            world.loop.run_until_complete(world.loop.world.spawn(play()))
        finally:
            world.dispose()
    world.check_log()
    assert without is not None or not world.oracle.violations
    return world


async def _begin(process: Process) -> None:
    rooms = process.authority.rooms
    people = tuple(Person(name, name.title()) for name in PEOPLE)
    await rooms.create(CreateRoom(ROOM, "mau-mau-32", people, settings={"seats": 2}), Matchmaker())
    for name in PEOPLE:
        await rooms.attempt(ROOM, Attempt(Player(name), SetReady(True)))
    await rooms.attempt(ROOM, Attempt(Player("ann"), Start()))


def test_a_match_that_waited_for_people_goes_on_though_the_finder_of_an_outage_died() -> None:
    """Its deadline was refused for want of a credit, and nobody was left to credit it."""

    async def scene(world: World, process: Process) -> None:
        assert await process.authority.timers.rearm(await process.authority.rooms.live(ROOM))
        glanced = await process.authority.store.rooms.glance(ROOM)
        assert glanced is not None
        assert glanced[1].kind == TimerKind.EMPTY.value
        outages = world.redis.db.table(f"s:{{{partition_of(ROOM)}}}:outages")
        now = world.redis.now_ms
        outages.update({b"n": b"1", b"o": msgspec.msgpack.encode([(1, now - 5_000, now)]), b"p": b"%d" % now})
        quiet = Manner(plays=True, think=1e6, dawdles=0.0, away=0.0, stale=0.0, other_process=0.0)
        world.clients.append(Client(world, "ann", ROOM, random.Random(0), quiet, seated=False))
        await asyncio.sleep(10.0)
        glanced = await process.authority.store.rooms.glance(ROOM)
        assert glanced is not None
        assert glanced[1].kind in (TimerKind.TURN.value, TimerKind.AWAY.value)

    staged(scene)


def test_a_process_stops_in_order_while_redis_is_away() -> None:
    async def scene(world: World, process: Process) -> None:
        world.redis.stop()
        await process.authority.close()

    staged(scene)


def test_the_outbox_is_left_alone_before_the_time_of_redis_is_known() -> None:
    """A range of ids before the year 1970 is an error, which stopped the process."""

    async def scene(world: World, process: Process) -> None:
        store = process.authority.store
        posted = Commit(room=RoomId("posted"), after=None, mark=bytes(8), state=b"", payload=b"", outbox=b"result")
        world.redis.observers.clear()
        world.partitions.add(partition_of(posted.room))
        await store.rooms.commit(posted)
        await Relay(world.settings, store, lambda: 0)._sweep()

    staged(scene)


def test_a_state_that_the_channel_brings_meanwhile_is_news_to_whoever_judged_before() -> None:
    """The newest was looked up, was found to be the cached one by then, and a refusal of the one before it stood."""

    async def scene(world: World, process: Process) -> None:
        rooms = process.authority.rooms
        live = await rooms.live(ROOM)
        newest = live.newest
        live.newest = newest._replace(head=Head(newest.head.version - 1, bytes(8)))
        refreshing = asyncio.create_task(rooms.refresh(live))
        await asyncio.sleep(0)
        live.newest = newest
        assert await refreshing

    staged(scene)


def test_whoever_finds_a_rollback_at_the_same_time_tells_it_once() -> None:
    async def scene(world: World, process: Process) -> None:
        live, told = await _rolled_back(process)
        live.deliver_from(live.newest.head)
        snapshot = await _stored(process)
        catching_up = process.authority.rooms.delivery.catching_up
        await asyncio.gather(catching_up.take(live, snapshot), catching_up.take(live, snapshot))
        assert len(told) == 1
        assert live.newest.head == snapshot.head

    staged(scene)


def test_nobody_is_told_of_a_state_that_redis_lost_before_its_log_was_read() -> None:
    async def scene(world: World, process: Process) -> None:
        catching_up = process.authority.rooms.delivery.catching_up
        stream = await _opens(process, "ann")
        live = await process.authority.rooms.live(ROOM)
        told: list[LiveRoom] = []
        catching_up.history_changed = lambda live: told.append(live)  # type: ignore[method-assign]
        stored = await _stored(process)
        lost = stored._replace(head=Head(stored.head.version + 1, bytes(8)))
        assert not await catching_up._fill(live, lost)  # read again
        assert not told
        process.authority.streams.close(stream)

    staged(scene)


def test_who_saw_nothing_of_what_was_lost_is_told_nothing_of_it() -> None:
    async def scene(world: World, process: Process) -> None:
        stream = await _opens(process, "ann")
        live, told = await _rolled_back(process)
        stored = await _stored(process)
        assert live.delivered == stored.head
        assert await process.authority.rooms.delivery.catching_up.take(live, stored)
        assert (live.newest.head, told) == (stored.head, [])
        process.authority.streams.close(stream)

    staged(scene)


async def _rolled_back(process: Process) -> tuple[LiveRoom, list[Newest]]:
    """The room as a process knows it that has seen a version more than there is, and what is told to its viewers."""
    rooms = process.authority.rooms
    live = await rooms.live(ROOM)
    live.newest = live.newest._replace(head=Head(live.version + 1, bytes(8)))
    told: list[Newest] = []
    rooms.delivery.catching_up.history_changed = lambda live: told.append(live.newest)  # type: ignore[method-assign]
    return live, told


async def _stored(process: Process) -> Snapshot:
    snapshot = await process.authority.store.rooms.read(ROOM)
    assert snapshot is not None
    return snapshot


def test_a_seat_that_comes_back_is_sent_its_legal_actions_when_they_end() -> None:
    """Another stream of the seat had been told long before that there are none."""

    async def scene(world: World, process: Process) -> None:
        rooms = process.authority.rooms
        live = await rooms.live(ROOM)
        viewers = [await _opens(process, name) for name in (*PEOPLE, "ann", "bob")]
        live.legal = {0: ((), ()), 1: ((), ())}  # as of before they came back
        again = await _opens(process, "ann"), await _opens(process, "bob")
        assert not live.legal
        for stream in (*viewers, *again):
            process.authority.streams.close(stream)

    staged(scene)


def test_a_read_of_presence_that_fails_after_everybody_has_hung_up_is_no_fault_of_the_process() -> None:
    async def scene(world: World, process: Process) -> None:
        presence = process.authority.presence
        live = await process.authority.rooms.live(ROOM)
        asks = asyncio.ensure_future(presence.look(live, oldest=-1.0))
        await asyncio.sleep(0)
        world.redis.stop()
        asks.cancel()
        await asyncio.sleep(10.0)
        gc.collect()

    staged(scene)


def test_a_version_whose_commit_has_no_answer_reaches_those_who_watch_with_the_answer_of_who_asked() -> None:
    """The echo of a commit waits for the commit's answer, and no longer than that."""

    async def scene(world: World, process: Process) -> None:
        rooms = process.authority.rooms
        live = await rooms.live(ROOM)
        match = live.newest.room.match
        assert match is not None
        (seat,) = engine.must_act(match.state)
        stream = await _opens(process, PEOPLE[seat])
        asked = Asked(stream.viewer, bytes(16))
        action = Act(engine.default_action(match.state, seat))
        process.authority.store.rooms.commit = _unanswered(rooms._store.commit)  # type: ignore[method-assign, assignment]
        with pytest.raises(Refusal, match="OUTCOME_UNKNOWN"):
            await rooms.attempt(ROOM, Attempt(Player(PEOPLE[seat]), action, bytes(16), asked=asked))
        del process.authority.store.rooms.commit
        told = [PlayResponse.FromString(message) async for message in _waiting(stream)]
        (made,) = [message for message in told if message.HasField("update")]
        assert made.update.version == made.answer.version == live.version
        process.authority.streams.close(stream)

    staged(scene)


def _unanswered(commit: Callable[[Commit], Awaitable[Any]]) -> Callable[[Commit], Awaitable[Any]]:
    async def unanswered(wanted: Commit) -> None:
        await commit(wanted)
        await asyncio.sleep(0.1)  # whatever comes by the channel is there
        raise StoreUnavailable("no answer", maybe_applied=True)

    return unanswered


async def _waiting(stream: Any) -> AsyncIterator[bytes]:
    """What is in the queue of a stream."""
    with contextlib.suppress(TimeoutError):
        while True:
            yield await asyncio.wait_for(anext(stream.viewer.outlet), 0.1)


async def _opens(process: Process, player: str) -> Any:
    session = process.world.session(player)
    return await process.authority.streams.open(ROOM, session, b"", plays=False)
