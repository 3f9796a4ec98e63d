"""Rate limits in Redis: what they let through, what they say to wait, and that they hold for all who ask at once."""

from __future__ import annotations

import asyncio

import pytest
import redis

from services.store.assembly import Store
from services.store.limits import LimitStore, Rate
from tests.store.making import until

SLOW = Rate(per_second=1 / 600, burst=10)
"""One in ten minutes, so that nothing wears off in a test."""


@pytest.fixture
def limits(store: Store) -> LimitStore:
    return LimitStore(store.pipelines)


async def test_a_burst_is_let_through_and_not_one_more(limits: LimitStore) -> None:
    answers = [await limits.charge("act", "player ana", SLOW) for _ in range(15)]
    assert [answer.within for answer in answers] == [True] * 10 + [False] * 5
    assert await limits.charge("act", "player ben", SLOW)


async def test_of_a_hundred_calls_at_once_only_the_burst_is_let_through(limits: LimitStore) -> None:
    answers = await asyncio.gather(*(limits.charge("act", "player ana", SLOW) for _ in range(100)))
    assert sum(answer.within for answer in answers) == 10


async def test_a_refusal_says_how_long_until_one_more_is_let_through(limits: LimitStore) -> None:
    for _ in range(10):
        await limits.charge("act", "player ana", SLOW)
    refused = await limits.charge("act", "player ana", SLOW)
    assert refused.wait == pytest.approx(600, abs=5)
    assert refused.debt == pytest.approx(6_000, abs=5)
    assert (await limits.charge("act", "player ana", SLOW)).wait == pytest.approx(600, abs=5), "refusals cost nothing"


async def test_calls_wear_off_one_by_one(limits: LimitStore) -> None:
    fast = Rate(per_second=100, burst=1)
    assert (await limits.charge("act", "player ana", fast)).within
    async with asyncio.timeout(10):
        while not (await limits.charge("act", "player ana", fast)).within:
            pass


async def test_calls_that_were_let_through_already_count_above_the_limit_too(limits: LimitStore) -> None:
    charged = await limits.charge("act", "player ana", SLOW, 30, always=True)
    assert not charged.within
    assert charged.wait == pytest.approx(600 * 21, abs=5)


async def test_a_limit_is_forgotten_when_it_has_worn_off(limits: LimitStore, store: Store, raw: redis.Redis) -> None:
    await limits.charge("act", "player ana", SLOW)
    life = raw.pttl(store.pipelines.keys.limit("act", "player ana"))
    assert 0 < int(life) <= 600_000


async def test_stamps_of_a_clock_that_was_ahead_wear_off_as_after_a_burst(
    limits: LimitStore, store: Store, raw: redis.Redis
) -> None:
    """When a replica takes over whose clock is behind, all stamps are ahead by as much: nobody waits for that long."""
    rate = Rate(per_second=100, burst=10)
    (seconds, _), key = raw.time(), store.pipelines.keys.limit("act", "player ana")
    raw.set(key, (int(seconds) + 60) * 1_000_000, px=60_000)
    refused = await limits.charge("act", "player ana", rate)
    assert not refused.within
    assert refused.wait <= 0.11

    async def let_through() -> bool:
        return (await limits.charge("act", "player ana", rate)).within

    await until(let_through)
