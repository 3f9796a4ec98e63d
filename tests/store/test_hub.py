"""Subscriptions: in order, confirmed, and never silently lost."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from services.store import hearing
from services.store.address import read_address
from services.store.assembly import Store
from services.store.connect import Connections, StoreSettings
from services.store.errors import StoreUnavailable
from services.store.hub import Gap, Heard, Hub
from services.store.keys import RoomId, partition_of
from services.store.packing import Published
from services.store.records import Aside, Head
from tests.servers import Server
from tests.store.conftest import MakeStore
from tests.store.making import extended, made, new_room, turn, until

BREAKS = 60


class Watcher:
    """What a listener makes of a room: the versions it knows, reread from the log after a gap if it heeds gaps."""

    def __init__(self, store: Store, room: RoomId, *, heeds_gaps: bool = True) -> None:
        self._store = store
        self._room = room
        self._heeds_gaps = heeds_gaps
        self.heard: list[Published] = []
        self.asides: list[Aside] = []
        self.versions: list[int] = []
        self.gaps = 0
        self._rereading: set[asyncio.Task[None]] = set()

    def __call__(self, heard: Heard) -> None:
        if isinstance(heard, Aside):
            self.asides.append(heard)
        elif isinstance(heard, Gap):
            self.gaps += 1
            if self._heeds_gaps:
                self._rereading.add(asyncio.create_task(self._reread()))
        else:
            self.heard.append(heard)
            self._take(heard.entry.version)

    async def _reread(self) -> None:
        read = await self._store.rooms.log(self._room, after=self.versions[-1] if self.versions else 0)
        # Newer versions may have been heard meanwhile.
        self.versions = sorted({*self.versions, *(entry.version for entry in read)})

    def _take(self, version: int) -> None:
        if not self.versions or version > self.versions[-1]:
            self.versions.append(version)


@pytest.fixture
async def own_store(own_server: Server, make_store: MakeStore) -> Store:
    return make_store(own_server)


async def test_a_message_carries_the_whole_version(store: Store) -> None:
    room = new_room()
    first = await made(store.rooms, room)
    watcher = Watcher(store, room)
    await store.hub.subscribe(room, watcher)
    second = await extended(
        store.rooms, room, first.head, turn(30_000, banks=(1, 2)), state=b"\x00\xff" * 3_000, payload=b"\xfe" * 500
    )
    await until(lambda: known(watcher, 1))
    [published] = watcher.heard
    [entry] = await store.rooms.log(room, after=1)
    assert (published.room, published.entry, published.state) == (room, entry, b"\x00\xff" * 3_000)
    assert published.head == second.head
    assert entry.mark_before == first.head.mark
    assert entry.clock == second.clock


async def known(watcher: Watcher, count: int) -> bool:
    return len(watcher.versions) >= count


async def test_messages_come_in_order_to_every_listener_of_every_process(make_store: MakeStore) -> None:
    writer, reader = make_store(), make_store()
    room, other = new_room(), new_room()
    head = (await made(writer.rooms, room)).head
    await made(writer.rooms, other)
    watchers = [Watcher(reader, room), Watcher(reader, room), Watcher(writer, room)]
    for watcher, at in zip(watchers, (reader, reader, writer), strict=True):
        await at.hub.subscribe(room, watcher)
    for _ in range(100):
        head = (await extended(writer.rooms, room, head)).head
    for watcher in watchers:
        await until(lambda watcher=watcher: known(watcher, 100))  # type: ignore[misc]
        assert watcher.versions == list(range(2, 102))
        assert watcher.gaps == 0
    assert (reader.hub.rooms, writer.hub.rooms) == (1, 1)


async def test_a_subscription_is_confirmed_before_it_is_handed_out(make_store: MakeStore) -> None:
    """Whoever subscribes and then reads misses nothing, however fast commits follow."""
    writer, reader = make_store(), make_store()
    room = new_room()
    head = (await made(writer.rooms, room)).head

    async def play(head: Head) -> None:
        while True:
            head = (await extended(writer.rooms, room, head)).head

    playing = asyncio.create_task(play(head))
    for _ in range(30):
        watcher = Watcher(reader, room)
        subscription = await reader.hub.subscribe(room, watcher)
        snapshot = await reader.rooms.read(room)
        assert snapshot is not None
        await until(lambda watcher=watcher: known(watcher, 3))  # type: ignore[misc]
        subscription.close()
        after = [version for version in watcher.versions if version > snapshot.head.version]
        assert watcher.versions[0] <= snapshot.head.version + 1
        assert after == list(range(snapshot.head.version + 1, snapshot.head.version + 1 + len(after)))
    playing.cancel()


@pytest.mark.parametrize("heeds_gaps", [True, False])
async def test_a_cut_subscription_tells_every_room_of_the_gap_and_the_log_fills_it(
    own_server: Server, own_store: Store, heeds_gaps: bool
) -> None:
    store = own_store
    rooms = [new_room() for _ in range(20)]
    heads = {room: (await made(store.rooms, room)).head for room in rooms}
    watchers = {room: Watcher(store, room, heeds_gaps=heeds_gaps) for room in rooms}
    for room in rooms:
        watchers[room].versions.append(1)
        await store.hub.subscribe(room, watchers[room])
    with contextlib.closing(own_server.client()) as client:
        for cut in range(1, 4):
            client.client_kill_filter(_type="pubsub")
            # These are published while nobody is subscribed: this loop has not yet seen the connection end.
            for room in rooms:
                client.spublish(store.pipelines.keys.room(room).channel, b"lost")
            for room in rooms:
                heads[room] = (await extended(store.rooms, room, heads[room])).head
            await until(lambda cut=cut: all_heard(list(watchers.values()), cut))  # type: ignore[misc]
    for room in rooms:
        heads[room] = (await extended(store.rooms, room, heads[room])).head
    if heeds_gaps:
        for room in rooms:
            await until(lambda room=room: known(watchers[room], 5))  # type: ignore[misc]
            assert watchers[room].versions == [1, 2, 3, 4, 5]
    else:
        last = watchers[rooms[-1]]
        await until(lambda: known_version(last, 5))
        assert any(watcher.versions != [1, 2, 3, 4, 5] for watcher in watchers.values())
    assert store.hub.breaks >= 3


async def all_heard(watchers: list[Watcher], gaps: int) -> bool:
    return all(watcher.gaps >= gaps for watcher in watchers)


async def known_version(watcher: Watcher, version: int) -> bool:
    return watcher.versions[-1] == version


async def test_a_message_of_an_unknown_form_is_a_gap(store: Store) -> None:
    room = new_room()
    watcher = Watcher(store, room)
    await store.hub.subscribe(room, watcher)
    await made(store.rooms, room)
    await store.pipelines.writes.command("SPUBLISH", store.pipelines.keys.room(room).channel, b"\x09from the future")
    await until(lambda: all_heard([watcher], 1))
    assert watcher.versions == [1]


async def test_what_is_said_beside_the_log_is_heard_now_and_never_again(store: Store) -> None:
    room = new_room()
    first = await made(store.rooms, room)
    watcher = Watcher(store, room)
    await store.hub.subscribe(room, watcher)
    await store.rooms.say(room, b"\x01hello")
    await extended(store.rooms, room, first.head)
    await until(lambda: known(watcher, 1))
    assert watcher.asides == [Aside(room, b"\x01hello")]
    assert [entry.version for entry in await store.rooms.log(room)] == [1, 2]


async def test_a_listener_that_fails_does_not_stop_the_others(store: Store) -> None:
    room = new_room()

    def fail(_: Heard) -> None:
        raise RuntimeError("a fault of the listener")

    watcher = Watcher(store, room)
    await store.hub.subscribe(room, fail)
    await store.hub.subscribe(room, watcher)
    await made(store.rooms, room)
    await until(lambda: known(watcher, 1))


async def test_the_last_listener_ends_the_subscription_in_redis(own_server: Server, own_store: Store) -> None:
    room = new_room()
    first, second = [await own_store.hub.subscribe(room, Watcher(own_store, room)) for _ in range(2)]
    with contextlib.closing(own_server.client()) as client:

        async def subscribed() -> bool:
            return bool(client.pubsub_shardchannels())

        first.close()
        first.close()
        assert await subscribed()
        second.close()
        await until(negated(subscribed))
    assert own_store.hub.rooms == 0


def negated(condition: Callable[[], object]) -> Callable[[], asyncio.Future[bool]]:
    async def holds_not() -> bool:
        return not await condition()  # type: ignore[misc]

    return lambda: asyncio.ensure_future(holds_not())


async def test_subscribing_again_at_once_hears_everything(store: Store) -> None:
    room = new_room()
    head = (await made(store.rooms, room)).head
    for _ in range(20):
        (await store.hub.subscribe(room, Watcher(store, room))).close()
        watcher = Watcher(store, room)
        subscription = await store.hub.subscribe(room, watcher)
        head = (await extended(store.rooms, room, head)).head
        await until(lambda watcher=watcher: known(watcher, 1))  # type: ignore[misc]
        assert (watcher.versions, watcher.gaps) == ([head.version], 0)
        subscription.close()


async def test_a_subscriber_that_gives_up_leaves_nothing_behind(store: Store) -> None:
    room = new_room()
    tasks = [asyncio.create_task(store.hub.subscribe(room, Watcher(store, room))) for _ in range(10)]
    await asyncio.sleep(0)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert store.hub.rooms == 0
    watcher = Watcher(store, room)
    await store.hub.subscribe(room, watcher)
    await made(store.rooms, room)
    await until(lambda: known(watcher, 1))


async def test_a_silent_connection_is_found_and_replaced(own_server: Server, make_store: MakeStore) -> None:
    """A frozen server closes nothing: only the unanswered PING shows it."""
    store = make_store(own_server, health_check_ms=100)
    room = new_room(partition=0)
    watcher = Watcher(store, room)
    await store.hub.subscribe(room, watcher)
    own_server.freeze()
    await until(lambda: broken(store))
    own_server.thaw()
    await until(lambda: all_heard([watcher], 1))
    await made(store.rooms, room)
    await until(lambda: known(watcher, 1))


async def broken(store: Store) -> bool:
    return store.hub.breaks > 0


async def test_subscribing_without_redis_is_unavailable_and_works_when_it_is_back(
    own_server: Server, make_store: MakeStore
) -> None:
    store = make_store(own_server, connect_timeout_ms=100, command_timeout_ms=200, replica_timeout_ms=100)
    writer, room = make_store(own_server), new_room()
    own_server.kill()
    with pytest.raises(StoreUnavailable):
        await store.hub.subscribe(room, Watcher(store, room))
    assert store.hub.rooms == 0
    own_server.start()
    watcher = Watcher(store, room)
    await until(lambda: subscribes(store, room, watcher))
    await made(writer.rooms, room)
    await until(lambda: known(watcher, 1))
    assert partition_of(room) < 256


async def subscribes(store: Store, room: RoomId, watcher: Watcher) -> bool:
    with contextlib.suppress(StoreUnavailable):
        await store.hub.subscribe(room, watcher)
        return True
    return False


async def test_a_user_who_may_not_subscribe_is_told_of_and_retried_until_it_may(
    own_server: Server, make_store: MakeStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An operator who forgot a right of the user reads which, and need not restart anything once it is given."""
    monkeypatch.setattr(hearing, "_LONGEST_PAUSE_S", 0.001)
    errors, logger = Errors(), logging.Logger("hub")
    logger.addHandler(errors)
    monkeypatch.setattr(hearing, "_log", logger)
    unhandled: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: unhandled.append(context))
    with contextlib.closing(own_server.client()) as client:
        run: Any = client.execute_command
        run("ACL", "SETUSER", "deaf", "on", ">pw", "~*", "&*", "+@all", "-ssubscribe")
        url = own_server.url.replace("unix://", "unix://deaf:pw@")
        store = make_store(own_server, url=url, connect_timeout_ms=200, command_timeout_ms=300, replica_timeout_ms=100)
        room = new_room()
        with pytest.raises(StoreUnavailable):
            await store.hub.subscribe(room, Watcher(store, room))
        await subscribe_while_refused(store)
        run("ACL", "SETUSER", "deaf", "+ssubscribe")
        watcher = Watcher(store, room)
        await until(lambda: subscribes(store, room, watcher))
    await made(make_store(own_server).rooms, room)
    await until(lambda: known(watcher, 1))
    gc.collect()
    assert unhandled == []
    [told] = errors.texts
    assert "+ssubscribe" in told


