"""What the compose file has by option, on a real engine: Sentinels that choose another primary, and TLS."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest
from maumau.v1 import matchmaking_pb2
from maumau.v1.matchmaking_pb2_grpc import MatchmakingServiceStub

from tests.containers.composed import ADDRESS, MATCHES, Composed, composed_project, in_order, play, told
from tests.containers.engine import ROOT, Engine
from tests.e2e.calls import sign_in
from tests.e2e.eventually import eventually
from tests.e2e.playing import get_on
from tests.faults.history import History, Outcome, read_records
from tests.security.certificates import Authority

pytestmark = [pytest.mark.needs("root", "docker", "dockerd"), pytest.mark.timeout(2_400)]

ACTS = 60


@pytest.fixture
def replicated(docker: Engine, image: str, tmp_path: Path) -> Iterator[Composed]:
    with composed_project(docker, tmp_path, "--env-file", str(ROOT / "deploy/sentinel.env")) as running:
        yield running


async def test_matches_go_on_when_the_primary_is_gone_and_it_comes_back_as_a_replica(
    replicated: Composed, docker: Engine, history: History
) -> None:
    assert replicated.primary() == "redis"
    (first,) = replicated.containers("redis")

    async def lose_the_primary() -> None:
        await get_on(history, ACTS)
        await asyncio.to_thread(docker.docker, "kill", first)  # which no restart follows
        await eventually(lambda: replicated.primary() != "redis", "the Sentinels name another", 60)
        await get_on(history, ACTS)
        await asyncio.to_thread(docker.docker, "start", first)
        await in_order(replicated, first)
        told = ("redis-cli", "info", "replication")
        await eventually(lambda: "role:slave" in replicated.run_in("redis", *told), "the old one follows", 60)
        await get_on(history, ACTS)

    matches = await play(replicated, history, "S", lose_the_primary, MATCHES[::4])
    assert replicated.primary() != "redis"
    assert read_records([history.path]).count(Outcome.UNKNOWN) == 0, "every call was answered in the end"
    print(f"killed the primary: {told(history, matches)}")


@pytest.fixture
def certified(tmp_path: Path) -> Authority:
    """What has signed the certificates in `tls` under the test's folder."""
    ours = Authority("ours")
    ours.issue(tmp_path / "tls")
    return ours


@pytest.fixture
def secured(docker: Engine, image: str, tmp_path: Path, certified: Authority) -> Iterator[Composed]:
    with composed_project(docker, tmp_path, MAUMAU_PUBLIC_TLS_DIR=str(tmp_path / "tls")) as running:
        yield running


async def test_with_a_folder_of_certificates_clients_are_served_over_tls_alone(
    secured: Composed, certified: Authority
) -> None:
    async with grpc.aio.secure_channel(ADDRESS, grpc.ssl_channel_credentials(certified.pem)) as channel:
        ana = await sign_in(channel, "Ana")
        assert await ana.create_room(2)
    async with grpc.aio.insecure_channel(ADDRESS) as channel:
        call = MatchmakingServiceStub(channel).GetServerInfo(matchmaking_pb2.GetServerInfoRequest(), timeout=5)
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await call
        assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
    await eventually(lambda: _moves(secured) > 0, "the synthetic player plays inside", 60)


def _moves(composed: Composed) -> float:
    script = "import urllib.request as r; print(r.urlopen('http://127.0.0.1:7803/metrics').read().decode())"
    lines = composed.run_in("synthetic", "python", "-c", script).splitlines()
    return sum(
        float(line.split()[-1]) for line in lines if line.startswith('maumau_synthetic_moves_total{outcome="ok"}')
    )
