"""A pool recomputed while results come in and processes die: nothing is lost, nothing is counted twice, nothing is left
behind. Each promise has its control, the same without the protection."""

from __future__ import annotations

import asyncio
import itertools
import random
from collections.abc import AsyncIterator
from typing import Any

import pytest
import redis

from services.rules.registry import GAMES
from services.scoring.audit import Audit, Auditor
from services.scoring.counting import take
from services.scoring.rebuilding import Rebuilder
from services.scoring.reports import read_report
from services.scoring.standings import read_standing
from services.store import rebuilds as rebuilds_of
from services.store.assembly import Store
from services.store.connect import StoreSettings
from services.store.keys import PlayerId
from services.store.ledgers import Ledgers
from services.store.rebuilds import SWAPPED, Build, Rebuilds
from services.store.scoring import Applied, ScoringStore
from services.wire.times import timestamp
from tests.e2e.eventually import eventually
from tests.servers import Server
from tests.services.scorers import ENDED, FAMILY, report, seat

SHORT_LEASE_MS = 100
PLAYERS = 15
_PREFIXES = (f"recompute{number}" for number in itertools.count())


class Died(Exception):  # noqa: N818 - not a fault
    """The process is gone, here and now."""


class Office:
    """All that scoring does with a pool, as one process has it."""

    def __init__(self, store: Store, raw: redis.Redis) -> None:
        self.store = store
        self.raw = raw
        self.results = ScoringStore(store.pipelines, 365)
        self.ledgers = Ledgers(store.pipelines)
        self._chance = random.Random(3)
        self._matches = itertools.count()

    def rebuilder(self, rebuilds: Rebuilds | None = None) -> Rebuilder:
        return Rebuilder(self.ledgers, rebuilds or Rebuilds(self.store.pipelines, SHORT_LEASE_MS), [FAMILY])

    async def count(self, matches: int) -> None:
        """Results of people who always are the same few, with bots, leavers and draws."""
        for _ in range(matches):
            names = self._chance.sample([f"p_{number}" for number in range(PLAYERS)], self._chance.choice((2, 3, 4)))
            seats = [seat(name, place, bot_turns=self._chance.randrange(4)) for place, name in enumerate(names, 1)]
            seats[-1].deserted = self._chance.random() < 0.2
            ended = timestamp(ENDED + self._chance.randrange(90) * 86_400_000)
            one = report(f"m_{next(self._matches)}", seats, scores=range(len(seats)), ended=ended)
            assert isinstance(await take(self.results, read_report(one, GAMES)), Applied)

    async def audit(self) -> Audit:
        return await Auditor(self.ledgers, Rebuilds(self.store.pipelines)).audit(FAMILY)

    async def matches(self) -> int:
        """Matches of all players together, as their standings say."""
        present = await self.results.look(FAMILY, [PlayerId(f"p_{number}") for number in range(PLAYERS)])
        return sum(read_standing(known.standing).matches for known in present.known if known is not None)

    def generations(self) -> set[bytes]:
        """Those that keys are left of."""
        keys: Any = self.raw.keys(f"{self.store.pipelines.keys.prefix}:{{family:{FAMILY}}}:g*:*")
        return {key.split(b":")[3] for key in keys}


@pytest.fixture
async def office(redis_server: Server) -> AsyncIterator[Office]:
    raw = redis_server.client()
    async with Store(StoreSettings(url=redis_server.url, prefix=next(_PREFIXES))) as store:
        yield Office(store, raw)
    raw.close()


