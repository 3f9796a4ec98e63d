"""One running server for all end-to-end tests; its logs must hold no error when they are through."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import grpc
import pytest

from services.local.stack import Stack
from services.store.assembly import Store
from services.store.connect import StoreSettings
from tests.e2e.calls import channel_to
from tests.e2e.stacks import complaints, options
from tests.faults.history import History


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with Stack(options(tmp_path_factory.mktemp("stack"))) as running:
        yield running
        assert complaints(running) == []


@pytest.fixture
async def store(stack: Stack) -> AsyncIterator[Store]:
    """The server's own data."""
    async with Store(StoreSettings(url=stack.redis_url)) as opened:
        yield opened


@pytest.fixture
async def channel(stack: Stack) -> AsyncIterator[grpc.aio.Channel]:
    """A connection to the public address."""
    async with channel_to(stack.address) as opened:
        yield opened


@pytest.fixture
def history(tmp_path: Path) -> Iterator[History]:
    written = History(tmp_path / "history.jsonl")
    yield written
    written.close()
