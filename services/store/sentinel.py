"""A primary that Sentinels name: each new connection asks them where it is, and makes sure that it is one.

When they name another than before, everything that leads to the old one is dropped: a primary that froze or was cut off
closes nothing by itself, and its subscriptions would stay silent.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from redis.asyncio.connection import Connection, SSLConnection
from redis.asyncio.sentinel import MasterNotFoundError, Sentinel
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import ResponseError

from services.store.address import Address
from services.store.connect import Connections, StoreSettings, explicit
from services.store.errors import Host

_CONNECTIONS: Final = 2
"""To each Sentinel: lookups never overlap, but one that was given up may still be closing."""


_CLIENT: Final = re.compile(r"<redis\.asyncio\.client\.Redis.*?\)>\)>\)> - ")
"""What redis-py puts before each Sentinel's failure: half a page of settings."""


class PrimaryLookup:
    """Asks the Sentinels for the address of one service's primary."""

    def __init__(self, settings: StoreSettings, address: Address) -> None:
        with_tls = {name: value for name, value in address.sentinels.items() if name != "connection_class"}
        self._sentinels = Sentinel(  # type: ignore[no-untyped-call]
            address.hosts,
            sentinel_kwargs={
                **with_tls,
                "ssl": address.sentinels.get("connection_class") is SSLConnection,
                **explicit(settings),
                "socket_timeout": settings.connect_timeout_ms / 1000,
                "max_connections": _CONNECTIONS,
            },
        )
        self._service = address.service
        self._asking: asyncio.Task[Host] | None = None
        self.last: Host | None = None
        self.moved: Callable[[], Awaitable[None]] | None = None

    async def find(self) -> Host:
        """Where the primary is now. Raises what redis-py raises."""
        if self._asking is None or self._asking.done():
            self._asking = asyncio.create_task(self._ask())
            self._asking.add_done_callback(_heed)
        return await asyncio.shield(self._asking)  # others wait for the same answer

    async def _ask(self) -> Host:
        try:
            found = Host(*await self._sentinels.discover_master(self._service))
        except MasterNotFoundError as error:
            raise RedisConnectionError(_CLIENT.sub("", str(error))) from None
        before, self.last = self.last, found
        if before not in (None, found) and self.moved is not None:
            await self.moved()
        return found

    async def aclose(self) -> None:
        await self._sentinels.aclose()


def _heed(task: asyncio.Task[Host]) -> None:
    """Whoever asked may have given up meanwhile, and nobody would hear of a failure."""
    if not task.cancelled():
        task.exception()


class _ToPrimary(Connection):
    """Leads wherever the primary is when it connects."""

    def __init__(self, *, lookup: PrimaryLookup, **where: Any) -> None:
        super().__init__(**where)
        self._lookup = lookup

    async def _connect(self) -> None:
        self.host, self.port = await self._lookup.find()
        await super()._connect()  # type: ignore[no-untyped-call]

    async def on_connect_check_health(self, check_health: bool = True) -> None:
        await super().on_connect_check_health(check_health)
        # The Sentinels may not have noticed yet that it was demoted, and a subscription would never be told.
        await self.send_command("ROLE", check_health=False)
        try:
            role, *_ = await self.read_response()
        except ResponseError:  # the ACL may forbid to ask; then a write will tell
            return
        if role != b"master":
            raise RedisConnectionError(f"{self.host}:{self.port} is no primary any more")


class _ToPrimaryByTls(_ToPrimary, SSLConnection):
    pass


class _ByLookup(Connections):
    """Connections whose lookup is closed with them."""

    def __init__(self, settings: StoreSettings, where: Mapping[str, Any], lookup: PrimaryLookup) -> None:
        super().__init__(settings, where)
        self._lookup = lookup
        lookup.moved = self.leave

    async def aclose(self) -> None:
        await super().aclose()
        await self._lookup.aclose()


def connections_by_sentinel(settings: StoreSettings, address: Address) -> Connections:
    """The connections to the primary of the address's service."""
    lookup = PrimaryLookup(settings, address)
    tls = address.where.get("connection_class") is SSLConnection
    where = {**address.where, "lookup": lookup, "connection_class": _ToPrimaryByTls if tls else _ToPrimary}
    return _ByLookup(settings, where, lookup)
