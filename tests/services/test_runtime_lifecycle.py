"""Health with hysteresis, and an end that loses nothing, in process and as a real process under signals."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse
from grpc_health.v1.health_pb2_grpc import HealthStub
from maumau.v1 import authority_pb2 as authority
from maumau.v1.authority_pb2_grpc import GameAuthorityServiceStub

from services.runtime.health import FAILURES_TO_LEAVE, LIVENESS, SUCCESSES_TO_RETURN, Readiness
from services.runtime.lifecycle import Runtime
from services.runtime.server import ServerPort
from tests.security.certificates import Authority
from tests.services.serving import Probe, free_port_settings, serving
from tests.services.test_runtime_calls import get_rating, refusal

ROOT = Path(__file__).parents[2]


async def test_readiness_goes_after_several_failures_and_returns_after_several_successes() -> None:
    readiness = Readiness()
    readiness.record(True)
    assert readiness.ready
    for _ in range(FAILURES_TO_LEAVE - 1):
        readiness.record(False)
    readiness.record(True)
    assert readiness.ready, "a blip is no outage"
    for _ in range(FAILURES_TO_LEAVE):
        readiness.record(False)
    assert not readiness.ready
    for _ in range(SUCCESSES_TO_RETURN - 1):
        readiness.record(True)
    assert not readiness.ready
    readiness.record(True)
    assert readiness.ready


async def test_health_tells_readiness_by_service_and_liveness_apart_on_both_ports() -> None:
    async with serving(ready_check_seconds=0.01) as served:
        internal = grpc.aio.insecure_channel(f"127.0.0.1:{served.runtime.internal.number}")
        served.probe.can_commit = False
        for channel in (served.channel, internal):
            watch = HealthStub(channel).Watch(HealthCheckRequest(service="maumau.v1.ScoringService"))
            while (await watch.read()).status != HealthCheckResponse.NOT_SERVING:
                pass
            live = await HealthStub(channel).Check(HealthCheckRequest(service=LIVENESS))
            assert live.status == HealthCheckResponse.SERVING
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await HealthStub(served.channel).Check(HealthCheckRequest(service="maumau.v1.Nobody"))
        assert caught.value.code() == grpc.StatusCode.NOT_FOUND
        await internal.close()


async def test_a_health_check_of_an_endless_name_is_answered_in_a_few_words() -> None:
    """The words are a header: one above 60 kB makes the proxy drop the connection, with everybody's streams on it."""
    async with serving() as served:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await HealthStub(served.channel).Check(HealthCheckRequest(service="é" * 30_000))
        assert caught.value.code() == grpc.StatusCode.NOT_FOUND
        assert len(str(caught.value.details())) < 200


async def test_a_check_that_raises_counts_as_a_failure() -> None:
    async with serving(ready_check_seconds=0.01) as served:
        served.probe.can_commit = ConnectionError()
        async with asyncio.timeout(10):
            while served.runtime.readiness.ready:
                await served.runtime.readiness.changed()


async def test_stopping_drains_streams_refuses_new_calls_and_closes_the_store_last() -> None:
    async with serving() as served:
        call = GameAuthorityServiceStub(served.channel).Watch(authority.WatchRequest())
        await call.read()
        drained = asyncio.Event()

        async def drain() -> None:
            served.probe.order.append("drain")
            drained.set()
            assert (await refusal(get_rating(served)))[:2] == (grpc.StatusCode.UNAVAILABLE, "STOPPING")
            served.probe.hold.set()

        served.probe.drain = drain  # type: ignore[method-assign]
        served.runtime.stop()
        await served.task
        assert served.probe.order == ["drain", "close"]
        assert served.probe.left.is_set()
        assert not served.runtime.readiness.ready


async def test_a_drain_that_hangs_does_not_hold_the_end_up() -> None:
    async with serving(stop_grace_seconds=0.1) as served:
        served.probe.drain = asyncio.Event().wait  # type: ignore[assignment, method-assign]
        served.runtime.stop()
        async with asyncio.timeout(10):
            await served.task
        assert served.probe.order == ["close"]


async def test_background_work_that_fails_stops_the_process_in_order() -> None:
    async with serving() as served:

        async def fail() -> None:
            raise RuntimeError("sweep")

        served.runtime.spawn(fail(), "sweep")
        async with asyncio.timeout(10):
            await served.task
        assert served.runtime.failed
        assert served.probe.order == ["drain", "close"]


