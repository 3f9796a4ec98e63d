"""The simulated Redis answers as the real one does: a random sequence of operations through the store's own classes,
against both, gives the same replies.

The scripts that the real server gets read its time from a key, so that the test turns the clock of both as it likes.
What cannot be turned is the time by which the real server expires keys. So no key expires while the test lasts,
however its clock jumps, and which keys were given a lifetime is compared instead.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import random
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple
from unittest import mock

import pytest
import redis

from services.store import scripts
from services.store.assembly import Store
from services.store.connect import StoreSettings
from services.store.errors import StoreError
from services.store.keys import PlayerId, ProcessId, RoomId, StreamId, partition_of
from services.store.outbox import OutboxEntry
from services.store.presence import Entry
from services.store.records import ClockChange, Commit, Committed, Conflict, Grace, Head, Origin, Pending
from services.store.scripts import Script
from tests.servers import Kind, Server, kinds, running
from tests.simulation.keyspace import Keyspace
from tests.simulation.loop import SimulationLoop
from tests.simulation.process import SimulatedStore
from tests.simulation.redis_server import RedisServer
from tests.simulation.redis_wire import RedisLink, Weather

ROOMS: Final = (RoomId("twin-1"), RoomId("twin-2"))
PARTITIONS: Final = tuple(sorted({partition_of(room) for room in ROOMS}))
STEPS: Final = 600
TWIN_PREFIX: Final = "s"
"""As `SimulatedConnections` has it."""
BEGIN_MS: Final = 4_000_000_000_000
"""Far ahead, so that what is to expire at a moment does not expire for the real server, which knows its own time."""
MOVES_MS: Final = (0, 0, 1, 40, 499, 500, 900, 2_999, 3_000, 3_001, 9_000, 40_000, -1, -50, -6_000)
LIFETIME: Final = "redis.call('PEXPIRE', KEYS[1], ARGV[2])"
LONGER: Final = "redis.call('PEXPIRE', KEYS[1], 1000 * ARGV[2])"
"""So that a slow machine does not live through the lifetime of a presence set."""
NO_LIFETIME: Final = -1
IN_SCRIPTS: Final = ("COMMIT", "REARM", "SWEEP", "READ", "GLANCE", "ENTER", "PRESENT", "ANNOUNCE", "FLEET")


class Sequence:
    """Draws operations and notes what they answer. The draw follows the replies, so equal replies give equal draws."""

    def __init__(self, store: Store, seed: int, turn_to: Callable[[int], None]) -> None:
        self.replies: list[Any] = []
        self._store = store
        self._chance = random.Random(seed)
        self._turn_to = turn_to
        self._now = BEGIN_MS
        self._heads: dict[RoomId, list[Head]] = {room: [] for room in ROOMS}
        self._posted: list[tuple[RoomId, str]] = []

    async def run(self) -> list[Any]:
        """The name and reply of each operation."""
        steps = [self._commit, self._commit, self._commit, self._look, self._rearm, self._sweep, self._beside]
        for _ in range(STEPS):
            self._now += self._chance.choice(MOVES_MS)
            self._turn_to(self._now)
            step = self._chance.choice(steps)
            try:
                reply = await step(self._chance.choice(ROOMS))
            except StoreError as error:
                reply = f"{type(error).__name__} {str(error).split()[0]}"
            self.replies.append((step.__name__, reply))
        return self.replies

    async def _commit(self, room: RoomId) -> Any:
        chance, heads = self._chance, self._heads[room]
        after = chance.choice([heads[-1], heads[-1], heads[-1], chance.choice(heads), None]) if heads else None
        if after is not None and chance.random() < 0.1:
            after = Head(after.version, chance.randbytes(8))
        commit = Commit(
            room=room,
            after=after,
            mark=chance.randbytes(8),
            state=chance.randbytes(5),
            payload=chance.randbytes(5),
            clock=self._change(),
            due=chance.choice([None, None, 1, 2]) if after else None,
            outbox=chance.choice([None, None, b"result"]),
            keep_state=len(self._posted) % 3 == 0,
            listing=chance.choice([None, b"", b"line"]),
            lifetime_ms=chance.choice([None, None, None, 1_000_000_000]),
        )
        result = await self._store.rooms.commit(commit)
        if isinstance(result, Committed):
            heads.append(result.head)
            if result.outbox_id is not None:
                self._posted.append((room, result.outbox_id))
                return result._replace(outbox_id="posted")
        elif isinstance(result, Conflict) and not heads:
            heads.append(result.newest.head)
        return result

    def _change(self) -> ClockChange:
        chance = self._chance
        return ClockChange(
            credit=chance.random() < 0.9,
            charge=chance.choice([None, None, 0, 1, 7]),
            base_ms=chance.choice([0, 1_000, 5_000]),
            banks=chance.choice([None, None, (3_000, 60_000), (1, 2, 3)]),
            restart_turn=chance.random() < 0.5,
            restart_window=chance.random() < 0.3,
            pending=chance.choice([None, (), self._pending(), self._pending()]),
        )

    def _pending(self) -> tuple[Pending, ...]:
        chance = self._chance
        return tuple(
            Pending(
                chance.choice([1, 2]),
                chance.choice(list(Origin)),
                chance.choice([0, 900, 5_000, 30_000]),
                chance.choice([None, None, 0, 1]),
            )
            for _ in range(chance.choice([1, 1, 2, 3]))
        )

    async def _look(self, room: RoomId) -> Any:
        rooms, version = self._store.rooms, self._chance.randrange(1, 40)
        return [
            await rooms.read(room),
            await rooms.head(room),
            await rooms.glance(room),
            await rooms.log(room, version, 3),
            await rooms.mark_at(room, version),
            await rooms.open_rooms(PARTITIONS),
        ]

    async def _rearm(self, room: RoomId) -> Any:
        chance, heads = self._chance, self._heads[room]
        at = chance.choice(heads[-2:]) if heads else Head(1, bytes(8))
        grace = chance.choice([None, Grace("1:0", f"1:{chance.randrange(3)}", 10_000, 30_000)])
        return await self._store.rooms.rearm(room, at, self._pending(), restart_turn=chance.random() < 0.3, grace=grace)

    async def _sweep(self, room: RoomId) -> Any:
        sweep, partition = self._store.sweep, partition_of(room)
        return [
            await sweep.sweep(PARTITIONS, limit=self._chance.choice([1, 64]), overdue_ms=self._chance.choice([0, 400])),
            await sweep.outages(partition),
            await sweep.rooms_waiting(partition),
        ]

    async def _beside(self, room: RoomId) -> Any:
        chance, store = self._chance, self._store
        process = ProcessId(chance.choice("ab"))
        entry = Entry(PlayerId(chance.choice("xyz")), StreamId(chance.choice("12")), process)
        replies: list[Any] = [await store.presence.entries(room), await store.fleet.running()]
        match chance.randrange(6):
            case 0 | 1:
                replies.append(await store.presence.enter(room, entry))
            case 2:
                await store.presence.leave(room, entry)
            case 3:
                replies.append(await store.fleet.announce(process, chance.randbytes(3)))
            case 4:
                replies.append(await store.outbox.counts(PARTITIONS))
                if self._posted:
                    posted_in, posted = chance.choice(self._posted)
                    replies.append(await store.outbox.refused(OutboxEntry(posted, posted_in, 1, b""), "REFUSED"))
            case _:
                if self._posted:
                    replies.append(await store.outbox.done(*self._posted.pop(), chance.choice([0, 3])))
                await store.rooms.add_player_room(entry.player, room)
                replies.append(sorted(await store.rooms.player_rooms(entry.player)))
        return replies


class _LastingKeyspace(Keyspace):
    """Keys whose lifetime does not end, since the test is shorter for the real server too. By the turned clock a key
    would be gone that the real server still has, which shows when the clock then jumps back."""

    def get(self, key: str) -> Any:
        return self._values.get(key)

    @property
    def expiring(self) -> set[str]:
        """The keys that have a lifetime."""
        return set(self._expires)


class _TurnedServer(RedisServer):
    """The twin with a clock that stands where it is put."""

    at_ms = BEGIN_MS

    def __init__(self, loop: SimulationLoop) -> None:
        self.lasting = _LastingKeyspace()
        super().__init__(loop, db=self.lasting)

    @property
    def now_ms(self) -> int:
        return self.at_ms

    def turn_to(self, ms: int) -> None:
        self.at_ms = ms


class _Ran(NamedTuple):
    """The reply of each operation, and the keys that have a lifetime in the end."""

    replies: list[Any]
    expiring: set[str]


def _on_the_twin(seed: int) -> _Ran:
    loop = SimulationLoop(random.Random(seed))
    server = _TurnedServer(loop)
    link = RedisLink(server, loop.world, Weather(), random.Random(seed))

    async def play() -> list[Any]:
        return await Sequence(SimulatedStore(link, PARTITIONS), seed, server.turn_to).run()

    try:
        return _Ran(loop.run_until_complete(loop.world.spawn(play())), server.lasting.expiring)
    finally:
        loop.close()


async def _on_the_server(server: Server, seed: int) -> _Ran:
    raw = server.client()

    def turn_to(ms: int) -> None:
        raw.hset("clock", mapping={"s": ms // 1_000, "u": ms % 1_000 * 1_000})

    with _time_from_a_key():
        async with Store(StoreSettings(url=server.url, prefix=TWIN_PREFIX)) as store:
            try:
                replies = await Sequence(store, seed, turn_to).run()
                return _Ran(replies, _expiring(raw))
            finally:
                raw.flushall()
                raw.close()


def _expiring(client: redis.Redis) -> set[str]:
    keys: Any = client.scan_iter()
    return {key.decode() for key in keys if client.pttl(key) != NO_LIFETIME}


@contextlib.contextmanager
def _time_from_a_key() -> Iterator[None]:
    with contextlib.ExitStack() as stack:
        for name in IN_SCRIPTS:
            stack.enter_context(mock.patch.object(scripts, name, _turned(getattr(scripts, name))))
        yield


def _turned(script: Script) -> Script:
    asks = "redis.call('TIME')"
    assert script.source.count(asks) == 1, script.name
    source = script.source.replace(asks, "redis.call('HMGET', 'clock', 's', 'u')").replace(LIFETIME, LONGER)
    return script._replace(source=source, sha=hashlib.sha1(source.encode()).hexdigest())


@pytest.fixture(scope="module", params=kinds())
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    kind: Kind = request.param
    with running(kind) as started:
        yield started


@pytest.mark.parametrize("seed", range(6))
def test_the_twin_replies_as_the_server_does(server: Server, seed: int) -> None:
    theirs = asyncio.run(_on_the_server(server, seed))
    mine = _on_the_twin(seed)
    for number, (one, other) in enumerate(zip(mine.replies, theirs.replies, strict=True)):
        assert one == other, f"operation {number} of seed {seed}"
    assert mine.expiring == theirs.expiring != set()
    kinds_of_results = {type(reply).__name__ for step, reply in mine.replies if step == "_commit"}
    assert {"Committed", "Conflict", "Early", "Uncredited", "str"} <= kinds_of_results
