"""One server of Redis's kind for all tests of services, and the processes of one test on it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import grpc
import pytest

from services.runtime.key_folder import prepare_key_folder
from tests.servers import Server, kinds, running
from tests.services.rig import Rig
from tests.services.scorers import Operator, Scorers, operator_of, two_scorers


@pytest.fixture(scope="session")
def redis_server() -> Iterator[Server]:
    with running(kinds()[0]) as server:
        yield server


@pytest.fixture
async def rig(redis_server: Server, tmp_path: Path) -> AsyncIterator[Rig]:
    prepare_key_folder(tmp_path / "keys")
    async with AsyncExitStack() as stack:
        yield Rig(redis_server.url, tmp_path / "keys", stack)


@pytest.fixture
async def scorers(rig: Rig) -> Scorers:
    return await two_scorers(rig)


@pytest.fixture
async def operator(rig: Rig, scorers: Scorers) -> AsyncIterator[Operator]:
    channels = [grpc.aio.insecure_channel(address) for address in rig.internal_addresses]
    yield operator_of(rig, channels)
    for channel in channels:
        await channel.close()
