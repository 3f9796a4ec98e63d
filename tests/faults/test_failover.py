"""The primary dies, is cut off or freezes, and Sentinel puts a replica in its place: no accepted action is lost and
play goes on.

Three servers and three Sentinels; the processes wait for one replica (WAIT 1) where a primary dies, for both (WAIT 2)
where it comes back, and a primary with no replica takes no writes (min-replicas-to-write 1). Each promise has its
controls with one of these off. What WAIT for one of two replicas leaves open is told in docs/redis.md.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from maumau.v1 import authority_pb2_grpc

from services.local.stack import Stack
from services.runtime.routes import GAME_AUTHORITY
from services.store.assembly import Store
from services.store.connect import StoreSettings
from services.store.errors import StoreError
from services.store.keys import RoomId
from services.store.records import Committed, Head
from tests.e2e.calls import channel_to, duel
from tests.e2e.eventually import eventually
from tests.e2e.playing import Match, Party, get_on, party
from tests.e2e.stacks import complaints, options, with_authority
from tests.faults.acting import Insistent
from tests.faults.checker import Finding, Kind
from tests.faults.history import History, Outcome, read_records
from tests.faults.record import Promise
from tests.faults.rig import findings
from tests.faults.scale import PATIENCE, SIZE, SIZES, count
from tests.groups import Sentinels, formed
from tests.servers import Server, kinds
from tests.store.making import commit, new_room

pytestmark = PATIENCE

SAFE = ("--min-replicas-to-write", "1", "--min-replicas-max-lag", "2")
MATCHES = (Match(2, options={"match.target": 200}), Match(2, 1, options={"match.target": 100}))
"""A player needs three rounds for 200 points, so that the primary dies before both have ended, whatever is dealt."""
TRIALS = count(1, 10, 20)
CUT_OFF = count(0, 3, 5)
"""In so many of the trials the replicas are cut off for a while before the primary dies."""
ACTS_BEFORE, ACTS_CUT_OFF = count(10, 20, 20), 10
RECOVERED_SECONDS = 5.0
ALL_REPLICAS = 2
FROZEN_SECONDS = 4.0
PROMOTED_SECONDS = 60.0
"""Sentinels look at a returning primary for 8 s before they make a replica of it."""
WRITERS, CLINGING = 16, 8
AUTHORITIES = (f"{GAME_AUTHORITY}-1", f"{GAME_AUTHORITY}-2")
"""The second is the one that knows the old primary only."""


@contextlib.contextmanager
def served(group: Sentinels, var_dir: Path, wait: int = 1, **changed: Any) -> Iterator[Stack]:
    """The whole server on the group."""
    environ = {"MAUMAU_REDIS_WAIT_REPLICAS": str(wait), "MAUMAU_BOOKMARK_SECONDS": "1"}
    with Stack(options(var_dir, redis_url=group.url, environ=environ, **changed)) as stack:
        yield stack


@pytest.fixture(scope="module")
def safe() -> Iterator[Sentinels]:
    with formed(Sentinels(kinds()[0], *SAFE)) as group:
        yield group


@contextlib.asynccontextmanager
async def parties(stack: Stack, history: History, name: str) -> AsyncIterator[list[Party]]:
    """Rooms whose matches have just started."""
    async with contextlib.AsyncExitStack() as opened:
        played = [
            await opened.enter_async_context(party(stack.address, match, history, f"{name}{number}"))
            for number, match in enumerate(MATCHES)
        ]
        for players in played:
            await players.start()
        yield played


def recovery_seconds(history: History, since: int) -> float:
    """From that moment (ns) to the first answer to a call that was made after it."""
    calls = read_records([history.path]).calls
    answers = [call.returned for call in calls if call.outcome is Outcome.ACCEPTED and call.called > since]
    return (min(answer for answer in answers if answer is not None) - since) / 1e9


async def cut_off(group: Sentinels, primary: Server, history: History, *, accepted: bool) -> list[Server]:
    """Ends the replicas' connections and freezes them, so that what is written now is on the primary alone."""
    replicas = [server for server in group.servers if server is not primary]
    before = history.accepted
    for replica in replicas:
        replica.freeze()
    with contextlib.closing(primary.client()) as client:
        client.client_kill_filter(_type="replica")
    if accepted:
        await eventually(lambda: history.accepted >= before + ACTS_CUT_OFF, "actions are accepted without a replica")
    else:
        await asyncio.sleep(0.3)  # long enough for many actions to be attempted
    return replicas


