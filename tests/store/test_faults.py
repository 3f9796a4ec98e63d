"""What Redis, the network and impatient callers do to commits."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest

from services.store import scripts
from services.store.assembly import Store
from services.store.connect import StoreSettings
from services.store.errors import OutOfMemory, StoreError, StoreUnavailable
from services.store.keys import RoomId, partition_of
from services.store.records import Committed, Conflict, Head
from tests.servers import Kind, Server, free_port, running
from tests.store.conftest import PATIENT, MakeStore
from tests.store.making import accepted, commit, extended, made, new_room, silence, turn, until, weakened
from tests.store.test_commit import COMPARES


class ReplyLoser:
    """A Unix socket before Redis that can lose a reply: the command arrives, the connection breaks."""

    def __init__(self, server: Server) -> None:
        self._behind = server.folder / "socket"
        self._socket = server.folder / "loser"
        self.losing = False

    @property
    def url(self) -> str:
        return f"unix://{self._socket}"

    @contextlib.asynccontextmanager
    async def open(self) -> AsyncIterator[ReplyLoser]:
        async with await asyncio.start_unix_server(self._serve, self._socket):
            yield self

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        behind, ahead = await asyncio.open_unix_connection(self._behind)
        forward = asyncio.create_task(_copy(reader, ahead))
        while (reply := await behind.read(65_536)) and not self.losing:
            writer.write(reply)
        forward.cancel()
        writer.close()
        ahead.close()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while received := await reader.read(65_536):
        writer.write(received)


@pytest.mark.parametrize("compares", [True, False])
async def test_a_commit_whose_reply_was_lost_takes_effect_once_when_repeated(
    own_server: Server, monkeypatch: pytest.MonkeyPatch, compares: bool
) -> None:
    if not compares:
        monkeypatch.setattr(scripts, "COMMIT", weakened(scripts.COMMIT, COMPARES))
    async with ReplyLoser(own_server).open() as loser, Store(StoreSettings(url=loser.url)) as store:
        room = new_room()
        first = await made(store.rooms, room)
        request = commit(room, first.head, state=b"request 17 is done")
        loser.losing = True
        with pytest.raises(StoreUnavailable) as lost:
            await store.rooms.commit(request)
        assert lost.value.maybe_applied
        loser.losing = False
        again = await store.rooms.commit(request)
        assert isinstance(again, Conflict) == compares
        if isinstance(again, Conflict):
            assert again.newest.head == Head(2, request.mark)
            assert again.newest.state == b"request 17 is done"
        assert len(await store.rooms.log(room)) == (2 if compares else 3)


async def test_commits_go_on_while_redis_forgets_its_scripts(own_server: Server, make_store: MakeStore) -> None:
    store = make_store(own_server, commands_per_batch=16)
    rooms = [new_room() for _ in range(100)]

    async def play(room: RoomId) -> None:
        head = (await made(store.rooms, room)).head
        for _ in range(10):
            head = accepted(await store.rooms.commit(commit(room, head))).head

    async def forget(playing: asyncio.Future[list[None]]) -> None:
        with contextlib.closing(own_server.client()) as client:
            while not playing.done():
                client.script_flush()
                await asyncio.sleep(0)

    playing = asyncio.gather(*(play(room) for room in rooms))
    await forget(playing)
    await playing
    for room in rooms:
        assert [entry.version for entry in await store.rooms.log(room)] == list(range(1, 12))


async def test_only_what_redis_did_not_know_is_sent_again(own_server: Server, make_store: MakeStore) -> None:
    store = make_store(own_server)
    writes = store.pipelines.writes
    with contextlib.closing(own_server.client()) as client:
        client.script_flush()
    room = new_room()
    counts = [writes.command("INCR", "counter") for _ in range(5)]
    committed = asyncio.ensure_future(store.rooms.commit(commit(room, None)))
    counts += [writes.command("INCR", "counter") for _ in range(5)]
    assert await asyncio.gather(*counts) == list(range(1, 11))
    assert isinstance(await committed, Committed)
    # The control: without the script in hand the batcher cannot help itself.
    with pytest.raises(StoreError, match="NOSCRIPT"):
        await writes.command("EVALSHA", "0" * 40, 0)


async def test_a_caller_that_gives_up_takes_nothing_from_the_others(make_store: MakeStore) -> None:
    store = make_store(commands_per_batch=8)
    rooms = [new_room() for _ in range(200)]
    tasks = [asyncio.create_task(store.rooms.commit(commit(room, None, state=room.encode()))) for room in rooms]
    await asyncio.sleep(0)
    for step, task in enumerate(tasks):
        if step % 3 == 0:
            task.cancel()
        if step % 20 == 0:
            await asyncio.sleep(0)
    results = await asyncio.gather(*tasks, return_exceptions=True)
    for step, (room, result) in enumerate(zip(rooms, results, strict=True)):
        snapshot = await store.rooms.read(room)
        if isinstance(result, Committed):
            assert snapshot is not None
            assert (snapshot.head, snapshot.state) == (result.head, room.encode())
        else:
            assert step % 3 == 0
            assert isinstance(result, asyncio.CancelledError)
            assert snapshot is None or snapshot.head.version == 1
    assert sum(isinstance(result, Committed) for result in results) >= 133


async def test_a_command_given_up_before_it_was_sent_never_is(store: Store) -> None:
    room = new_room()
    first = await made(store.rooms, room)
    before = asyncio.create_task(store.rooms.commit(commit(room, first.head)))
    waiting = asyncio.create_task(store.rooms.commit(commit(room, None)))
    await asyncio.sleep(0)
    waiting.cancel()
    second = accepted(await before)
    assert (await store.rooms.head(room)) == second.head
    assert await asyncio.gather(waiting, return_exceptions=True)


async def test_commands_of_one_lane_keep_their_order_over_many_batches(make_store: MakeStore, prefix: str) -> None:
    writes = make_store(commands_per_batch=4, batches=4).pipelines.writes
    pushes = [
        writes.command("RPUSH", f"{prefix}:list{lane}", number, lane=f"lane{lane}")
        for number in range(20)
        for lane in range(10)
    ]
    await asyncio.gather(*pushes)
    for lane in range(10):
        stored = await writes.command("LRANGE", f"{prefix}:list{lane}", 0, -1)
        assert [int(number) for number in stored] == list(range(20))


@pytest.mark.parametrize("append_only", ["yes", "no"])
async def test_killing_redis_loses_no_acknowledged_commit(kind: Kind, append_only: str) -> None:
    with running(kind, "--appendonly", append_only) as server:
        async with Store(StoreSettings(url=server.url, **PATIENT)) as store:
            acknowledged: dict[RoomId, Head] = {}

            async def play(room: RoomId) -> None:
                head = acknowledged[room] = (await made(store.rooms, room, turn(30_000))).head
                with contextlib.suppress(StoreUnavailable):
                    while True:
                        head = acknowledged[room] = accepted(await store.rooms.commit(commit(room, head))).head

            playing = [asyncio.create_task(play(new_room())) for _ in range(50)]
            await until(lambda: versions_reached(acknowledged, 5))
            server.kill()
            await asyncio.gather(*playing)
            server.start()
            kept = {room: await store.rooms.log(room) for room in acknowledged}
            if append_only == "no":
                assert all(not entries for entries in kept.values())
                return
            for room, head in acknowledged.items():
                versions = [entry.version for entry in kept[room]]
                assert versions == list(range(1, len(versions) + 1))
                # The last one may have been written and its acknowledgement lost.
                assert len(versions) - head.version in (0, 1)
                assert kept[room][head.version - 1].mark == head.mark
                stored = await store.rooms.head(room)
                assert stored is not None
                assert stored.version == len(versions)
                await extended(store.rooms, room, stored)


async def versions_reached(heads: dict[RoomId, Head], version: int) -> bool:
    return len(heads) == 50 and all(head.version >= version for head in heads.values())


async def test_a_frozen_redis_is_told_within_the_command_timeout(own_server: Server, make_store: MakeStore) -> None:
    store = make_store(own_server, command_timeout_ms=200, replica_timeout_ms=100)
    patient, room = make_store(own_server), new_room()
    first = await made(patient.rooms, room)
    request = commit(room, first.head)
    await until(lambda: answers(store, room))
    own_server.freeze()
    with pytest.raises(StoreUnavailable) as refusal:
        await store.rooms.commit(request)
    assert refusal.value.maybe_applied
    own_server.thaw()
    again = await patient.rooms.commit(request)
    assert isinstance(again, Committed) or again.newest.head.mark == request.mark  # type: ignore[union-attr]


async def answers(store: Store, room: RoomId) -> bool:
    """Whether it is connected by now."""
    with contextlib.suppress(StoreUnavailable):
        return await store.rooms.head(room) is not None
    return False


async def test_without_redis_nothing_can_have_been_applied(own_server: Server, make_store: MakeStore) -> None:
    store = make_store(own_server)
    own_server.kill()
    with pytest.raises(StoreUnavailable) as refusal:
        await store.rooms.commit(commit(new_room(), None))
    assert not refusal.value.maybe_applied
    own_server.start()
    await made(store.rooms, new_room())


async def test_a_full_redis_refuses_new_versions_whole_and_still_reads(
    own_server: Server, make_store: MakeStore
) -> None:
    store = make_store(own_server)
    room = new_room()
    first = await made(store.rooms, room, turn(30_000))
    with contextlib.closing(own_server.client()) as client:
        silence(client, store.pipelines.keys, room, 1_000)  # so that the next sweep writes a pulse
        client.config_set("maxmemory", 1)
        with pytest.raises(OutOfMemory):
            await store.rooms.commit(commit(room, first.head, turn(90_000), outbox=b"x"))
        snapshot = await store.rooms.read(room)
        assert snapshot is not None
        assert (snapshot.head, snapshot.clock.deadline) == (first.head, first.clock.deadline)
        assert len(await store.rooms.log(room)) == 1
        assert (await store.outbox.counts()).waiting == 0
        with pytest.raises(OutOfMemory):  # whoever sweeps goes on all the same
            await store.sweep.sweep([partition_of(room)])
        client.config_set("maxmemory", 0)
    await extended(store.rooms, room, first.head)


async def test_a_demoted_primary_is_left_for_good(own_server: Server, make_store: MakeStore) -> None:
    store = make_store(own_server)
    room = new_room()
    first = await made(store.rooms, room)
    with contextlib.closing(own_server.client()) as client:
        connected: int = client.info("stats")["total_connections_received"]
        client.replicaof("127.0.0.1", str(free_port()))
        with pytest.raises(StoreUnavailable) as refusal:
            await store.rooms.commit(commit(room, first.head))
        assert not refusal.value.maybe_applied
        client.replicaof("NO", "ONE")
        await extended(store.rooms, room, first.head)
        assert client.info("stats")["total_connections_received"] == connected + 1


@pytest.mark.parametrize("waits", [True, False])
async def test_with_replicas_a_commit_that_no_replica_has_is_not_acknowledged(
    kind: Kind, make_store: MakeStore, waits: bool
) -> None:
    with (
        running(kind, "--repl-diskless-sync-delay", "0", port=free_port()) as primary,
        running(kind, *replica_of(primary)) as replica,
    ):
        store = make_store(primary, replicas_to_wait=int(waits), replica_timeout_ms=300)
        other = make_store(primary, replicas_to_wait=int(waits), replica_timeout_ms=300)
        patient = make_store(primary, replicas_to_wait=int(waits))
        await until(lambda: confirms(primary))
        room = new_room()
        first = await made(patient.rooms, room)
        replica.freeze()
        request = commit(room, first.head)
        if not waits:
            assert isinstance(await store.rooms.commit(request), Committed)
            return
        with pytest.raises(StoreUnavailable) as refusal:
            await store.rooms.commit(request)
        assert refusal.value.maybe_applied
        # Nor is it confirmed by repeating it over another connection.
        with pytest.raises(StoreUnavailable):
            await other.rooms.commit(request)
        replica.thaw()
        again = await patient.rooms.commit(request)
        assert isinstance(again, Conflict)
        assert again.newest.head.mark == request.mark


def replica_of(primary: Server) -> tuple[str, ...]:
    return ("--replicaof", f"127.0.0.1 {primary.port}")


async def confirms(primary: Server) -> bool:
    """Whether a replica is there and answers. A fresh one counts as online some time before that."""
    with contextlib.closing(primary.client()) as client:
        client.set("probe", 1)
        return bool(client.wait(1, 100) == 1)


async def test_a_closed_store_refuses_and_waits_for_what_was_sent(server: Server, prefix: str) -> None:
    store = Store(StoreSettings(url=server.url, prefix=prefix))
    room = new_room()
    sent = asyncio.create_task(store.rooms.commit(commit(room, None)))
    await store.rooms.head(new_room())
    await store.aclose()
    assert isinstance(await sent, Committed)
    with pytest.raises(StoreUnavailable):
        await store.rooms.commit(commit(room, None))