async def test_a_port_that_is_taken_is_named_and_never_shared() -> None:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        port = holder.getsockname()[1]

        async def bind(_: Runtime) -> Probe:
            return Probe()

        settings = free_port_settings().model_copy(update={"public_port": port})
        with pytest.raises(OSError, match=f"127.0.0.1:{port} cannot be opened"):
            await Runtime("fake", settings).run(bind)


class Started:
    """A fake service as a process, its log read line by line."""

    def __init__(self, **environ: str) -> None:
        ports = {f"MAUMAU_{name}_PORT": "0" for name in ("PUBLIC", "INTERNAL", "METRICS")}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.services.fake_service", "fake"],
            cwd=ROOT,
            env={**os.environ, **ports, **environ},
            stdout=subprocess.PIPE,
            text=True,
        )
        self.lines: list[str] = []
        self.port = int(self.wait_for(r'"public":(\d+)'))

    def wait_for(self, pattern: str) -> str:
        """Reads the log until a line matches; its first group."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line)
            if match := re.search(pattern, line):
                return match[1] if match.groups() else match[0]
        raise AssertionError(f"no {pattern} in {self.lines}")


@contextlib.contextmanager
def started(**environ: str) -> Iterator[Started]:
    service = Started(**environ)
    reaper = threading.Timer(60, service.process.kill)
    reaper.start()
    try:
        yield service
    finally:
        reaper.cancel()
        service.process.kill()
        service.process.communicate()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_process_in_order_with_code_0(number: signal.Signals) -> None:
    with started(MAUMAU_STOP_NOTICE_SECONDS="0") as service:
        service.process.send_signal(number)
        service.wait_for('"event":"stopped"')
        assert service.process.wait(10) == 0


def test_sigterm_gives_proxies_time_while_calls_are_still_taken() -> None:
    with started(MAUMAU_STOP_NOTICE_SECONDS="60") as service:
        service.process.send_signal(signal.SIGTERM)
        service.wait_for('"ready":false')
        with grpc.insecure_channel(f"127.0.0.1:{service.port}") as channel:
            check: Any = channel.unary_unary("/maumau.v1.ScoringService/GetRating")
            assert check(b"", timeout=10) == b""
            status = HealthStub(channel).Check(HealthCheckRequest(), timeout=10).status
        assert status == HealthCheckResponse.NOT_SERVING


def test_a_second_signal_ends_the_process_at_once() -> None:
    with started(MAUMAU_STOP_NOTICE_SECONDS="60") as service:
        service.process.send_signal(signal.SIGTERM)
        service.wait_for('"event":"stopping"')
        service.process.send_signal(signal.SIGTERM)
        assert service.process.wait(10) == 1


def test_settings_that_cannot_be_used_end_the_process_with_code_2_and_a_sentence() -> None:
    environ = {**os.environ, "MAUMAU_PUBLIC_PROT": "1"}
    ended = subprocess.run(
        [sys.executable, "-m", "tests.services.fake_service", "fake"],
        cwd=ROOT,
        env=environ,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert ended.returncode == 2
    assert "MAUMAU_PUBLIC_PROT is no setting of this server; did you mean MAUMAU_PUBLIC_PORT" in ended.stderr
    assert "Traceback" not in ended.stderr


async def test_certificates_that_cannot_be_used_are_named_and_no_port_is_blamed(tmp_path: Path) -> None:
    folder = Authority("ours").issue(tmp_path / "tls")
    (folder / "tls.key").write_bytes((Authority("theirs").issue(tmp_path / "other") / "tls.key").read_bytes())

    async def bind(_: Runtime) -> Probe:
        return Probe()

    for setting in ("public_tls_dir", "internal_tls_dir"):
        settings = free_port_settings(**{setting: folder})
        with pytest.raises(OSError, match=f"{folder} cannot be used: .*; expected a certificate"):
            await Runtime("fake", settings).run(bind)


async def test_the_grace_is_for_streams_and_calls_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """An orchestrator's patience is no longer than that."""
    given: list[float] = []
    stop = ServerPort.stop

    async def stopped(port: ServerPort, grace_seconds: float) -> None:
        given.append(grace_seconds)
        await stop(port, grace_seconds)

    monkeypatch.setattr(ServerPort, "stop", stopped)
    async with serving(stop_grace_seconds=0.1) as served:
        served.probe.drain = asyncio.Event().wait  # type: ignore[assignment, method-assign]
        served.runtime.stop()
        await served.task
    assert max(given) < 0.05, "the streams had all of it"