async def fail_over(group: Sentinels, history: History, *, cut: bool, wait: int = 1) -> tuple[Server, int]:
    """Kills the primary, at will after its replicas were cut off; which it was, and when (ns)."""
    primary = group.primary()
    frozen = await cut_off(group, primary, history, accepted=not wait) if cut else []
    primary.kill()
    killed = time.monotonic_ns()
    for replica in frozen:
        replica.thaw()
    return primary, killed


@pytest.mark.shows("P9")
async def test_the_death_of_the_primary_loses_no_accepted_action_and_play_goes_on(
    safe: Sentinels, tmp_path: Path, history: History, promise: Promise
) -> None:
    took = []
    with served(safe, tmp_path) as stack:
        for trial in range(TRIALS):
            async with parties(stack, history, f"F{trial}-") as played:
                matches = asyncio.gather(*(players.play() for players in played))
                await get_on(history, ACTS_BEFORE)
                victim, killed = await fail_over(safe, history, cut=trial >= TRIALS - CUT_OFF)
                await matches
                took.append(recovery_seconds(history, killed))
                assert await findings(safe.url, [players.room_id for players in played], history) == []
            await asyncio.to_thread(safe.rejoin, victim)
        assert complaints(stack) == []
    accepted = read_records([history.path]).count(Outcome.ACCEPTED)
    slowest = sorted(took)[round(0.95 * (len(took) - 1))]
    if SIZES[0] != SIZE:
        assert slowest <= RECOVERED_SECONDS
    promise("P9", f"0 lost of {accepted:,} in {TRIALS} failovers; play went on within {slowest:.1f} s (p95)")


@pytest.mark.control("P9")
@pytest.mark.long
async def test_control_without_waiting_for_replicas_losses_are_at_least_told(
    tmp_path: Path, history: History, promise: Promise
) -> None:
    with formed(Sentinels(kinds()[0])) as group, served(group, tmp_path, wait=0) as stack:
        async with parties(stack, history, "W") as played:
            matches = asyncio.gather(*(players.play() for players in played))
            await get_on(history, ACTS_BEFORE)
            await fail_over(group, history, cut=True, wait=0)
            await matches
            rooms = [players.room_id for players in played]
            found = await findings(group.url, rooms, history)
    lost = {(finding.room, finding.version) for finding in found if finding.kind is Kind.LOST}
    told = of_kind(found, Kind.ROLLED_BACK)
    assert lost
    assert len(told) >= sum(len(players.people) for players in played if players.room_id in {room for room, _ in lost})
    promise("P9", f"without WAIT {len(lost)} lost, and {len(told)} clients told of it")


def of_kind(found: Sequence[Finding], kind: Kind) -> list[Finding]:
    return [finding for finding in found if finding.kind is kind]


@pytest.mark.control("P9")
@pytest.mark.long
async def test_control_processes_that_do_not_look_the_primary_up_again_serve_nobody_after_a_failover(
    tmp_path: Path, history: History, promise: Promise
) -> None:
    modules = with_authority("tests.faults.stuck_to_primary")
    with formed(Sentinels(kinds()[0], *SAFE)) as group, served(group, tmp_path, modules=modules) as stack:
        async with parties(stack, history, "S") as played:
            matches = asyncio.gather(*(players.play() for players in played), return_exceptions=True)
            await get_on(history, ACTS_BEFORE)
            victim, _ = await fail_over(group, history, cut=False)
            await eventually(lambda: group.named() != victim.port, "a replica has taken over")
            with pytest.raises(AssertionError, match="the matches get on"):
                await get_on(history, ACTS_BEFORE)
            matches.cancel()
    promise("P9", "with the first answer of the Sentinels for ever, no action is accepted again")


