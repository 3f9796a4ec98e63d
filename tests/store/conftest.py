"""Every test of the store runs against each kind of server. Tests share one server a kind and keep apart by prefix;
a test that does harm to a server starts its own (`own_server`)."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest
import redis

from services.store.assembly import Store
from services.store.connect import StoreSettings
from tests.servers import Kind, Server, kinds, running

_PREFIXES = (f"t{number}" for number in itertools.count())

PATIENT: dict[str, Any] = {
    "connect_timeout_ms": 20_000,
    "command_timeout_ms": 20_000,
    "pool_wait_ms": 20_000,
    "replica_timeout_ms": 10_000,
}

MakeStore = Callable[..., Store]


@pytest.fixture(scope="session", params=kinds())
def kind(request: pytest.FixtureRequest) -> Kind:
    chosen: Kind = request.param
    return chosen


@pytest.fixture(scope="session")
def server(kind: Kind) -> Iterator[Server]:
    with running(kind) as started:
        yield started


@pytest.fixture
def own_server(kind: Kind) -> Iterator[Server]:
    with running(kind) as started:
        yield started


@pytest.fixture
def prefix() -> str:
    return next(_PREFIXES)


@pytest.fixture
def raw(server: Server) -> Iterator[redis.Redis]:
    client = server.client()
    yield client
    client.close()


@pytest.fixture
async def make_store(server: Server, prefix: str) -> AsyncIterator[MakeStore]:
    """Makes stores as several processes would have them: on the same keys, with connections of their own. They are
    patient unless told otherwise: what is not about time must not fail for it."""
    made: list[Store] = []

    def make(at: Server = server, *, url: str = "", **settings: int) -> Store:
        made.append(Store(StoreSettings(url=url or at.url, prefix=prefix, **{**PATIENT, **settings})))
        return made[-1]

    yield make
    for store in made:
        await store.aclose()


@pytest.fixture
def store(make_store: MakeStore) -> Store:
    return make_store()
