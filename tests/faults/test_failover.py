"""The primary dies, is cut off or freezes, and Sentinel puts a replica in its place: no accepted action is lost and
play goes on.

Three servers and three Sentinels; the processes wait for one replica (WAIT 1), and a primary with no replica takes no
writes (min-replicas-to-write 1). Each promise has its control with one of these off.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from services.local.stack import Stack
from services.store.assembly import Store
from services.store.connect import StoreSettings
from services.store.errors import StoreError
from services.store.keys import RoomId
from services.store.records import Committed, Head
from tests.e2e.eventually import eventually
from tests.e2e.playing import Match, Party, get_on, party
from tests.e2e.stacks import complaints, options, with_authority
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
MATCHES = (Match(2, options={"match.target": 100}), Match(2, 1, options={"match.target": 60}))
TRIALS = count(1, 5, 20)
CUT_OFF = count(0, 2, 5)
"""In so many of the trials the replicas are cut off for a while before the primary dies."""
ACTS_BEFORE, ACTS_CUT_OFF = 20, 10
RECOVERED_SECONDS = 5.0
FROZEN_SECONDS = 4.0
WRITERS = 16


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
    """Writers that know one server by its address and ask no Sentinel: what was acknowledged to them."""

    accepted: dict[RoomId, list[Head]] = field(default_factory=dict)

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
                heads.append(result.head)
                head = result.head
            else:
                head = await self._newest(store, room)

    async def _newest(self, store: Store, room: RoomId) -> Head | None:
        while True:
            with contextlib.suppress(StoreError):
                return await store.rooms.head(room)
            await asyncio.sleep(0.02)

    async def lost(self, store: Store) -> int:
        """How many of the acknowledged versions the log of the present primary does not hold."""
        lost = 0
        for room, heads in self.accepted.items():
            kept = {(entry.version, entry.mark) for entry in await store.rooms.log(room, limit=100_000)}
            lost += sum((head.version, head.mark) not in kept for head in heads)
        return lost


async def freeze_and_revive(group: Sentinels) -> tuple[int, int]:
    """Freezes the primary for 4 s while writers hold on to it; acknowledged and lost after it lives as a replica."""
    primary = group.primary()
    pinned = Pinned()
    # A command outlives the freeze: what waits in the socket is carried out, and answered, when the primary wakes up.
    direct = StoreSettings(url=f"redis://127.0.0.1:{primary.port}", prefix="pinned", command_timeout_ms=8_000)
    async with Store(direct) as store:
        writers = [asyncio.create_task(pinned.write(store, new_room())) for _ in range(WRITERS)]
        await eventually(lambda: pinned.number > 50 * WRITERS, "the writers get on")
        primary.freeze()
        await asyncio.sleep(FROZEN_SECONDS)
        primary.thaw()
        await eventually(lambda: is_replica(primary), "the old primary becomes a replica")
        for writer in writers:
            writer.cancel()
        await asyncio.gather(*writers, return_exceptions=True)
    async with Store(StoreSettings(url=group.url, prefix="pinned")) as store:
        return pinned.number, await pinned.lost(store)


def is_replica(server: Server) -> bool:
    with contextlib.closing(server.client()) as client:
        return bool(client.info("replication")["role"] == "slave")


@pytest.mark.shows("P10")
@pytest.mark.long
async def test_a_frozen_and_revived_primary_costs_no_accepted_action(
    safe: Sentinels, tmp_path: Path, history: History, promise: Promise
) -> None:
    with served(safe, tmp_path) as stack:
        async with parties(stack, history, "P") as played:
            matches = asyncio.gather(*(players.play() for players in played))
            await get_on(history, ACTS_BEFORE)
            acknowledged, lost = await freeze_and_revive(safe)
            await matches
            assert await findings(safe.url, [players.room_id for players in played], history) == []
    assert lost == 0
    promise("P10", f"0 lost of {acknowledged:,} writes pinned to it and of {history.accepted:,} actions")


@pytest.mark.control("P10")
@pytest.mark.long
async def test_control_a_revived_primary_that_needs_no_replica_loses_what_it_acknowledges(promise: Promise) -> None:
    with formed(Sentinels(kinds()[0])) as group:
        acknowledged, lost = await freeze_and_revive(group)
    assert lost > 0
    promise("P10", f"without min-replicas {lost:,} lost of {acknowledged:,}")
