"""Our outage never costs a player a turn: all authorities or Redis are away for longer than a turn lasts, or one
authority is killed when a seat has a second left.

Controls: scripts that do not credit outages, and a server without the grace for streams that broke off.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from services.local.stack import Stack
from services.rules.room.actions import Timeout
from services.rules.room.journal import decode_entry
from services.runtime.routes import GAME_AUTHORITY
from services.store.assembly import Store
from services.store.connect import StoreSettings
from services.store.keys import RoomId, partition_of
from services.store.records import LogEntry
from tests.e2e.eventually import eventually
from tests.e2e.stacks import complaints, options, with_authority
from tests.faults.record import Promise
from tests.faults.scale import PATIENCE, USUAL, count
from tests.faults.sitting import Table, sitting

pytestmark = PATIENCE

TABLES = count(3, 30, 100)
AWAY_SECONDS = count(6, 20, 20)
"""Longer than a turn, and than a pulse may be late."""
ONE_SECOND_MS = 1_000
AUTHORITIES = (f"{GAME_AUTHORITY}-1", f"{GAME_AUTHORITY}-2")
GRACE_SECONDS = 10
"""What the server's settings say."""
MODULES = with_authority("tests.faults.uncredited_rooms")


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with Stack(options(tmp_path_factory.mktemp("stack"))) as running:
        yield running
        assert complaints(running) == []


class Turn(NamedTuple):
    """A turn that runs: its table, the newest version there, and the time that is left at some moment, in ms."""

    table: Table
    version: int
    left_ms: float


async def turns(store: Store, made: list[Table], at_ms: float | None = None) -> list[Turn]:
    """Of all tables, with what is left of them at this moment, or now."""
    found = [await store.rooms.glance(RoomId(table.room)) for table in made]
    return [
        Turn(table, seen[0].version, seen[1].deadline - (seen[1].now if at_ms is None else at_ms))
        for table, seen in zip(made, found, strict=True)
        if seen is not None
    ]


async def still(stack: Stack, names: tuple[str, ...]) -> float:
    """These processes stand still for a while; when all had stopped, in ms."""
    for name in names:
        stack[name].pause()
    stopped = await _passes()
    for name in names:
        stack[name].resume()
    return stopped


async def dead(stack: Stack, names: tuple[str, ...]) -> float:
    """These processes die and are started again after a while; when all had died, in ms."""
    for name in names:
        stack[name].restart = False
        stack[name].kill()
    stopped = await _passes()
    for name in names:
        stack[name].restart = True
    return stopped


async def _passes() -> float:
    """The outage lasts."""
    began = time.time()
    await eventually(lambda: time.time() - began > AWAY_SECONDS, "the outage lasts", AWAY_SECONDS + 10)
    return began * 1000


class Survived(NamedTuple):
    """What became of a turn: what was left of it when the outage began and ended, in ms; whether the clock took it."""

    before: float
    after: float
    forfeited: bool


async def survived(store: Store, turn: Turn) -> Survived:
    """Once something has happened at the table: a credit, or a timeout."""

    async def next_entry() -> LogEntry | None:
        return next(iter(await store.rooms.log(RoomId(turn.table.room), turn.version, 1)), None)

    entry: LogEntry = await eventually(next_entry, "the clock of the table goes on")
    action = decode_entry(entry.payload).action
    outages = await store.sweep.outages(partition_of(RoomId(turn.table.room)))
    ended = outages[-1].ended if outages else entry.time
    return Survived(turn.left_ms, entry.clock.deadline - ended, isinstance(action, Timeout))


async def killed_in_the_last_second(stack: Stack) -> list[Survived]:
    """The turns at tables where everybody's stream was at the authority that was killed."""
    at = stack.process(AUTHORITIES[0]).address
    async with (
        Store(StoreSettings(url=stack.redis_url)) as store,
        sitting(stack.address, TABLES, watched_at=at) as made,
    ):

        async def last_second() -> list[Turn]:
            now = await turns(store, made)
            return now if min(turn.left_ms for turn in now) <= ONE_SECOND_MS else []

        before: list[Turn] = await eventually(last_second, "a second is left")
        stack[AUTHORITIES[0]].kill()
        killed = time.time() * 1000
        await asyncio.to_thread(stack.wait_ready)
        people = [person for table in made for person in table.people]
        await eventually(lambda: all(person.breaks for person in people), "all streams break off")
        return [await returned(store, turn, killed) for turn in before if await outlasts(store, turn, killed)]