class Errors(logging.Handler):
    """Writes the texts of errors down. The records themselves would keep the tasks whose failures are looked for."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.texts = set[str]()

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.add(record.getMessage())


async def subscribe_while_refused(store: Store) -> None:
    """Over and over, so that sometimes something is being sent just when the connection ends."""
    chance, enough = random.Random(1), store.hub.breaks + BREAKS
    while store.hub.breaks < enough:
        room = new_room()
        asking = asyncio.create_task(store.hub.subscribe(room, Watcher(store, room)))
        for _ in range(chance.randrange(1, 6)):
            await asyncio.sleep(0)
        asking.cancel()
        await asyncio.sleep(chance.choice((0, 0, 0.0005)))


class Moving:
    """A Cluster of one primary, which is another one after `move`."""

    def __init__(self, first: Connections) -> None:
        self.settings = first.settings
        self.now = first
        self._told: list[Callable[[], None]] = []

    def of(self, key: str) -> Connections:
        return self.now

    def all(self) -> Sequence[Connections]:
        return (self.now,)

    async def find(self) -> None:
        return None

    def doubt(self) -> None:
        return None

    def on_change(self, told: Callable[[], None]) -> None:
        self._told.append(told)

    async def aclose(self) -> None:
        return None

    def move(self, to: Connections) -> None:
        self.now = to
        for told in self._told:
            told()


async def test_nobody_goes_on_listening_to_a_primary_that_is_one_no_more(own_server: Server) -> None:
    """Where it has gone, that is an attempt to connect every second, for ever."""
    settings = StoreSettings(url=own_server.url)
    where = read_address(own_server.url).where
    before, after = Connections(settings, where), Connections(settings, where)
    moving = Moving(before)
    hub = Hub(moving)
    for partition in range(settings.pubsub_connections):
        await hub.subscribe(new_room(partition), lambda heard: None)
    assert before.use()["pubsub"].in_use == settings.pubsub_connections
    moving.move(after)

    async def moved() -> bool:
        return before.use()["pubsub"].in_use == 0 and after.use()["pubsub"].in_use == settings.pubsub_connections

    await until(moved)
    await hub.aclose()
    for connections in (before, after):
        await connections.aclose()
