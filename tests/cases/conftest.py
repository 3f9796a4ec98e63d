"""One running server for the situations of this folder; its logs must hold no error when they are through."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from services.local.stack import Stack
from services.store.assembly import Store
from services.store.connect import StoreSettings
from tests.e2e.lounge import Lounge, lounge
from tests.e2e.stacks import complaints, options

BRIEF = {"MAUMAU_BOOKMARK_SECONDS": "0.2", "MAUMAU_AWAY_GRACE_SECONDS": "0.2", "MAUMAU_RECONNECT_GRACE_SECONDS": "0.1"}
FLEETING = {
    **BRIEF,
    "MAUMAU_BOT_MOVE_MIN_SECONDS": "0.3",
    "MAUMAU_BOT_MOVE_MAX_SECONDS": "0.3",
    "MAUMAU_IDLE_ROOM_SECONDS": "5",  # longer than a busy machine takes from one step in a lobby to the next
    "MAUMAU_EMPTY_ROOM_SECONDS": "0.5",
    "MAUMAU_FINISHED_ROOM_SECONDS": "0.5",
}


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """Absence is noticed soon."""
    with Stack(options(tmp_path_factory.mktemp("cases"), environ=BRIEF)) as running:
        yield running
        assert complaints(running) == []


@pytest.fixture(scope="session")
def fleeting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """Rooms that nobody uses are closed within seconds."""
    with Stack(options(tmp_path_factory.mktemp("fleeting"), environ=FLEETING, authorities=1)) as running:
        yield running
        assert complaints(running) == []


@pytest.fixture
async def hall(stack: Stack) -> AsyncIterator[Lounge]:
    async with lounge(stack.address) as opened:
        yield opened


@pytest.fixture
async def fleeting_hall(fleeting: Stack) -> AsyncIterator[Lounge]:
    async with lounge(fleeting.address) as opened:
        yield opened


@pytest.fixture
async def store(stack: Stack) -> AsyncIterator[Store]:
    async with Store(StoreSettings(url=stack.redis_url)) as opened:
        yield opened
