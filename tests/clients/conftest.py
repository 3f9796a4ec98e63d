"""A fake server for each test, and clients that are closed afterwards."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

import maumau
import pytest
from maumau import backoff

from tests.clients.fake_server import FakeServer

Connect = Callable[..., maumau.Client]


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backoff, "FIRST_SECONDS", 0.02)
    monkeypatch.setattr(backoff, "CAP_SECONDS", 0.2)


@pytest.fixture(autouse=True)
def _own_state_folder(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
    for name in ("MAUMAU_ADDRESS", "MAUMAU_TOKEN_FILE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
async def fake() -> AsyncIterator[FakeServer]:
    server = FakeServer()
    await server.start()
    yield server
    await server.stop()


@pytest.fixture
async def client(fake: FakeServer) -> AsyncIterator[maumau.Client]:
    async with maumau.connect(fake.address, name="Ana") as client:
        yield client
