"""One running server for all pages, with bots and bookmarks that keep nobody waiting."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from services.local.stack import Stack
from tests.e2e.stacks import options


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    environ = {"MAUMAU_BOOKMARK_SECONDS": "0.5"}
    with Stack(options(tmp_path_factory.mktemp("docs"), environ=environ)) as running:
        yield running
