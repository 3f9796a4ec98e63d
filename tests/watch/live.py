"""`make alerts-test`: a real Prometheus watches a real server, with all durations of the rules divided by 120.

First nothing is wrong and nothing fires; then each alert's cause is made on purpose, and Prometheus shows it firing.
Dashboards are asked after a few matches; 2,000 rooms have the same series as 200.
"""

from __future__ import annotations

import asyncio
import inspect
import os
import re
import time
from collections.abc import Iterator
from pathlib import Path

import maumau
import pytest
from maumau.bots.runner import BotRun, run_matches
from maumau.v1 import settings_pb2

from deploy.grafana.boards import BOARDS
from deploy.prometheus.alerts import BURNS, OBJECTIVES, SYMPTOMS
from tests.e2e.eventually import eventually
from tests.e2e.scraping import scrape
from tests.watch import causes
from tests.watch.causes import CAUSES, Cause
from tests.watch.scene import Scene, opened, tables

pytestmark = [pytest.mark.needs("prometheus"), pytest.mark.timeout(900)]

QUIET_TABLES = 3
EACH_ROOMS = 20
FAULT = re.compile(r'reason="|grpc_code="(?!OK)')
"""Series of refusals and errors: a busy machine may bring the first of a kind at any time."""
QUIET_SECONDS = float(os.environ.get("QUIET_SECONDS", "60"))
ALERTS = {f"{objective.alert}/{burn.long}" for objective in OBJECTIVES for burn in BURNS}
ALERTS |= {symptom.alert for symptom in SYMPTOMS}


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    with opened(tmp_path_factory.mktemp("watch")) as running:
        yield running


def test_every_alert_has_a_cause_here() -> None:
    text = inspect.getsource(causes)
    assert {alert for alert in ALERTS if f'"{alert}"' not in text} == set()


async def test_every_panel_shows_something_after_a_few_matches(scene: Scene) -> None:
    address = scene.stack.address
    async with maumau.connect(address, name="Guest") as client:
        await client.quick_play("uno", seats=2, patience_seconds=0)
        with pytest.raises(maumau.Refused):
            await client.get_room("r_nowhere")
    assert await run_matches(BotRun("mau-mau-32", 2, matches=3, address=address), lambda _: None)

    async with tables(address, 2):
        await eventually(lambda: not silent(scene), "every panel shows something", seconds=60)


def silent(scene: Scene) -> list[str]:
    """The panels whose queries give nothing."""
    return [
        f"{board.name}: {panel.title}"
        for board in BOARDS
        for panel in board.panels
        for query in panel.queries
        if not scene.prometheus.ask(query.expr.replace("$__rate_interval", "1m"))
    ]


async def test_nothing_fires_while_nothing_is_wrong(scene: Scene) -> None:
    async with tables(scene.stack.address, QUIET_TABLES):
        await asyncio.sleep(35)  # what the start did is out of the windows
        since = time.monotonic()
        await asyncio.sleep(QUIET_SECONDS)
        assert await asyncio.to_thread(scene.prometheus.fired, since) == set()
        moves = scene.prometheus.ask("sum(increase(maumau_actions_total[30s]))")
        assert moves[0][1] > 50, "people played meanwhile"


@pytest.mark.parametrize("cause", CAUSES, ids=lambda cause: cause.__name__)
async def test_its_cause_makes_it_fire(scene: Scene, cause: Cause) -> None:
    async with tables(scene.stack.address):
        await asyncio.sleep(3)
        began = time.monotonic()
        await cause(scene)
        fired = await asyncio.to_thread(scene.prometheus.fired, began)
        print(f"{cause.__name__}: {time.monotonic() - began:.0f} s; {', '.join(sorted(fired))}")


async def test_more_rooms_make_no_more_series(tmp_path: Path) -> None:
    few, many = int(os.environ.get("ROOMS", "2000")) // 10, int(os.environ.get("ROOMS", "2000"))
    with opened(tmp_path, authorities=2, synthetic=False) as scene:
        made = 0
        series = []
        for rooms in (few, many):
            await make_rooms(scene.stack.address, rooms - made)
            made = rooms
            await counted(scene, rooms)
            series.append({name for name in await scrape(scene.stack) if not FAULT.search(name)})
        assert series[1] - series[0] == set()
        print(f"{few} rooms: {len(series[0])} series; {many} rooms: {len(series[1])}")


async def make_rooms(address: str, number: int) -> None:
    """Makes so many open rooms, of two rulesets; one person may not have all of them."""
    settings = settings_pb2.RoomSettings(seats=2)
    for start in range(0, number, EACH_ROOMS):
        wanted = range(start, min(start + EACH_ROOMS, number))
        async with maumau.connect(address, name="Host") as client:
            await asyncio.gather(*(client.create_room(("uno", "mau-mau-32")[n % 2], settings=settings) for n in wanted))


async def counted(scene: Scene, rooms: int) -> None:
    """Waits until the metrics know of these rooms."""

    async def all_are() -> bool:
        known = await asyncio.to_thread(scene.prometheus.ask, f'sum(maumau_rooms{{state="open"}}) >= {rooms}')
        return bool(known)

    await eventually(all_are, f"{rooms} rooms are counted", seconds=120)