@dataclass
class Pinned:
    """Writers that know one server by its address and ask no Sentinel: what was acknowledged to them, and when."""

    accepted: dict[RoomId, list[tuple[Head, float]]] = field(default_factory=dict)

    @property
    def number(self) -> int:
        return sum(map(len, self.accepted.values()))

    async def write(self, store: Store, room: RoomId) -> None:
        """One version after another, until it is cancelled."""
        heads = self.accepted[room] = []
        head: Head | None = None
        while True:
            try:
                result = await store.rooms.commit(commit(room, head))
            except StoreError:
                head = await self._newest(store, room)
                await asyncio.sleep(0.02)
                continue
            if isinstance(result, Committed):
                heads.append((result.head, time.monotonic()))
                head = result.head
            else:
                head = await self._newest(store, room)

    async def _newest(self, store: Store, room: RoomId) -> Head | None:
        while True:
            with contextlib.suppress(StoreError):
                return await store.rooms.head(room)
            await asyncio.sleep(0.02)

    async def lost(self, store: Store) -> list[float]:
        """When each of the versions was acknowledged that the log of the present primary does not hold."""
        lost = []
        for room, heads in self.accepted.items():
            kept = {(entry.version, entry.mark) for entry in await store.rooms.log(room, limit=100_000)}
            lost += [at for head, at in heads if (head.version, head.mark) not in kept]
        return lost


class Revived(NamedTuple):
    """What came of a primary that was frozen for a while: the writes that were acknowledged to who held on to it, when
    those of them were that are lost (seconds after it woke up), the accepted actions of clients, and what the checker
    says to these."""

    acknowledged: int
    lost: list[float]
    accepted: int
    found: list[Finding]

    @property
    def actions_lost(self) -> int:
        return len(of_kind(self.found, Kind.LOST))


async def freeze_and_revive(
    group: Sentinels, var_dir: Path, history: History, wait: int, *, with_a_replica: bool = False
) -> Revived:
    """Freezes the primary for 4 s or more while people play. Writers of the store, and one of the authorities, hold on
    to it until it is a replica; that authority's people then go on at the other one. `with_a_replica`: one of the
    replicas freezes and wakes up with it, and so has not heard yet that another is the primary now."""
    pinned, old = Pinned(), group.primary()
    frozen = [old, *[server for server in group.servers if server is not old][: int(with_a_replica)]]
    environ_of = {AUTHORITIES[1]: {"MAUMAU_REDIS_URL": f"redis://127.0.0.1:{old.port}"}}
    with served(group, var_dir, wait, environ_of=environ_of) as stack:
        async with contextlib.AsyncExitStack() as opened:
            at = {name: await opened.enter_async_context(rooms_at(stack, name)) for name in AUTHORITIES}
            through = await opened.enter_async_context(channel_to(stack.address))
            played = await opened.enter_async_context(parties(stack, history, "P"))
            clinging = [Insistent(history, await duel(through), at[AUTHORITIES[1]]) for _ in range(CLINGING)]
            acting = asyncio.gather(*(players.play() for players in played), *(one.run() for one in clinging))
            woke = await _freeze(group, frozen, pinned, history, wait)
            for one in clinging:
                one.at = at[AUTHORITIES[0]]
            await get_on(history, ACTS_BEFORE)
            for one in clinging:
                one.stop()
            await acting
        rooms = [*(players.room_id for players in played), *(one.room for one in clinging)]
        async with Store(StoreSettings(url=group.url, prefix="pinned")) as store:
            lost = [moment - woke for moment in await pinned.lost(store)]
        return Revived(pinned.number, lost, history.accepted, await findings(group.url, rooms, history))