class Mortal(Rebuilds):
    """Dies at one of the `STEPS`."""

    def __init__(self, store: Store, where: str) -> None:
        super().__init__(store.pipelines, SHORT_LEASE_MS)
        self._where = where

    async def begin(self, pool: str) -> Build | None:
        build = await super().begin(pool)
        self._come_to("begun")
        return build

    async def write_standings(self, build: Build, standings: Any) -> None:
        await super().write_standings(build, dict(list(standings.items())[: len(standings) // 2]))
        self._come_to("half of the standings")
        await super().write_standings(build, standings)

    async def write_board(self, build: Build, span: str, ends_ms: int, scores: Any) -> None:
        await super().write_board(build, span, ends_ms, scores)
        self._come_to("a board")

    async def swap(self, build: Build, position: int) -> int:
        self._come_to("before the swap")
        done = await super().swap(build, position)
        self._come_to("after the swap")
        return done

    def _come_to(self, where: str) -> None:
        if where == self._where:
            raise Died


STEPS = ("begun", "half of the standings", "a board", "before the swap", "after the swap")


@pytest.mark.parametrize("step", STEPS)
async def test_a_process_that_dies_while_it_recomputes_harms_nothing(office: Office, step: str) -> None:
    await office.count(30)
    await office.ledgers.void(FAMILY, "m_4")
    with pytest.raises(Died):
        await office.rebuilder(Mortal(office.store, step)).rebuild_if_due(FAMILY)
    await office.count(10)
    survivor = office.rebuilder()

    async def is_computed() -> bool:
        await survivor.rebuild_if_due(FAMILY)
        head = await office.ledgers.head(FAMILY)
        return head.built == head.void

    await eventually(is_computed, "another process has recomputed the pool")
    audit = await office.audit()
    assert (audit.entries, audit.differences) == (41, [])
    await eventually(lambda: survivor.rebuild(FAMILY), "the dead one's lease is over")
    assert len(office.generations()) == 1, "nothing is left of what was not finished, or is no longer needed"
    assert (await office.audit()).differences == []


async def test_control_a_void_that_nobody_looks_for_again_stays_counted(office: Office) -> None:
    await office.count(30)
    await office.ledgers.void(FAMILY, "m_4")
    with pytest.raises(Died):
        await office.rebuilder(Mortal(office.store, "before the swap")).rebuild_if_due(FAMILY)
    assert (await office.audit()).differences


class Crowded(Rebuilds):
    """While it writes, results come in."""

    def __init__(self, office: Office) -> None:
        super().__init__(office.store.pipelines)
        self._office = office
        self._left = 3

    async def write_standings(self, build: Build, standings: Any) -> None:
        await super().write_standings(build, standings)
        if self._left:
            self._left -= 1
            await self._office.count(4)


class Careless(Crowded):
    """The control: puts its generation in place whatever has happened."""

    async def swap(self, build: Build, position: int) -> int:
        head = await self._office.ledgers.head(build.pool)
        return await super().swap(build, head.position)


async def test_results_that_come_in_between_are_counted_once(office: Office) -> None:
    await office.count(20)
    before = await office.matches()
    await office.ledgers.void(FAMILY, "m_4")
    assert await office.rebuilder(Crowded(office)).rebuild_if_due(FAMILY)
    audit = await office.audit()
    assert (audit.entries, audit.differences) == (33, [])
    assert await office.matches() > before


async def test_control_a_swap_that_does_not_ask_for_newer_entries_loses_results(office: Office) -> None:
    await office.count(20)
    await office.ledgers.void(FAMILY, "m_4")
    assert await office.rebuilder(Careless(office)).rebuild_if_due(FAMILY)
    assert (await office.audit()).differences


async def test_a_second_void_while_the_first_is_computed_in_counts_too(office: Office) -> None:
    await office.count(20)
    await office.ledgers.void(FAMILY, "m_4")

    class Voiding(Rebuilds):
        done = False

        async def write_standings(self, build: Build, standings: Any) -> None:
            await super().write_standings(build, standings)
            if not Voiding.done:
                Voiding.done = True
                await office.ledgers.void(FAMILY, "m_5")

    assert await office.rebuilder(Voiding(office.store.pipelines)).rebuild_if_due(FAMILY)
    assert (await office.audit()).differences == []
    assert await office.ledgers.voids(FAMILY) == {5, 6}


async def test_of_two_that_recompute_at_once_one_does(office: Office) -> None:
    await office.count(20)
    await office.ledgers.void(FAMILY, "m_4")
    done = await asyncio.gather(*(office.rebuilder().rebuild(FAMILY) for _ in range(4)))
    assert any(done)
    assert (await office.audit()).differences == []


async def test_who_has_lost_the_lease_puts_nothing_in_place(office: Office) -> None:
    """Frozen before its swap, for longer than its lease; meanwhile another one is done."""
    await office.count(20)
    await office.ledgers.void(FAMILY, "m_4")
    frozen = Rebuilds(office.store.pipelines, 1)
    build = await frozen.begin(FAMILY)
    assert build is not None
    await eventually(lambda: office.rebuilder().rebuild(FAMILY), "the lease is over")
    head = await office.ledgers.head(FAMILY)
    assert await frozen.swap(build, head.position) != SWAPPED
    assert await office.ledgers.head(FAMILY) == head
    assert (await office.audit()).differences == []


async def test_a_player_forgotten_while_the_pool_is_recomputed_stays_forgotten(office: Office) -> None:
    await office.count(30)
    await office.ledgers.void(FAMILY, "m_4")

    class Forgetting(Rebuilds):
        async def write_board(self, build: Build, span: str, ends_ms: int, scores: Any) -> None:
            await super().write_board(build, span, ends_ms, scores)
            await office.ledgers.forget(FAMILY, PlayerId("p_1"))

    assert await office.rebuilder(Forgetting(office.store.pipelines)).rebuild_if_due(FAMILY)
    assert (await office.results.look(FAMILY, [PlayerId("p_1")])).known == (None,)
    assert (await office.audit()).differences == []


async def test_a_board_is_read_whole_while_its_lines_change_places(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rebuilds_of, "_BATCH", 50)
    key = office.store.pipelines.keys.pool(FAMILY).board(0, "all")
    office.raw.zadd(key, {f"{number:09}": number for number in range(1_000)})
    reads, moving = office.store.pipelines.reads, itertools.count(1)

    class Moving:
        """Lets the last line come first after each reading."""

        async def command(self, *command: Any, **how: Any) -> Any:
            reply = await reads.command(*command, **how)
            moved = next(moving)
            office.raw.zadd(key, {f"{1_000 - moved:09}": -moved})
            return reply

    monkeypatch.setattr(office.store.pipelines, "reads", Moving())
    async with asyncio.timeout(10):
        board = await Rebuilds(office.store.pipelines).board(FAMILY, 0, "all")
    assert board.keys() == {f"{number:09}" for number in range(1_000)}


async def test_a_pool_that_cannot_be_recomputed_holds_up_no_other(office: Office) -> None:
    asked = list[str]()

    class Broken(Rebuilder):
        async def rebuild_if_due(self, pool: str) -> bool:
            asked.append(pool)
            raise ValueError(pool)

    run = asyncio.create_task(Broken(office.ledgers, Rebuilds(office.store.pipelines), ["uno", FAMILY]).run())
    await eventually(lambda: FAMILY in asked, "the second pool is looked at")
    run.cancel()


async def test_an_audit_finds_a_wrong_bit(office: Office) -> None:
    """The control of all audits above."""
    await office.count(10)
    assert (await office.audit()).differences == []
    keys = office.store.pipelines.keys.pool(FAMILY)
    stored: Any = office.raw.hgetall(keys.standings(0))
    entrant, standing = next(iter(stored.items()))
    office.raw.hset(keys.standings(0), entrant, standing[:-3] + bytes([standing[-3] ^ 1]) + standing[-2:])
    office.raw.zincrby(keys.board(0, "all"), 1, entrant)
    found = (await office.audit()).differences
    assert f"standing of entrant {entrant.decode()}" in found
    assert f"line of entrant {entrant.decode()} on the board all" in found