async def outlasts(store: Store, turn: Turn, moment: float) -> bool:
    """Whether the turn ran still at that moment: on a slow machine one may be over before the outage."""
    log = await store.rooms.log(RoomId(turn.table.room), turn.version, 1)
    return all(entry.time > moment for entry in log)


async def returned(store: Store, turn: Turn, killed: float) -> Survived:
    """What became of a turn in whose last second the streams of its people broke off."""
    people = turn.table.people
    await eventually(lambda: all(person.returns == person.breaks for person in people), "both are back")

    async def decided() -> Turn | None:
        (now,) = await turns(store, [turn.table])
        return now if now.version > turn.version or now.left_ms > turn.left_ms else None

    now: Turn = await eventually(decided, "the turn is over, or has more time")
    log = await store.rooms.log(RoomId(turn.table.room), turn.version, 1)
    ends = killed + GRACE_SECONDS * 1000
    forfeited = any(isinstance(decode_entry(e.payload).action, Timeout) and e.time < ends for e in log)
    return Survived(turn.left_ms, now.left_ms, forfeited)


@pytest.mark.shows("P18")
async def test_a_kill_in_the_last_second_costs_nobody_a_turn(stack: Stack, promise: Promise) -> None:
    found: list[Survived] = []
    while not found:
        found = await killed_in_the_last_second(stack)
    assert [turn for turn in found if turn.forfeited] == []
    assert [turn for turn in found if turn.after < turn.before] == []
    promise("P18", f"0 of {len(found)} turns lost to a kill with a second left, each with more time afterwards")


async def outlived(stack: Stack, outage: Outage, names: tuple[str, ...]) -> list[Survived]:
    """All turns of some tables through an outage that begins soon after they did."""
    async with Store(StoreSettings(url=stack.redis_url)) as store, sitting(stack.address, TABLES) as made:
        clocks = {table.room: await store.rooms.glance(RoomId(table.room)) for table in made}
        stopped = await outage(stack, names)
        await asyncio.to_thread(stack.wait_ready)
        running = [
            Turn(table, seen[0].version, seen[1].deadline - stopped)
            for table in made
            if (seen := clocks[table.room]) is not None
        ]
        return [await survived(store, turn) for turn in running if await outlasts(store, turn, stopped)]


Outage = Callable[[Stack, tuple[str, ...]], Awaitable[float]]


@pytest.mark.shows("P18")
@pytest.mark.parametrize(
    ("outage", "names"),
    [
        pytest.param(still, AUTHORITIES, id="authorities"),
        pytest.param(still, ("redis",), id="Redis", marks=USUAL),
        pytest.param(dead, AUTHORITIES, id="dead authorities", marks=USUAL),
    ],
)
async def test_an_outage_costs_nobody_a_turn(
    stack: Stack, outage: Outage, names: tuple[str, ...], promise: Promise
) -> None:
    found: list[Survived] = []
    while not found:
        found = await outlived(stack, outage, names)
    assert [turn for turn in found if turn.forfeited] == []
    assert [turn for turn in found if turn.after < turn.before] == []
    least = min(turn.after - turn.before for turn in found)
    said = f"0 of {len(found)} turns lost, none shorter ({least:+.0f} ms at least)"
    promise("P18", f"{said}, {', '.join(names)} {outage.__name__} for {AWAY_SECONDS} s")


@USUAL
@pytest.mark.control("P18")
async def test_control_without_the_credit_an_outage_costs_turns(tmp_path: Path, promise: Promise) -> None:
    with Stack(options(tmp_path, authorities=1, modules=MODULES)) as uncredited:
        found = await outlived(uncredited, still, AUTHORITIES[:1])
    lost = [turn for turn in found if turn.forfeited]
    assert lost
    promise("P18", f"{len(lost)} of {len(found)} turns lost without the credit")


@USUAL
@pytest.mark.control("P18")
async def test_control_without_grace_a_kill_in_the_last_second_costs_turns(tmp_path: Path, promise: Promise) -> None:
    with Stack(options(tmp_path, environ={"MAUMAU_RECONNECT_GRACE_SECONDS": "0"})) as graceless:
        found = await killed_in_the_last_second(graceless)
    lost = [turn for turn in found if turn.forfeited]
    assert lost
    promise("P18", f"{len(lost)} of {len(found)} turns lost to a kill with a second left, without the grace")
