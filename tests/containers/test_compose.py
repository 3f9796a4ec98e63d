"""The whole server as the compose file starts it, on a real engine, seen from outside: matches are played through Envoy
while containers die and while each is replaced by one of another build."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Final

import pytest

from services.runtime.routes import SERVICES
from tests.containers.composed import Composed, composed_project, in_order, play, told
from tests.containers.engine import Engine, Wheels
from tests.e2e.playing import get_on
from tests.faults.history import History, Outcome, read_records

pytestmark = [pytest.mark.needs("root", "docker", "dockerd"), pytest.mark.timeout(2_400)]

ACTS_BETWEEN_KILLS: Final = 60


@pytest.fixture(scope="module")
def composed(docker: Engine, image: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Composed]:
    with composed_project(docker, tmp_path_factory.mktemp("compose")) as running:
        yield running


async def test_containers_that_die_lose_nothing(composed: Composed, history: History) -> None:
    victims = [composed.containers(service)[0] for service in (*SERVICES, "redis")]
    before = [composed.starts(container) for container in victims]

    async def kill_each() -> None:
        for container in victims:
            await get_on(history, ACTS_BETWEEN_KILLS)
            await asyncio.to_thread(composed.kill, container)
            await in_order(composed, container)

    matches = await play(composed, history, "K", kill_each)
    assert [composed.starts(container) for container in victims] == [each + 1 for each in before]
    assert read_records([history.path]).count(Outcome.UNKNOWN) == 0, "every call was answered in the end"
    print(f"killed one of each and Redis: {told(history, matches)}")


async def test_a_rolling_update_fails_no_call(
    composed: Composed, docker: Engine, index: Wheels, image: str, history: History
) -> None:
    old = {container for service in SERVICES for container in composed.containers(service)}
    before = composed.image(next(iter(old)))
    docker.build(image, index, "--label", "build=next")

    async def roll() -> None:
        for service in SERVICES:
            for container in composed.containers(service):
                await get_on(history, ACTS_BETWEEN_KILLS)
                known = set(composed.containers(service))
                await asyncio.to_thread(composed.replace, service, container)
                (fresh,) = set(composed.containers(service)) - known
                await in_order(composed, fresh)

    matches = await play(composed, history, "R", roll)
    now = {container for service in SERVICES for container in composed.containers(service)}
    assert not now & old
    assert before not in {composed.image(container) for container in now}
    assert read_records([history.path]).count(Outcome.UNKNOWN) == 0, "every call was answered in the end"
    print(f"rolled {len(now)} containers: {told(history, matches)}")
