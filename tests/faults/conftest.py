"""What fault tests share: a server with a proxy before its Redis, and a history file a test.

`@pytest.mark.long` is for what the smoke has no time for, mostly controls: it runs at the sizes `usual` and `full`, and
the smoke says at its beginning how much it leaves out.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.stacks import complaints
from tests.faults.history import History
from tests.faults.rig import Rig, started
from tests.faults.scale import SIZE, SIZES

LEFT_OUT = pytest.StashKey[int]()


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "long: not in the smoke, but with FAULTS=usual or full")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if SIZES[0] != SIZE:
        return
    long = [item for item in items if item.get_closest_marker("long")]
    config.stash[LEFT_OUT] = len(long)
    config.hook.pytest_deselected(items=long)
    items[:] = [item for item in items if item not in long]


def pytest_report_collectionfinish(config: pytest.Config) -> list[str]:
    number = config.stash.get(LEFT_OUT, 0)
    return [f"left out: {number} fault tests that only `make faults` has time for"] if number else []


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
