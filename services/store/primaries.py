"""The primaries that hold the data: one, by address or as Sentinels name it, or those of a Cluster.

Everything above asks for the primary of a key and knows nothing else of the set-up.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from services.store.address import CLUSTER, SENTINEL, read_address
from services.store.cluster import Cluster
from services.store.connect import NO_USE, POOLS, Connections, PoolUse, StoreSettings, check_settings
from services.store.sentinel import connections_by_sentinel


class Primaries(Protocol):
    """What the batchers and the hub ask."""

    settings: StoreSettings

    def of(self, key: str) -> Connections | None:
        """The primary that has this key or channel; None while that is not known."""

    def all(self) -> Sequence[Connections]:
        """Every primary that is known to have data."""

    async def find(self) -> None:
        """Ask where the primaries are. Raises `StoreUnavailable` if nobody says."""

    def doubt(self) -> None:
        """A primary does not answer as it should: ask again before long."""

    def on_change(self, told: Callable[[], None]) -> None:
        """Calls `told` whenever a key may have another primary than before."""

    async def aclose(self) -> None:
        """Close every connection."""


class OnePrimary:
    """All keys have one primary. If it moves, its own connections notice (see `sentinel.py`)."""

    def __init__(self, connections: Connections) -> None:
        self.settings = connections.settings
        self.connections = connections

    def of(self, key: str) -> Connections:
        return self.connections

    def all(self) -> Sequence[Connections]:
        return (self.connections,)

    async def find(self) -> None:
        return None

    def doubt(self) -> None:
        return None

    def on_change(self, told: Callable[[], None]) -> None:
        return None

    async def aclose(self) -> None:
        await self.connections.aclose()


def pool_use(primaries: Primaries) -> dict[str, PoolUse]:
    """The use of each pool, over all primaries that are known now."""
    uses = [primary.use() for primary in primaries.all()]
    return {pool: PoolUse(*map(sum, zip(NO_USE, *(use[pool] for use in uses), strict=True))) for pool in POOLS}


def primaries(settings: StoreSettings) -> Primaries:
    """The primaries that the settings name. Raises `BadArgument`; nothing connects before it is used."""
    check_settings(settings)
    address = read_address(settings.url)
    if address.kind == CLUSTER:
        return Cluster(settings, address)
    if address.kind == SENTINEL:
        return OnePrimary(connections_by_sentinel(settings, address))
    return OnePrimary(Connections(settings, address.where))
