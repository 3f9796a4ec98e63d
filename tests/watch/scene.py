"""What the live tests watch: a stack on a Redis of its own, tables that play, the synthetic player, and Prometheus."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Final

from maumau.bots.synthetic import Signs, SyntheticPlayer, SyntheticRun

from services.local.ports import free_ports
from services.local.stack import Stack
from tests.e2e.stacks import options
from tests.servers import Server, running
from tests.watch.prometheus import Prometheus

TABLES: Final = 8
ENVIRON: Final = {
    # Quick enough that the synthetic player moves several times in three minutes divided by 120.
    "MAUMAU_BOT_MOVE_MIN_SECONDS": "0.1",
    "MAUMAU_BOT_MOVE_MAX_SECONDS": "0.2",
    "MAUMAU_REDIS_COMMAND_TIMEOUT_SECONDS": "1",
    "MAUMAU_STREAM_QUEUE_BYTES": "65536",
}


class Scene:
    """Everything runs; `synthetic` is a process of its own."""

    def __init__(self, stack: Stack, redis: Server, prometheus: Prometheus) -> None:
        self.stack, self.redis, self.prometheus = stack, redis, prometheus
        (self.synthetic_port,) = free_ports(1)
        self.synthetic: subprocess.Popen[bytes]

    @property
    def synthetic_address(self) -> str:
        return f"127.0.0.1:{self.synthetic_port}"

    def start_synthetic(self) -> None:
        """Starts the synthetic player as an operator does."""
        words = ["-m", "maumau.cli", "synthetic", "--address", self.stack.address, "--port", str(self.synthetic_port)]
        with (self.prometheus.folder / "synthetic.log").open("ab") as log:
            self.synthetic = subprocess.Popen(
                [sys.executable, *words, "--pause-seconds", "0"], stdout=log, stderr=subprocess.STDOUT
            )

    def stop_synthetic(self) -> None:
        """Kills it."""
        self.synthetic.kill()
        self.synthetic.wait(30)


@contextlib.contextmanager
def opened(folder: Path, *, authorities: int = 3, synthetic: bool = True) -> Iterator[Scene]:
    """A scene in which nobody plays but the synthetic player, or nobody at all."""
    with (
        running("valkey", "--maxmemory", "512mb") as redis,
        Stack(options(folder / "stack", redis_url=redis.url, authorities=authorities, environ=ENVIRON)) as stack,
        Prometheus(folder / "prometheus") as prometheus,
    ):
        for process in stack.processes:
            prometheus.target("services", f"{process.host}:{process.metrics_port}", service=process.service)
        prometheus.target("envoy", f"{stack.edge.operations_host}:{stack.edge.operations_port}")
        scene = Scene(stack, redis, prometheus)
        if not synthetic:
            yield scene
            return
        scene.start_synthetic()
        prometheus.target("synthetic", scene.synthetic_address)
        try:
            yield scene
        finally:
            scene.stop_synthetic()


@contextlib.asynccontextmanager
async def tables(address: str, number: int = TABLES) -> AsyncIterator[None]:
    """So many people, each against two bots, for as long as the block lasts, whatever befalls the server."""
    run = SyntheticRun(address, moves=200, pause_seconds=0.2)
    playing = [asyncio.create_task(SyntheticPlayer(run, Signs()).play()) for _ in range(number)]
    try:
        yield
    finally:
        for task in playing:
            task.cancel()
        await asyncio.gather(*playing, return_exceptions=True)
