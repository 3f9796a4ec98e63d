"""The life of a service process: settings, logs, two gRPC ports, health, work, and an end that loses nothing.

A service is a name and a bind function; its `__main__` is one call:

    class Scoring:                                   # services.runtime.lifecycle.Service
        async def ready(self) -> bool: return await self.store.can_commit()
        async def drain(self) -> None: ...           # send go-aways, let streams end
        async def resume(self) -> None: ...          # take streams again
        async def close(self) -> None: await self.store.close()

    async def bind(runtime: Runtime) -> Scoring:
        store = await open_store(runtime.settings)
        runtime.public.guard(policy.check)
        runtime.public.add(add_ScoringServiceServicer_to_server, ScoringService(store))
        runtime.internal.add(add_ResultIntakeServiceServicer_to_server, ResultIntake(store))
        runtime.spawn(sweep(store), "sweep")         # its failure stops the process
        return Scoring(store)

    run_service("scoring", bind)

The end, after SIGTERM or SIGINT: health says NOT_SERVING; after SIGTERM proxies get `stop_notice_seconds` to turn away;
new calls are refused with STOPPING while `drain` sends the go-aways; open calls get `stop_grace_seconds` (after
SIGINT at most two); the store closes.
A second signal ends the process at once.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Coroutine
from importlib.metadata import version
from typing import Any, Final, NoReturn, Protocol

import grpc
from grpc_health.v1.health_pb2_grpc import add_HealthServicer_to_server
from maumau.internal.v1.process_pb2_grpc import add_ProcessServiceServicer_to_server

from services.runtime import metrics
from services.runtime.health import HEALTH, HealthService, Readiness, watch_readiness
from services.runtime.http import LoopPulse, MetricsServer
from services.runtime.key_folder import KeyFolderError
from services.runtime.logs import configure_logs, log
from services.runtime.process import ProcessService
from services.runtime.reflection import add_reflection_v1, add_reflection_v1alpha, reflection_servicer
from services.runtime.routes import PUBLIC, load_contract
from services.runtime.server import INTERNAL_MESSAGE_BYTES, PortInUseError, ServerPort
from services.runtime.settings import Settings, SettingsError, read_settings
from services.runtime.tls import internal_credentials, public_credentials
from services.runtime.traces import TracesMissingError, start_traces
from services.runtime.unoffered import offer

LAG_SECONDS: Final = 0.5
QUICK_GRACE_SECONDS: Final = 2.0
"""Longest grace after SIGINT, when somebody waits at a terminal."""


class Service(Protocol):
    """What a bind function returns: the parts of a service that its process has to ask."""

    async def ready(self) -> bool:
        """Whether a commit is possible now. May raise, which counts as no."""

    async def drain(self) -> None:
        """Asks every stream to move and returns when they are told; is cut after the grace."""

    async def resume(self) -> None:
        """Streams may come again: the operator takes a drained process back into service."""

    async def close(self) -> None:
        """Closes the store; nothing is called any more."""


class Runtime:
    """What a bind function gets: settings, both ports, and a place for background work."""

    def __init__(self, name: str, settings: Settings) -> None:
        self.name, self.settings = name, settings
        self.public = ServerPort(settings, settings.max_message_bytes)
        self.internal = ServerPort(settings, INTERNAL_MESSAGE_BYTES)
        self.readiness = Readiness()
        self.started, self.stopping = asyncio.Event(), asyncio.Event()
        self.failed = False
        self.metrics_port = 0
        self._notice = False
        self._tasks: set[asyncio.Task[None]] = set()

    def spawn(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        """Runs `work` until the process stops. If it raises, that is logged and the process stops with code 1."""
        task = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._finished)
        return task

    def stop(self, *, notice: bool = False) -> None:
        """Begins the end, as a signal does; `notice` gives proxies time to turn away."""
        self._notice = notice
        self.stopping.set()

    def _finished(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("background work failed", work=task.get_name(), exc_info=error)
            self.failed = True
            self.stop()

    async def run(self, bind: Callable[[Runtime], Awaitable[Service]]) -> None:
        """Starts, serves until `stop`, and ends in order."""
        service = await bind(self)
        self._offer_process(service)
        pulse = LoopPulse()

        def ready() -> bool:
            return self.readiness.ready and pulse.alive

        metrics.ready.set_function(ready)
        http = MetricsServer(self.settings.host, self.settings.metrics_port, lambda: pulse.alive, ready)
        self.metrics_port = http.port
        try:
            await self._start()
            self.spawn(_measure_lag(pulse), "loop lag")
            self.spawn(watch_readiness(self.readiness, service.ready, self.settings.ready_check_seconds), "readiness")
            ports = {"public": self.public.number, "internal": self.internal.number, "metrics": http.port}
            log.info("started", pid=os.getpid(), **ports)
            self.started.set()
            await self.stopping.wait()
            await self._end(service)
        finally:
            http.close()

    def _offer_process(self, service: Service) -> None:
        process = ProcessService(self.name, self.readiness, self.settings.stop_notice_seconds, service)
        self.internal.add(add_ProcessServiceServicer_to_server, offer("maumau.internal.v1.ProcessService", process))

    async def _start(self) -> None:
        load_contract()
        health = HealthService(self.readiness, {*self.public.service_names, *self.internal.service_names})
        described = {"public": list(PUBLIC), "internal": list(self.internal.service_names)}
        for port, names in ((self.public, described["public"]), (self.internal, described["internal"])):
            port.add(add_HealthServicer_to_server, health)
            reflection = reflection_servicer([*names, HEALTH])
            port.add(add_reflection_v1alpha, reflection)
            port.add(add_reflection_v1, reflection)
        settings = self.settings
        shown = public_credentials(settings.public_tls_dir), internal_credentials(settings.internal_tls_dir)
        await self.public.start(settings.host, settings.public_port, shown[0])
        await self.internal.start(settings.host, settings.internal_port, shown[1])

    async def _end(self, service: Service) -> None:
        log.info("stopping", notice=self._notice)
        self.readiness.stop()
        if self._notice:
            await asyncio.sleep(self.settings.stop_notice_seconds)
        grace = self.settings.stop_grace_seconds
        if not self._notice:
            grace = min(grace, QUICK_GRACE_SECONDS)
        ends = asyncio.get_running_loop().time() + grace
        for port in (self.public, self.internal):
            port.refuse_new_calls()
        try:
            async with asyncio.timeout(grace):
                await service.drain()
        except Exception as error:
            log.warning("drain failed", error=repr(error))
        left = max(0.0, ends - asyncio.get_running_loop().time())
        await asyncio.gather(self.public.stop(left), self.internal.stop(left))
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await service.close()
        log.info("stopped")


async def _measure_lag(pulse: LoopPulse) -> None:
    loop = asyncio.get_running_loop()
    while True:
        due = loop.time() + LAG_SECONDS
        await asyncio.sleep(LAG_SECONDS)
        pulse.beat()
        metrics.loop_lag_seconds.observe(max(0.0, loop.time() - due))
        metrics.loop_tasks.set(len(asyncio.all_tasks()))


def run_service(name: str, bind: Callable[[Runtime], Awaitable[Service]]) -> NoReturn:
    """The whole `main` of a service. Exit codes: 0 stopped in order, 1 failed, 2 settings that cannot be used."""
    try:
        settings = read_settings()
    except SettingsError as error:
        sys.stderr.write(f"{name} does not start:\n{error}\n")
        raise SystemExit(2) from None
    configure_logs(name, settings.log_level)
    try:
        start_traces(name, settings)
    except TracesMissingError as missing:
        sys.stderr.write(f"{name} does not start:\n{missing}\n")
        raise SystemExit(2) from None
    metrics.build_info.info(
        {"version": version("maumau-server"), "grpc": grpc.__version__, "python": sys.version.split()[0]}
    )
    raise SystemExit(_loop_runner()(_main(name, settings, bind)))


def _loop_runner() -> Callable[[Coroutine[Any, Any, int]], int]:
    try:
        import uvloop
    except ImportError:  # not made for Windows
        return asyncio.run
    return uvloop.run


async def _main(name: str, settings: Settings, bind: Callable[[Runtime], Awaitable[Service]]) -> int:
    runtime = Runtime(name, settings)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, _on_signal, runtime, number)
    try:
        await runtime.run(bind)
    except (PortInUseError, KeyFolderError, OSError) as error:
        log.error("cannot start", error=str(error))
        return 1
    return 1 if runtime.failed else 0


def _on_signal(runtime: Runtime, number: signal.Signals) -> None:
    if runtime.stopping.is_set():
        os._exit(1)
    runtime.stop(notice=number == signal.SIGTERM)
