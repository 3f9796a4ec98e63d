"""`maumau.internal.v1.ProcessService`: one process as the operator sees it, and out of service without being stopped.

A drained process says NOT_SERVING, so that proxies and load balancers turn away, and sends its streams to others after
the same notice as before a stop. It goes on running: its timers and sweeps work, and what still reaches it is served.
It comes back with `Resume`, or ends with a signal as any other.
"""

from __future__ import annotations

import asyncio
import os
import platform
import time
from importlib.metadata import version
from typing import Final, Protocol

from maumau.internal.v1 import process_pb2 as pb

from services.runtime import metrics
from services.runtime.calls import Context
from services.runtime.health import Readiness
from services.runtime.logs import log
from services.runtime.operators import audit
from services.runtime.routes import STREAMING
from services.wire import validate
from services.wire.times import timestamp

_STREAMS: Final = tuple(method.rpartition("/")[2] for method in STREAMING)


class Movable(Protocol):
    """A service whose streams can be sent away and taken again."""

    async def drain(self) -> None: ...

    async def resume(self) -> None: ...


class ProcessService:
    """For the operator, on the internal port of every process."""

    def __init__(self, name: str, readiness: Readiness, notice_seconds: float, service: Movable) -> None:
        self._name = name
        self._readiness = readiness
        self._notice_seconds = notice_seconds
        self._service = service
        self._started_ms = time.time_ns() // 1_000_000
        self._sending: asyncio.Task[None] | None = None

    async def GetProcess(self, request: pb.GetProcessRequest, context: Context) -> pb.GetProcessResponse:  # noqa: N802
        return pb.GetProcessResponse(process=self._process())

    async def Drain(self, request: pb.DrainRequest, context: Context) -> pb.DrainResponse:  # noqa: N802
        """Raises Refusal (INVALID_FIELD)."""
        why = validate.operator_reason(request.why, required=True)
        audit("drain", why=why, process=self._name, pid=os.getpid())
        if not self._readiness.held:
            self._readiness.hold()
            self._sending = asyncio.create_task(self._send_away(), name="drain")
        return pb.DrainResponse(process=self._process())

    async def Resume(self, request: pb.ResumeRequest, context: Context) -> pb.ResumeResponse:  # noqa: N802
        audit("resume", process=self._name, pid=os.getpid())
        if self._sending is not None:
            self._sending.cancel()
            self._sending = None
        await self._service.resume()
        self._readiness.release()
        return pb.ResumeResponse(process=self._process())

    async def _send_away(self) -> None:
        await asyncio.sleep(self._notice_seconds)
        await self._service.drain()
        log.info("drained")

    def _process(self) -> pb.Process:
        return pb.Process(
            service=self._name,
            host_name=platform.node(),
            pid=os.getpid(),
            version=version("maumau-server"),
            started=timestamp(self._started_ms),
            serving=self._readiness.ready,
            drained=self._readiness.held,
            streams=_open_streams(),
        )


def _open_streams() -> int:
    samples = (sample for family in metrics.open_streams.collect() for sample in family.samples)
    return round(sum(sample.value for sample in samples if sample.labels.get("grpc_method") in _STREAMS))
