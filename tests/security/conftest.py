"""One running server for the security tests, two authorities behind Envoy; its logs must hold no error when they are
through."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import grpc
import pytest
import structlog

from services.local.stack import Stack
from services.runtime.key_folder import prepare_key_folder
from tests.e2e.calls import channel_to
from tests.e2e.stacks import complaints, options
from tests.security.length import LONG
from tests.servers import Server, kinds, running
from tests.services.rig import Rig
from tests.services.world import World


@pytest.fixture(scope="session", autouse=True)
def _quiet() -> None:
    """A long run prints its figures; a hundred thousand calls to servers in this process would bury them."""
    if LONG:
        structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with Stack(options(tmp_path_factory.mktemp("stack"))) as running_stack:
        yield running_stack
        assert complaints(running_stack) == []


@pytest.fixture(scope="session")
def world(stack: Stack) -> Iterator[World]:
    with grpc.insecure_channel(stack.address) as channel:
        yield World(channel)


@pytest.fixture
async def channel(stack: Stack) -> AsyncIterator[grpc.aio.Channel]:
    async with channel_to(stack.address) as opened:
        yield opened


@pytest.fixture(scope="session")
def redis_server() -> Iterator[Server]:
    with running(kinds()[0]) as server:
        yield server


@pytest.fixture
async def rig(redis_server: Server, tmp_path: Path) -> AsyncIterator[Rig]:
    prepare_key_folder(tmp_path / "keys")
    async with contextlib.AsyncExitStack() as opened:
        yield Rig(redis_server.url, tmp_path / "keys", opened)
