"""The store behind Sentinel and on a Cluster: all that it does on one server, and what only a group can do to it."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

import pytest
import redis
from redis.crc import key_slot

from services.store.assembly import Store
from services.store.batcher import Pipelines
from services.store.boards import Boards, change_of
from services.store.claims import Claim, Claimed, ClaimStore
from services.store.connect import StoreSettings
from services.store.errors import Redirected, StoreUnavailable
from services.store.fleet import Fleet
from services.store.hub import Gap, Heard
from services.store.keys import PARTITIONS, Entrant, ProcessId, RoomId, StreamId, partition_of
from services.store.ledgers import DONE, Ledgers
from services.store.limits import LimitStore, Rate
from services.store.players import Invite, InviteIndex, PlayerStore, Profile
from services.store.presence import Entry
from services.store.primaries import primaries
from services.store.rebuilds import SWAPPED, Rebuilds
from services.store.records import Committed, Head
from services.store.reports import Complaint, ReportStore
from services.store.revocations import RevocationStore
from services.store.scoring import Applied, ScoringStore
from services.store.server_state import server_states
from services.store.tickets import Member, Request, TicketState, TicketStore
from tests.groups import Clustered, Replicated, Sentinels, command, formed, wait_for
from tests.servers import Server, kinds
from tests.store.conftest import PATIENT, MakeStore
from tests.store.making import commit, extended, made, new_room, turn, until
from tests.store.test_scoring_store import ANA, BEN, POOL, count, lines

_PREFIXES = (f"g{number}" for number in itertools.count())
BOTH = pytest.mark.parametrize("group", ["sentinels", "cluster"], indirect=True)


@pytest.fixture(scope="module")
def sentinels() -> Iterator[Sentinels]:
    with formed(Sentinels(kinds()[0], replicas=1, password="of-sentinels")) as group:
        yield group


@pytest.fixture(scope="module")
def cluster() -> Iterator[Clustered]:
    with formed(Clustered(kinds()[-1])) as group:
        yield group


@pytest.fixture
def group(request: pytest.FixtureRequest) -> Sentinels | Clustered:
    chosen: Sentinels | Clustered = request.getfixturevalue(request.param)
    return chosen


@pytest.fixture
async def make_store() -> AsyncIterator[MakeStore]:
    prefix = next(_PREFIXES)
    async with contextlib.AsyncExitStack() as stores:

        def make(group: Any, **settings: int) -> Store:
            store = Store(StoreSettings(url=group.url, prefix=prefix, **{**PATIENT, **settings}))
            stores.push_async_exit(store)
            return store

        yield make


def room_in_each_partition() -> list[RoomId]:
    return [new_room(partition) for partition in range(PARTITIONS)]


class Ear:
    """The versions of one room, read from the log after a gap."""

    def __init__(self, store: Store, room: RoomId) -> None:
        self._store, self._room = store, room
        self.versions: set[int] = set()
        self.gaps = 0
        self._rereading: set[asyncio.Task[None]] = set()

    def __call__(self, heard: Heard) -> None:
        if isinstance(heard, Gap):
            self.gaps += 1
            self._rereading.add(asyncio.create_task(self._reread()))
        else:
            self.versions.add(heard.entry.version)  # type: ignore[union-attr]

    async def _reread(self) -> None:
        self.versions |= {entry.version for entry in await self._store.rooms.log(self._room)}

    async def knows(self, last: int) -> bool:
        return self.versions >= set(range(2, last + 1))


@BOTH
async def test_rooms_of_every_partition_are_committed_heard_and_read_by_another_process(
    group: Any, make_store: MakeStore
) -> None:
    writer, reader = make_store(group), make_store(group)
    rooms = room_in_each_partition()
    first = await asyncio.gather(*(made(writer.rooms, room, turn(60_000), listing=b"here") for room in rooms))
    ears = [Ear(reader, room) for room in rooms]
    await asyncio.gather(*(reader.hub.subscribe(room, ear) for room, ear in zip(rooms, ears, strict=True)))
    for servers in group.servers:
        with contextlib.closing(servers.client()) as client:
            client.script_flush()
    await asyncio.gather(
        *(extended(writer.rooms, room, at.head, outbox=b"result") for room, at in zip(rooms, first, strict=True))
    )
    for room, ear in zip(rooms, ears, strict=True):
        await until(lambda ear=ear: ear.knows(2))  # type: ignore[misc]
        assert ear.gaps == 0
        assert [entry.version for entry in await reader.rooms.log(room)] == [1, 2]
    assert set(await reader.rooms.open_rooms()) == set(rooms)
    assert (await reader.outbox.counts()).waiting == PARTITIONS


@BOTH
async def test_a_sweep_finds_what_is_due_in_every_partition(group: Any, make_store: MakeStore) -> None:
    store = make_store(group)
    rooms = room_in_each_partition()
    await asyncio.gather(*(made(store.rooms, room, turn(1)) for room in rooms))

    async def all_due() -> bool:
        return {due.room for due in (await store.sweep.sweep()).due} == set(rooms)

    await until(all_due)


@BOTH
async def test_what_belongs_to_no_room_works_as_on_one_server(group: Any, make_store: MakeStore) -> None:
    store = make_store(group)
    pipelines = store.pipelines
    await check_tickets(TicketStore(pipelines, 20_000), ClaimStore(pipelines, 20_000, 10_000))
    await check_players(pipelines)
    await check_fleet(store.fleet)
    await check_scoring(pipelines)
    room = new_room()
    entry = Entry(ANA, StreamId("s"), ProcessId("p"))
    assert await store.presence.enter(room, entry)
    assert await store.presence.entries(room) == [entry]


async def check_scoring(pipelines: Pipelines) -> None:
    scoring, boards, ledgers = ScoringStore(pipelines, 365), Boards(pipelines), Ledgers(pipelines)
    assert await count(scoring) == Applied(1, repeated=False)
    assert await lines(scoring, boards) == [(1, ANA, 1), (2, BEN, 0)]
    assert (await ledgers.open_season(POOL, "s1", "First")).kind == DONE
    assert await ledgers.void(POOL, "m_1") == (3, False)
    rebuilds = Rebuilds(pipelines)
    build = await rebuilds.begin(POOL)
    assert build is not None
    eve = Entrant("000000009")
    await rebuilds.write_standings(build, {eve: b"1"})
    await rebuilds.write_board(build, "all", 0, {eve: change_of(1)})
    assert await rebuilds.swap(build, 3) == SWAPPED
    await rebuilds.end(build, keep=build.generation)
    assert [line.entrant for line in (await boards.page(POOL, "all", 0, 10)).lines] == [eve]
    assert await ledgers.forget(POOL, ANA)


async def check_tickets(tickets: TicketStore, claims: ClaimStore) -> None:
    asked = [Request(f"t_{name}", (Member(name, "A"),), b"wish", b"", b"digest") for name in (ANA, BEN)]
    opened = [await tickets.open(request) for request in asked]
    assert abs(await claims.now_ms() - opened[0].ticket.created_ms) < 20_000
    claim = await claims.claim(Claim("m", (Claimed("t_p_ana", (ANA,)), Claimed("t_p_ben", (BEN,))), b"plan"))
    assert claim is not None
    assert await claims.assign(claim, new_room(), ((0,), (1,)))
    seen = await tickets.see("t_p_ben", BEN)
    assert seen is not None
    assert (seen.state, seen.seats) == (TicketState.ASSIGNED, (1,))


async def check_players(pipelines: Pipelines) -> None:
    players = PlayerStore(pipelines, guest_days=1)
    assert await players.put(Profile(ANA, "Ana", guest=True))
    await players.open_session(ANA, "s", b"one")
    assert await players.rotate_session(ANA, "s", b"one", b"two")
    invites = InviteIndex(pipelines)
    await invites.put("hash", Invite(RoomId("r"), 1))
    assert await invites.find("hash") == Invite(RoomId("r"), 1)
    revoked = RevocationStore(pipelines, 60_000)
    await revoked.end_session(ANA, "s")
    assert [ended.session for ended in (await revoked.changes(0, -1)).ended] == ["s"]
    assert (await LimitStore(pipelines).charge("act", "p_ana", Rate(1.0, 1))).within


async def check_fleet(fleet: Fleet) -> None:
    await fleet.announce(ProcessId("p"), b"about")
    assert await fleet.running() == {ProcessId("p"): b"about"}


@BOTH
async def test_every_primary_says_how_it_is_set_up(group: Any, make_store: MakeStore) -> None:
    states = await server_states(make_store(group).pipelines)
    assert len(states) == (1 if isinstance(group, Sentinels) else 3)
    for state in states.values():
        lacking = ["min-replicas-to-write"] if state.replicas else []
        assert [complaint.split()[0] for complaint in state.complaints()] == lacking
        assert state.role == "master"


@pytest.mark.parametrize(("needed", "confirmed"), [(1, True), (2, False)])
async def test_a_commit_is_accepted_only_when_enough_replicas_have_it(
    sentinels: Sentinels, make_store: MakeStore, needed: int, confirmed: bool
) -> None:
    store = make_store(sentinels, replicas_to_wait=needed, **({} if confirmed else {"replica_timeout_ms": 300}))
    room = new_room()
    request = commit(room, None)
    if confirmed:
        assert isinstance(await store.rooms.commit(request), Committed)
        with contextlib.closing(sentinels.servers[1].client()) as replica:
            assert replica.exists(store.pipelines.keys.room(room).room)
        return
    for _ in range(2):  # a repeat is not confirmed either, though it finds its own work
        with pytest.raises(StoreUnavailable, match="replicas") as unknown:
            await store.rooms.commit(request)
        assert unknown.value.maybe_applied
    assert (await store.rooms.head(room)) == Head(1, request.mark)


REPEATED: dict[str, Callable[[Pipelines], Awaitable[Any]]] = {
    "the same result": lambda of: count(ScoringStore(of, 1), "m_waits"),
    "what became of a result": lambda of: ScoringStore(of, 1).counted(POOL, "m_waits", b"first"),
    "a match that is void": lambda of: Ledgers(of).void(POOL, "m_waits"),
    "a season that is open": lambda of: Ledgers(of).open_season(POOL, "s_1", "One"),
    "a refresh token": lambda of: PlayerStore(of, 1).rotate_session(ANA, "s_waits", b"a" * 32, b"b" * 32),
    "a report": lambda of: ReportStore(of, 1).put("r_waits", Complaint(RoomId("r"), ANA, BEN, "Ben", 1, "")),
    "a closed report": lambda of: ReportStore(of, 1).close("r_waits", "operator", "nothing"),
}
"""What was done already, as a client asks for it that had no answer."""


async def test_a_repeat_that_finds_its_work_done_is_confirmed_only_when_a_replica_has_that(
    sentinels: Sentinels, make_store: MakeStore
) -> None:
    alone, patient = make_store(sentinels), make_store(sentinels, replicas_to_wait=1)
    waiting = make_store(sentinels, replicas_to_wait=1, replica_timeout_ms=100)
    await PlayerStore(alone.pipelines, 1).open_session(ANA, "s_waits", b"a" * 32)
    replica, believed = sentinels.servers[1], []
    for do in REPEATED.values():
        await do(alone.pipelines)
    replica.freeze()
    try:
        for what, again in REPEATED.items():
            with contextlib.suppress(StoreUnavailable):
                believed.append((what, await again(waiting.pipelines)))
    finally:
        replica.thaw()
    assert believed == []
    for again in REPEATED.values():
        await again(patient.pipelines)


@pytest.mark.parametrize("needed", [1])
async def test_on_a_cluster_the_replicas_of_the_primary_that_wrote_are_waited_for(
    cluster: Clustered, make_store: MakeStore, needed: int
) -> None:
    store = make_store(cluster, replicas_to_wait=needed, replica_timeout_ms=200)
    with pytest.raises(StoreUnavailable, match="replicas"):
        await made(store.rooms, new_room())


async def test_when_sentinel_changes_the_primary_commits_go_on_and_nothing_is_missed(make_store: MakeStore) -> None:
    """The old primary lives on as a replica: its connections must be left, since it refuses writes."""
    with formed(Sentinels(kinds()[-1], replicas=1, sentinels=1)) as group:
        writer, reader = make_store(group, replicas_to_wait=1, replica_timeout_ms=2_000), make_store(group)
        rooms = [new_room() for _ in range(10)]
        ears = {room: Ear(reader, room) for room in rooms}
        for room in rooms:
            await made(writer.rooms, room)
            await reader.hub.subscribe(room, ears[room])
        old, new = group.servers
        with contextlib.closing(redis.Redis(port=group.ports[0])) as sentinel:
            wait_for(lambda: bool(sentinel.sentinel_failover("rooms")))  # refused until it has seen the replica
        playing = asyncio.gather(*(play_until(writer, room, lambda: is_primary(new)) for room in rooms))
        await until(lambda: promoted(new))
        with contextlib.closing(old.client()) as client:
            client.replicaof("127.0.0.1", str(new.port))  # as Sentinel does some seconds later
        for room, last in zip(rooms, await playing, strict=True):
            await until(lambda room=room, last=last: ears[room].knows(last))  # type: ignore[misc]
            assert [entry.version for entry in await writer.rooms.log(room)] == list(range(1, last + 1))
        assert not is_primary(old)


async def promoted(server: Server) -> bool:
    return is_primary(server)


def is_primary(server: Server) -> bool:
    with contextlib.closing(server.client()) as client:
        return bool(client.info("replication")["role"] == "master")


async def play_until(store: Store, room: RoomId, reached: Any, more: int = 3) -> int:
    """Commits one version after another until `reached`, and `more` after that; the last version."""
    left = more
    while left:
        stored = await readable(store, room)
        with contextlib.suppress(StoreUnavailable):
            result = await store.rooms.commit(commit(room, stored))
            last = stored.version + 1
            # Between two primaries the state may have been read from one and be compared by the other.
            left -= isinstance(result, Committed) and bool(reached())
    return last


async def readable(store: Store, room: RoomId) -> Head:
    while True:
        with contextlib.suppress(StoreUnavailable):
            head = await store.rooms.head(room)
            assert head is not None
            return head
        await asyncio.sleep(0.01)


async def test_a_slot_that_moves_to_another_primary_takes_its_rooms_along(
    cluster: Clustered, make_store: MakeStore
) -> None:
    writer, reader = make_store(cluster), make_store(cluster)
    room, later, elsewhere = new_room(17), new_room(17), new_room(200)
    assert partition_of(later) == 17
    ears = {each: Ear(reader, each) for each in (room, elsewhere)}
    heads = {each: (await made(writer.rooms, each)).head for each in ears}
    for each, ear in ears.items():
        await reader.hub.subscribe(each, ear)
    keys = writer.pipelines.keys
    slot = key_slot(keys.room(room).room.encode())
    clients = [server.client() for server in cluster.servers]
    owner = next(client for client in clients if command(client, "COUNTKEYSINSLOT", slot))
    target = next(client for client in clients if client is not owner)
    ids = [command(client, "MYID").decode() for client in (owner, target)]
    command(target, "SETSLOT", slot, "IMPORTING", ids[0])
    command(owner, "SETSLOT", slot, "MIGRATING", ids[1])
    stored = await writer.rooms.head(room)
    assert stored == heads[room], "what has not moved yet is read where it is"
    assert await writer.rooms.head(later) is None, "what is not there is asked for at the target"
    port = cluster.servers[clients.index(target)].port
    while moving := command(owner, "GETKEYSINSLOT", slot, 100):
        owner.migrate("127.0.0.1", port, moving, 0, 1_000)
    assert await writer.rooms.head(room) == heads[room], "nor is what has moved lost sight of"
    # Redis takes no command of several keys now, of which some may be here and some there.
    with pytest.raises(StoreUnavailable) as refusal:
        await writer.rooms.commit(commit(room, heads[room]))
    assert not refusal.value.maybe_applied
    for client in clients:
        command(client, "SETSLOT", slot, "NODE", ids[1])
    await until(lambda: heard_of_gap(ears[room], writer))
    for each in ears:
        for _ in range(3):
            heads[each] = (await extended(writer.rooms, each, heads[each])).head
        await until(lambda each=each: ears[each].knows(heads[each].version))  # type: ignore[misc]
    for client in clients:
        client.close()


async def heard_of_gap(ear: Ear, store: Store) -> bool:
    await store.sweep.sweep()
    return ear.gaps > 0


async def test_a_dead_primary_of_a_cluster_holds_up_its_own_rooms_only_until_its_replica_takes_over(
    make_store: MakeStore,
) -> None:
    with formed(Clustered(kinds()[0], primaries=3, replicated=1)) as group:
        store, reader = make_store(group, replicas_to_wait=0), make_store(group)
        rooms = [new_room(partition) for partition in range(0, PARTITIONS, 8)]
        ears = {room: Ear(reader, room) for room in rooms}
        for room in rooms:
            await made(store.rooms, room, turn(1))
            await reader.hub.subscribe(room, ears[room])
        with contextlib.closing(group.servers[0].client()) as client:
            room_keys = {room: store.pipelines.keys.room(room).room for room in rooms}
            its = {room for room, key in room_keys.items() if is_own(client, key)}
        assert its
        assert its < set(rooms)
        group.servers[0].kill()
        swept = await store.sweep.sweep(limit=64)
        assert {due.room for due in swept.due} == set(rooms) - its
        for room in set(rooms) - its:
            await extended(store.rooms, room, await readable(store, room))
        await asyncio.gather(*(play_until(store, room, lambda: True) for room in rooms))
        for room in rooms:
            last = (await readable(store, room)).version
            await until(lambda room=room, last=last: ears[room].knows(last))  # type: ignore[misc]


async def test_a_frozen_primary_of_a_cluster_stops_nobody_elses_clock(make_store: MakeStore) -> None:
    """Until it is given up for dead, a sweep waits for it: longer than the pulse of the others may be late."""
    with formed(Clustered(kinds()[0])) as group:
        store = make_store(group, command_timeout_ms=4_000)
        rooms = {partition_of(room): room for room in room_in_each_partition()}
        await asyncio.gather(*(made(store.rooms, room, turn(60_000)) for room in rooms.values()))
        await store.sweep.sweep()
        group.servers[1].freeze()
        swept = [await store.sweep.sweep() for _ in range(2)]
        group.servers[1].thaw()
        assert [each.outages for each in swept] == [(), ()]


def is_own(client: redis.Redis, key: str) -> bool:
    try:
        return bool(client.exists(key))
    except redis.ResponseError:
        return False


async def test_a_cluster_asked_as_a_single_server_says_what_is_wrong(cluster: Clustered) -> None:
    url = f"redis://127.0.0.1:{cluster.servers[0].port}"
    async with Store(StoreSettings(url=url)) as store:
        with pytest.raises(Redirected, match="key is at another node"):
            await asyncio.gather(*(store.rooms.head(room) for room in room_in_each_partition()))


async def test_nobody_there_is_unavailable_and_not_an_error_of_ours(make_store: MakeStore) -> None:
    for scheme, rest in (("redis+sentinel", "/rooms"), ("redis+cluster", "")):
        url = f"{scheme}://127.0.0.1:1,127.0.0.1:2{rest}"
        async with Store(StoreSettings(url=url, connect_timeout_ms=100, command_timeout_ms=200)) as store:
            with pytest.raises(StoreUnavailable) as refusal:
                await made(store.rooms, new_room())
            assert not refusal.value.maybe_applied
            with pytest.raises(StoreUnavailable):
                await store.hub.subscribe(new_room(), print)


async def test_a_primary_that_no_sentinel_knows_is_unavailable_by_its_name(sentinels: Sentinels) -> None:
    async with Store(StoreSettings(url=sentinels.url.replace("/rooms", "/tables"))) as store:
        with pytest.raises(StoreUnavailable, match="tables"):
            await made(store.rooms, new_room())


def test_nothing_connects_before_it_is_used() -> None:
    assert primaries(StoreSettings(url="redis+cluster://nowhere.example:7000")).all() == ()


def test_replicas_follow_their_primary() -> None:
    with formed(Replicated(kinds()[0], replicas=1)) as group:
        assert group.primary() is group.servers[0]