async def _freeze(group: Sentinels, frozen: list[Server], pinned: Pinned, history: History, wait: int) -> float:
    """From the first acknowledged writes until the old primary, the first of these, is a replica; when it woke up
    (monotonic)."""
    old = frozen[0]
    # A command outlives the freeze: what waits in the socket is carried out, and answered, when the primary wakes up.
    direct = StoreSettings(
        url=f"redis://127.0.0.1:{old.port}", prefix="pinned", command_timeout_ms=8_000, replicas_to_wait=wait
    )
    async with Store(direct) as store:
        writers = [asyncio.create_task(pinned.write(store, new_room())) for _ in range(WRITERS)]
        await eventually(lambda: pinned.number > 50 * WRITERS, "the writers get on")
        await get_on(history, ACTS_BEFORE)
        for server in frozen:
            server.freeze()
        await asyncio.sleep(FROZEN_SECONDS)
        await eventually(lambda: group.named() != old.port, "a replica has taken over", PROMOTED_SECONDS)
        for server in reversed(frozen):
            server.thaw()
        woke = time.monotonic()
        await eventually(lambda: is_replica(old), "the old primary becomes a replica", PROMOTED_SECONDS)
        for writer in writers:
            writer.cancel()
        await asyncio.gather(*writers, return_exceptions=True)
    return woke


@contextlib.asynccontextmanager
async def rooms_at(stack: Stack, name: str) -> AsyncIterator[authority_pb2_grpc.GameAuthorityServiceStub]:
    """The rooms at one process, without Envoy."""
    async with channel_to(stack.process(name).address) as channel:
        yield authority_pb2_grpc.GameAuthorityServiceStub(channel)


def is_replica(server: Server) -> bool:
    with contextlib.closing(server.client()) as client:
        return bool(client.info("replication")["role"] == "slave")


@pytest.mark.shows("P10")
@pytest.mark.long
async def test_a_frozen_and_revived_primary_costs_no_accepted_action(
    tmp_path: Path, history: History, promise: Promise
) -> None:
    with formed(Sentinels(kinds()[0], *SAFE)) as group:
        revived = await freeze_and_revive(group, tmp_path, history, wait=ALL_REPLICAS)
    assert revived.found == []
    assert revived.lost == []
    promise(
        "P10",
        f"with WAIT for all replicas 0 lost of {revived.acknowledged:,} writes pinned to it and of "
        f"{revived.accepted:,} actions, {CLINGING} rooms at an authority pinned to it",
    )


@pytest.mark.control("P10")
@pytest.mark.long
async def test_control_a_revived_primary_that_needs_no_replica_loses_what_it_acknowledges(
    tmp_path: Path, history: History, promise: Promise
) -> None:
    with formed(Sentinels(kinds()[0])) as group:
        revived = await freeze_and_revive(group, tmp_path, history, wait=0)
    assert revived.lost
    assert revived.actions_lost
    lost = f"{len(revived.lost):,} writes lost of {revived.acknowledged:,}"
    promise("P10", f"without min-replicas and WAIT {lost}, {revived.actions_lost:,} actions of {revived.accepted:,}")


@pytest.mark.control("P10")
@pytest.mark.long
async def test_control_without_wait_a_primary_acknowledges_as_it_wakes_up_what_is_lost(
    tmp_path: Path, history: History, promise: Promise
) -> None:
    """What lay in its sockets is carried out before it hears that its replicas have left it."""
    with formed(Sentinels(kinds()[0], *SAFE)) as group:
        revived = await freeze_and_revive(group, tmp_path, history, wait=0)
    assert revived.lost
    lost = f"{len(revived.lost):,} writes lost of {revived.acknowledged:,}, {revived.actions_lost} actions"
    promise("P10", f"with min-replicas alone {lost}, all within {max(revived.lost) * 1e3:.0f} ms of its waking up")


@pytest.mark.control("P10")
@pytest.mark.long
async def test_control_a_replica_that_does_not_know_yet_confirms_what_is_lost(
    tmp_path: Path, history: History, promise: Promise
) -> None:
    """WAIT 1 is satisfied by a replica that was not the one to take over, as long as Sentinel has not told it."""
    with formed(Sentinels(kinds()[0], *SAFE)) as group:
        revived = await freeze_and_revive(group, tmp_path, history, wait=1, with_a_replica=True)
    assert revived.lost
    lost = f"{len(revived.lost):,} writes lost of {revived.acknowledged:,}, {revived.actions_lost} actions"
    promise("P10", f"with WAIT for one of two replicas, which wakes up with it, {lost}")
