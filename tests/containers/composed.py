"""The compose file's project on a real engine, and matches that are played on it from outside, through Envoy."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path
from typing import Any, Final

import maumau

from tests.containers.engine import COMPOSE, ROOT, Engine
from tests.e2e.eventually import eventually
from tests.e2e.playing import Match, seated
from tests.faults.history import History, Outcome, read_records
from tests.faults.rig import findings

ADDRESS: Final = "127.0.0.1:7700"
Meanwhile = Callable[[], Awaitable[None]]
STATED: Final = COMPOSE["services"]
REDISES: Final = ("redis", "redis-2", "redis-3")
LONG: Final = {"match.target": 150}
MATCHES: Final = (*(Match(2, options=LONG),) * 8, *(Match(1, 1, options=LONG),) * 6, *(Match(2, 1, options=LONG),) * 6)
HEALTHY_SECONDS: Final = 180.0
RESULT_SECONDS: Final = 60.0
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
    """The compose file's project, running; `options` are Compose's own, `environ` is what the file asks for."""

    def __init__(self, docker: Engine, folder: Path, *options: str, **environ: str) -> None:
        self._docker, self._options = docker, options
        self._environ: dict[str, Any] = {**environ}
        self._override = folder / "quick.yaml"
        self._override.write_text(OVERRIDE)

    def compose(self, *arguments: str, **more: Any) -> str:
        files = ("-f", str(ROOT / "docker-compose.yml"), "-f", str(self._override))
        words = ("-p", "maumau-test", *self._options, *files, *arguments)
        return self._docker.run(ROOT / "tools/compose", *words, **{**self._environ, **more})

    def up(self) -> None:
        self.compose("up", "-d", "--no-build", "--wait", "--wait-timeout", "300")

    def run_in(self, service: str, *command: str, check: bool = True) -> str:
        """What a command says inside the first container of a service."""
        return self.compose("exec", "-T", service, *command, check=check)

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

    def primary(self) -> str:
        """The service whose Redis takes writes; where there are Sentinels, the one that they name."""
        if not self.containers("sentinel-1"):
            return "redis"
        asked = ("redis-cli", "-p", "26379", "sentinel", "get-master-addr-by-name", "maumau")
        address = self.run_in("sentinel-1", *asked).split()[0]
        (name,) = [name for name in REDISES if STATED[name]["networks"]["data"]["ipv4_address"] == address]
        return name

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


@contextmanager
def composed_project(docker: Engine, folder: Path, *options: str, **environ: str) -> Iterator[Composed]:
    """The project from `up` to `down`; its volumes go, too."""
    running = Composed(docker, folder, *options, **environ)
    try:
        running.up()
        yield running
    finally:
        running.compose("down", "-v", "-t", "20", check=False)


async def play(
    composed: Composed, history: History, name: str, meanwhile: Meanwhile, matches: Sequence[Match] = MATCHES
) -> int:
    """These matches side by side from their beginning to their end, and others after them for as long as something is
    done to the containers; then the check. How many there were."""
    rooms = list[str]()
    over = asyncio.Event()

    async def play_in_turn(clients: Sequence[maumau.Client], match: Match, names: str) -> None:
        for played in itertools.count(1):
            async with seated(clients, match, history, names) as players:
                rooms.append(players.room_id)
                await players.start()
                assert all(view.HasField("outcome") for view in await players.play())
            for client in clients:
                await eventually(lambda: _counted(client, played), "scoring has the result", RESULT_SECONDS)  # noqa: B023
            if over.is_set():
                return

    async with asyncio.timeout(1_200), AsyncExitStack() as stack:
        groups = [await _guests(stack, match.people, f"{name}{number}") for number, match in enumerate(matches)]
        async with asyncio.TaskGroup() as side_by_side:
            for number, match in enumerate(matches):
                side_by_side.create_task(play_in_turn(groups[number], match, f"{name}{number}"))
            await meanwhile()
            over.set()
    (redis,) = composed.containers(composed.primary())
    assert await findings(f"redis://{composed.address(redis)}:6379/0", rooms, history) == []
    return len(rooms)


async def _guests(stack: AsyncExitStack, count: int, name: str) -> list[maumau.Client]:
    return [await stack.enter_async_context(maumau.connect(ADDRESS, name=f"{name}-{n}")) for n in range(count)]


async def _counted(client: maumau.Client, matches: int) -> bool:
    return (await client.scoring.statistics(family="mau-mau-32")).matches == matches


async def in_order(composed: Composed, container: str) -> None:
    end = time.monotonic() + HEALTHY_SECONDS
    while not await asyncio.to_thread(composed.healthy, container):
        assert time.monotonic() < end, f"{container} does not get healthy"
        await asyncio.sleep(0.5)


def told(history: History, matches: int) -> str:
    records = read_records([history.path])
    unknown = records.count(Outcome.UNKNOWN)
    return f"{matches} matches, {records.count(Outcome.ACCEPTED):,} accepted, {unknown} unknown, 0 lost"
