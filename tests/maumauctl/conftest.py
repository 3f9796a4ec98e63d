"""One running server for all commands, and people in it. What the services log must hold no error afterwards."""

from __future__ import annotations

from collections.abc import Iterator

import grpc
import pytest

from services.local.stack import Stack
from tests.e2e.stacks import complaints, options
from tests.maumauctl.running import Command, sign_in
from tests.services.world import Caller


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    environ = {"MAUMAU_STOP_NOTICE_SECONDS": "0.2", "MAUMAU_BOOKMARK_SECONDS": "1"}
    with Stack(options(tmp_path_factory.mktemp("stack"), environ=environ)) as running:
        yield running
        assert complaints(running) == []


@pytest.fixture(scope="session")
def ctl(stack: Stack) -> Command:
    """`maumauctl` beside the running server, which it finds by itself."""
    return Command({"MAUMAU_VAR_DIR": str(stack.var_dir)})


@pytest.fixture(scope="session")
def channel(stack: Stack) -> Iterator[grpc.Channel]:
    with grpc.insecure_channel(stack.address) as opened:
        yield opened


@pytest.fixture
def ana(channel: grpc.Channel) -> Caller:
    return sign_in(channel, "Ana")


@pytest.fixture
def bo(channel: grpc.Channel) -> Caller:
    return sign_in(channel, "Bo")
