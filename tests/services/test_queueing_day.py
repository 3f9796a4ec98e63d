"""A short simulated day in one queue, with the figures that a whole one has to reach (`make bench queue`)."""

from __future__ import annotations

import asyncio
from pathlib import Path

from services.runtime.key_folder import prepare_key_folder
from tests.benchmarks.queue import compare
from tests.benchmarks.queueing.arrivals import arrivals
from tests.benchmarks.queueing.day import plain_day
from tests.benchmarks.queueing.first_come import propose
from tests.servers import Server

ROUND_MS = 2_000
COMING = [each for each in arrivals(1_000, 3, day_ms=40 * 60_000) if each.preset == "mau-mau-32"]


async def test_ratings_in_a_match_are_twice_as_close_as_first_come_first_served_and_nobody_is_left_behind(
    redis_server: Server, tmp_path: Path
) -> None:
    prepare_key_folder(tmp_path)
    day = await asyncio.to_thread(compare, redis_server.url, "day", tmp_path, COMING, ROUND_MS)
    assert len({player for each in COMING for player in each.players}) > 300
    assert day["missed"] == []
    assert day["ours"]["tickets"] + day["ours"]["given_up"] == len(COMING)
    assert 0.6 < day["ours"]["estimates_kept"] < 0.9, "three of four estimates are kept"


def test_control_first_come_first_served_is_no_better_than_itself() -> None:
    figures = plain_day(COMING, propose, ROUND_MS).figures()
    assert figures["spread_median"] > 8, "so that half of it is something"
