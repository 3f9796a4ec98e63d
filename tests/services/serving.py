"""A runtime on free ports inside the test's own loop, and a contract-shaped fake service behind it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import grpc
from maumau.v1 import authority_pb2 as authority
from maumau.v1 import scoring_pb2 as scoring
from maumau.v1.authority_pb2_grpc import GameAuthorityServiceServicer, add_GameAuthorityServiceServicer_to_server
from maumau.v1.scoring_pb2_grpc import ScoringServiceServicer, add_ScoringServiceServicer_to_server

from services.runtime.lifecycle import Runtime
from services.runtime.settings import Settings


class Probe:
    """What a test tells the fake service to do, and what it saw."""

    def __init__(self) -> None:
        self.fails_with: Exception | None = None
        self.can_commit: bool | Exception = True
        self.hold = asyncio.Event()
        self.entered = asyncio.Event()
        self.left = asyncio.Event()
        self.order: list[str] = []

    async def ready(self) -> bool:
        if isinstance(self.can_commit, Exception):
            raise self.can_commit
        return self.can_commit

    async def drain(self) -> None:
        self.order.append("drain")
        self.hold.set()

    async def resume(self) -> None:
        self.order.append("resume")

    async def close(self) -> None:
        self.order.append("close")


class _OfProbe:
    """A servicer that asks a probe; most of its service's methods are not offered."""

    probe: Probe

    @classmethod
    def of(cls, probe: Probe) -> Any:
        servicer = cls()
        servicer.probe = probe
        return servicer


class FakeScoring(_OfProbe, ScoringServiceServicer):
    async def GetRating(self, request: Any, context: Any) -> Any:  # noqa: N802
        self.probe.entered.set()
        if self.probe.fails_with is not None:
            raise self.probe.fails_with
        if request.player_id == "waits":
            await self.probe.hold.wait()
        return scoring.GetRatingResponse()


class FakeAuthority(_OfProbe, GameAuthorityServiceServicer):
    async def GetRoom(self, request: Any, context: Any) -> Any:  # noqa: N802
        return authority.GetRoomResponse()

    async def Watch(self, request: Any, context: Any) -> AsyncIterator[Any]:  # noqa: N802
        try:
            yield authority.WatchResponse()
            yield authority.WatchResponse().SerializeToString()
            self.probe.entered.set()
            await self.probe.hold.wait()
            if self.probe.fails_with is not None:
                raise self.probe.fails_with
        finally:
            self.probe.left.set()

    async def Play(self, request_iterator: Any, context: Any) -> AsyncIterator[Any]:  # noqa: N802
        async for _ in request_iterator:
            yield authority.PlayResponse()


def free_port_settings(**changed: Any) -> Settings:
    return Settings(public_port=0, internal_port=0, metrics_port=0, **changed)


class Serving:
    """A running runtime: its parts, a channel to its public port, and `stop` as a signal would."""

    def __init__(self, runtime: Runtime, probe: Probe, task: asyncio.Task[None]) -> None:
        self.runtime, self.probe, self.task = runtime, probe, task
        self.address = f"127.0.0.1:{runtime.public.number}"
        self.channel = grpc.aio.insecure_channel(self.address)


@asynccontextmanager
async def serving(**changed: Any) -> AsyncIterator[Serving]:
    """Starts the fake service and stops it at the end."""
    probe = Probe()
    runtime = Runtime("fake", free_port_settings(**changed))

    async def bind(_: Runtime) -> Probe:
        runtime.public.add(add_ScoringServiceServicer_to_server, FakeScoring.of(probe))
        runtime.public.add(add_GameAuthorityServiceServicer_to_server, FakeAuthority.of(probe))
        return probe

    task = asyncio.create_task(runtime.run(bind))
    await runtime.started.wait()
    served = Serving(runtime, probe, task)
    try:
        yield served
    finally:
        await served.channel.close()
        probe.hold.set()
        runtime.stop()
        await task
