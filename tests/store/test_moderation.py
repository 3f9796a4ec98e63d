"""Bans, mutes and reports: what holds until a time ends by itself, and a report is kept once."""

from __future__ import annotations

import asyncio
import time

import pytest
import redis

from services.store.assembly import Store
from services.store.keys import PlayerId, RoomId
from services.store.reports import Complaint, Place, ReportStore, place
from services.store.sanctions import READ_AT_ONCE, Sanctions
from services.store.sanctions import place as place_of

ANA, BO = PlayerId("p_ana"), PlayerId("auth0|bö")
HOUR_MS = 3_600_000


def now_ms() -> int:
    return round(time.time() * 1000)


@pytest.fixture(params=["bans", "mutes"])
def sanctions(request: pytest.FixtureRequest, store: Store) -> Sanctions:
    return Sanctions(store.pipelines, getattr(store.pipelines.keys, request.param))


async def test_sanctions_are_listed_by_their_end_until_they_are_lifted(sanctions: Sanctions) -> None:
    soon, late = now_ms() + HOUR_MS, now_ms() + 2 * HOUR_MS
    await sanctions.put(BO, late, "flüche")
    await sanctions.put(ANA, soon)
    assert await sanctions.listed(None, 10) == [(ANA, soon, ""), (BO, late, "flüche")]
    assert await sanctions.until(BO) == late
    await sanctions.put(ANA, late + 1, "again")
    assert await sanctions.listed(None, 10) == [(BO, late, "flüche"), (ANA, late + 1, "again")]
    await sanctions.put(BO, 0)
    assert [each.player for each in await sanctions.listed(None, 10)] == [ANA]
    assert await sanctions.until(BO) == 0


async def test_every_sanction_is_on_one_page_also_where_many_end_at_once(sanctions: Sanctions) -> None:
    ends = now_ms() + HOUR_MS
    players = [PlayerId(f"p_{number:04}") for number in range(READ_AT_ONCE + 50)]
    await asyncio.gather(*(sanctions.put(player, ends, "flood") for player in players))
    await sanctions.put(ANA, ends - 1)
    await sanctions.put(BO, ends + 1)
    found, after = list[PlayerId](), None
    while page := await sanctions.listed(after, 400):
        assert len(page) <= 400
        found += [each.player for each in page]
        after = place_of(page[-1])
    assert found == [ANA, *players, BO]
    assert await sanctions.of(players[7]) == (players[7], ends, "flood")
    assert await sanctions.of(PlayerId("p_nobody")) is None


async def test_what_is_over_is_not_listed_and_is_forgotten_with_its_reason(
    sanctions: Sanctions, raw: redis.Redis, prefix: str
) -> None:
    await sanctions.put(ANA, now_ms() - 1, "old")
    assert await sanctions.listed(None, 10) == []
    await sanctions.put(BO, now_ms() + HOUR_MS, "new")
    for key in raw.keys(f"{prefix}:*:why"):
        assert raw.hkeys(key) == [BO.encode()]


def complaint(text: str, player: PlayerId = BO) -> Complaint:
    return Complaint(RoomId("r_1"), ANA, player, "Bo", 1, text)


@pytest.fixture
def reports(store: Store) -> ReportStore:
    return ReportStore(store.pipelines, 1)


async def test_a_report_is_kept_once_and_closed_once(reports: ReportStore) -> None:
    assert await reports.put("c_1", complaint("first"))
    assert not await reports.put("c_1", complaint("second"))
    [kept] = await reports.listed(None, 10)
    assert (kept.complaint, kept.verdict, kept.closed_ms) == (complaint("first"), "", 0)
    closed = await reports.close("c_1", "kim", "warned")
    assert closed is not None
    assert (closed.closed_by, closed.verdict) == ("kim", "warned")
    assert await reports.close("c_1", "lee", "banned") == closed
    assert await reports.close("c_2", "kim", "?") is None
    await reports.drop("c_1")
    assert await reports.listed(None, 10) == []
    assert await reports.find("c_1") is None


async def test_reports_come_page_by_page_the_newest_first(reports: ReportStore) -> None:
    for number in range(5):
        await reports.put(f"c_{number}", complaint(str(number)))
    found, after = [], None
    while page := await reports.listed(after, 2):
        assert len(page) <= 2
        found += page
        after = place(page[-1])
    assert [place(each) for each in found] == sorted(place(each) for each in found)
    assert {each.id for each in found} == {f"c_{number}" for number in range(5)}


async def test_a_report_too_old_is_forgotten(reports: ReportStore, store: Store, raw: redis.Redis) -> None:
    await reports.put("c_old", complaint("old"))
    keys = store.pipelines.keys
    assert 0 < int(raw.pttl(keys.report("c_old"))) <= 24 * HOUR_MS
    raw.zadd(keys.reports, {"c_old": now_ms() - 25 * HOUR_MS})
    await reports.put("c_new", complaint("new"))
    assert [each.id for each in await reports.listed(None, 10)] == ["c_new"]
    assert await reports.listed(Place(-now_ms() + 48 * HOUR_MS, ""), 10) == []
