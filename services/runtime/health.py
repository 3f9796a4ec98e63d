"""`grpc.health.v1` for both ports: is the process alive, and can it commit.

Names: `liveness` is SERVING as long as the event loop answers at all; every service, and the empty name, say whether
a commit is possible. Readiness is sluggish on purpose: it goes after three failed checks and returns after two good
ones, since one blip of Redis must not empty a load balancer.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from typing import Final

from grpc import StatusCode
from grpc_health.v1 import health_pb2
from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse, HealthListRequest, HealthListResponse

from services.runtime.calls import Context
from services.runtime.logs import log
from services.wire.shown import shown

HEALTH: Final = "grpc.health.v1.Health"
LIVENESS: Final = "liveness"
FAILURES_TO_LEAVE: Final = 3
SUCCESSES_TO_RETURN: Final = 2
CHECK_LIMIT_SECONDS: Final = 2.0

SERVING = HealthCheckResponse.SERVING
NOT_SERVING = HealthCheckResponse.NOT_SERVING


class Readiness:
    """Whether the process can commit, with hysteresis; not ready before the first good check, nor while it is held."""

    def __init__(self) -> None:
        self.ready = False
        self._able = False
        self._failures, self._successes = FAILURES_TO_LEAVE, SUCCESSES_TO_RETURN - 1
        self._held = self._stopped = False
        self._changed = asyncio.Event()

    def record(self, good: bool) -> None:
        """Takes one check's outcome; after `stop` nothing changes any more."""
        self._failures, self._successes = (0, self._successes + 1) if good else (self._failures + 1, 0)
        if self._able and self._failures >= FAILURES_TO_LEAVE:
            self._able = False
        elif not self._able and self._successes >= SUCCESSES_TO_RETURN:
            self._able = True
        self._settle()

    def hold(self) -> None:
        """Not ready until `release`, whatever the checks say: the process is out of service."""
        self._held = True
        self._settle()

    def release(self) -> None:
        """As the checks say, again."""
        self._held = False
        self._settle()

    def stop(self) -> None:
        """Not ready for good: the process is about to stop."""
        self._stopped = True
        self._settle(always=True)

    @property
    def held(self) -> bool:
        return self._held

    @property
    def stopped(self) -> bool:
        return self._stopped

    async def changed(self) -> None:
        await self._changed.wait()

    def _settle(self, *, always: bool = False) -> None:
        """Takes over what holds now, and wakes who waits if that is something new."""
        ready = self._able and not self._held and not self._stopped
        if ready == self.ready and not always:
            return
        if ready != self.ready:
            log.info("readiness", ready=ready)
        self.ready = ready
        self._changed.set()
        self._changed = asyncio.Event()


class HealthService:
    """Answers `Check`, `List` and `Watch`; `names` are the services whose health is the process's readiness."""

    def __init__(self, readiness: Readiness, names: Iterable[str]) -> None:
        self._readiness = readiness
        self._names = {"", *names}

    async def Check(self, request: HealthCheckRequest, context: Context) -> HealthCheckResponse:  # noqa: N802
        status = self._status(request.service)
        if status == HealthCheckResponse.SERVICE_UNKNOWN:
            await context.abort(StatusCode.NOT_FOUND, f"This is not served here: {shown(request.service)}")
        return HealthCheckResponse(status=status)

    async def List(self, request: HealthListRequest, context: Context) -> HealthListResponse:  # noqa: N802
        answers = {name: HealthCheckResponse(status=self._status(name)) for name in sorted({*self._names, LIVENESS})}
        return HealthListResponse(statuses=answers)

    async def Watch(self, request: HealthCheckRequest, context: Context) -> AsyncIterator[HealthCheckResponse]:  # noqa: N802
        last = None
        while True:
            changed = asyncio.ensure_future(self._readiness.changed())
            try:
                if (status := self._status(request.service)) != last:
                    yield HealthCheckResponse(status=status)
                last = status
                if self._readiness.stopped:
                    return
                await changed
            finally:
                changed.cancel()

    def _status(self, name: str) -> health_pb2.HealthCheckResponse.ServingStatus.ValueType:
        if name == LIVENESS:
            return SERVING
        if name not in self._names:
            return HealthCheckResponse.SERVICE_UNKNOWN
        return SERVING if self._readiness.ready else NOT_SERVING


async def watch_readiness(readiness: Readiness, check: Callable[[], Awaitable[bool]], every_seconds: float) -> None:
    """Asks `check` for ever; an exception or no answer within two seconds is a failure."""
    while True:
        try:
            async with asyncio.timeout(CHECK_LIMIT_SECONDS):
                good = await check()
        except Exception as error:
            log.warning("readiness check failed", error=type(error).__name__)
            good = False
        readiness.record(good)
        await asyncio.sleep(every_seconds)
