"""The whole server as the compose file starts it, on a real engine, seen from outside: matches are played through Envoy
while containers die and while each is replaced by one of another build."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import maumau
import pytest

from services.runtime.routes import SERVICES
from tests.containers.engine import ROOT, Engine, Wheels
from tests.e2e.eventually import eventually
from tests.e2e.playing import Match, Party, get_on, party
from tests.faults.history import History, Outcome, read_records
from tests.faults.rig import findings

pytestmark = [pytest.mark.needs("root", "docker", "dockerd"), pytest.mark.timeout(2_400)]

ADDRESS: Final = "127.0.0.1:7700"
LONG: Final = {"match.target": 150}
MATCHES: Final = (*(Match(2, options=LONG),) * 8, *(Match(1, 1, options=LONG),) * 6, *(Match(2, 1, options=LONG),) * 6)
ACTS_BETWEEN_KILLS: Final = 60
HEALTHY_SECONDS: Final = 180.0
OVERRIDE: Final = """
# Bots that keep nobody waiting, and no limits: all clients of this test have one address.
x-quick: &quick
  environment:
    MAUMAU_BOT_MOVE_MIN_SECONDS: "0"
    MAUMAU_BOT_MOVE_MAX_SECONDS: "0.01"
    MAUMAU_WINDOW_SECONDS: "0.1"
    MAUMAU_RATE_LIMITS: "false"
services:
  matchmaking: *quick
  game-authority: *quick
  scoring: *quick
"""


class Composed:
    """The compose file's project, running."""

    def __init__(self, docker: Engine, folder: Path) -> None:
        self._docker = docker
        self._override = folder / "quick.yaml"
        self._override.write_text(OVERRIDE)

    def compose(self, *arguments: str, **more: Any) -> str:
        files = ("-f", ROOT / "docker-compose.yml", "-f", self._override)
        return self._docker.run(ROOT / "tools/compose", "-p", "maumau-test", *files, *arguments, **more)

    def up(self, *arguments: str) -> None:
        self.compose("up", "-d", "--no-build", "--wait", "--wait-timeout", "300", *arguments)

    def containers(self, service: str) -> list[str]:
        return self.compose("ps", "-q", service).split()

    def kill(self, container: str) -> None:
        """SIGKILL from outside, as the kernel does it when memory is short: the engine starts it again."""
        pid = self._docker.docker("inspect", "-f", "{{.State.Pid}}", container).strip()
        self._docker.run("kill", "-9", pid)

    def starts(self, container: str) -> int:
        return int(self._docker.docker("inspect", "-f", "{{.RestartCount}}", container))

    def healthy(self, container: str) -> bool:
        state = self._docker.docker(
            "inspect", "-f", "{{.State.Status}} {{.State.Health.Status}}", container, check=False
        )
        return state.split() == ["running", "healthy"]

    def address(self, container: str) -> str:
        form = "{{range .NetworkSettings.Networks}}{{.IPAddress}} {{end}}"
        return self._docker.docker("inspect", "-f", form, container).split()[0]

    def image(self, container: str) -> str:
        return self._docker.docker("inspect", "-f", "{{.Image}}", container).strip()

    def replace(self, service: str, container: str) -> None:
        """Stops one container of a service and lets Compose start another in its place, of the image that is now."""
        self._docker.docker("stop", "-t", "20", container)
        self._docker.docker("rm", container)
        self.compose("up", "-d", "--no-build", "--no-deps", "--no-recreate", service)


@pytest.fixture(scope="module")
def composed(docker: Engine, image: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Composed]:
    running = Composed(docker, tmp_path_factory.mktemp("compose"))
    try:
        running.up()
        yield running
    finally:
        running.compose("down", "-v", "-t", "20", check=False)


@pytest.fixture
def history(tmp_path: Path) -> Iterator[History]:
    written = History(tmp_path / "history.jsonl")
    yield written
    written.close()


async def play(composed: Composed, history: History, name: str, meanwhile: Any) -> None:
    """All matches from their beginning to their end, while something is done to the containers; then the check."""
    async with asyncio.timeout(1_200), _parties(history, name) as played:
        matches = asyncio.gather(*(players.play() for players in played))
        await meanwhile()
        views = await matches
        (redis,) = composed.containers("redis")
        rooms = [players.room_id for players in played]
        assert await findings(f"redis://{composed.address(redis)}:6379/0", rooms, history) == []
        for players in played:
            for person in players.people:
                await eventually(lambda: _counted(person.client), "scoring has the result")  # noqa: B023
    assert all(view.HasField("outcome") for each in views for view in each)


async def _counted(client: maumau.Client) -> bool:
    return (await client.scoring.statistics(family="mau-mau-32")).matches == 1


class _parties:  # noqa: N801 - reads as the function that it is
    """Twenty rooms whose matches have just started."""

    def __init__(self, history: History, name: str) -> None:
        self._history, self._name = history, name

    async def __aenter__(self) -> list[Party]:
        self._opened = [party(ADDRESS, match, self._history, f"{self._name}{n}") for n, match in enumerate(MATCHES)]
        played = [await each.__aenter__() for each in self._opened]
        for players in played:
            await players.start()
        return played

    async def __aexit__(self, *error: Any) -> None:
        for each in self._opened:
            await each.__aexit__(None, None, None)


async def in_order(composed: Composed, container: str) -> None:
    end = time.monotonic() + HEALTHY_SECONDS
    while not await asyncio.to_thread(composed.healthy, container):
        assert time.monotonic() < end, f"{container} does not get healthy"
        await asyncio.sleep(0.5)


def told(history: History) -> str:
    records = read_records([history.path])
    unknown = records.count(Outcome.UNKNOWN)
    return f"{len(MATCHES)} matches, {records.count(Outcome.ACCEPTED):,} accepted, {unknown} unknown, 0 lost"


async def test_containers_that_die_lose_nothing(composed: Composed, history: History) -> None:
    victims = [composed.containers(service)[0] for service in (*SERVICES, "redis")]
    before = [composed.starts(container) for container in victims]

    async def kill_each() -> None:
        for container in victims:
            await get_on(history, ACTS_BETWEEN_KILLS)
            await asyncio.to_thread(composed.kill, container)
            await in_order(composed, container)

    await play(composed, history, "K", kill_each)
    assert [composed.starts(container) for container in victims] == [each + 1 for each in before]
    assert read_records([history.path]).count(Outcome.UNKNOWN) == 0, "every call was answered in the end"
    print(f"killed one of each and Redis: {told(history)}")


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

    await play(composed, history, "R", roll)
    now = {container for service in SERVICES for container in composed.containers(service)}
    assert not now & old
    assert before not in {composed.image(container) for container in now}
    assert read_records([history.path]).count(Outcome.UNKNOWN) == 0, "every call was answered in the end"
    print(f"rolled {len(now)} containers: {told(history)}")
