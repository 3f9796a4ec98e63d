"""What fault tests share: a history file a test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.history import History


@pytest.fixture
def history(tmp_path: Path) -> Iterator[History]:
    written = History(tmp_path / "history.jsonl")
    yield written
    written.close()
