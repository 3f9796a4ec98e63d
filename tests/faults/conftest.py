"""What fault tests share: a server with a proxy before its Redis, and a history file a test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.stacks import complaints
from tests.faults.history import History
from tests.faults.rig import Rig, started


@pytest.fixture(scope="session")
def shared_rig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    with started(tmp_path_factory.mktemp("rig"), environ={"MAUMAU_BOOKMARK_SECONDS": "0.5"}) as rig:
        yield rig
        assert complaints(rig.stack) == []


@pytest.fixture
def rig(shared_rig: Rig) -> Iterator[Rig]:
    """The shared one, with nothing wrong before and after the test."""
    yield shared_rig
    shared_rig.proxy.heal()


@pytest.fixture
def history(tmp_path: Path) -> Iterator[History]:
    written = History(tmp_path / "history.jsonl")
    yield written
    written.close()
