"""Connections to one primary: one place that turns settings into pools.

redis-py runs a command again by itself and raises when a pool is empty. Both are wrong for commits, so every timeout,
retry and size is given here. Three pools, since a blocked read or a subscription must not starve commits.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import msgspec
from redis.asyncio.connection import BlockingConnectionPool
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import ResponseError

from services.store.errors import BadArgument


class StoreSettings(msgspec.Struct, frozen=True):
    """Everything about Redis that an operator may set."""

    url: str = "redis://127.0.0.1:6379/0"
    """See services/store/address.py."""
    prefix: str = "maumau"
    command_connections: int = 16
    blocking_connections: int = 8
    pubsub_connections: int = 2
    connect_timeout_ms: int = 1_000
    command_timeout_ms: int = 2_000
    """For one batch of commands, or one reply about a subscription. Keep it below the deadline of a call."""
    blocking_timeout_ms: int = 4_000
    """For one reply of a blocking read; such a read blocks for at most half of it."""
    pool_wait_ms: int = 1_000
    """For a free connection."""
    health_check_ms: int = 15_000
    """A connection idle for longer is tried with PING before it is used; a silent subscription likewise."""
    commands_per_batch: int = 64
    batches: int = 2
    """Batches of writes on their way at a time; as many of reads."""
    replicas_to_wait: int = 0
    """A commit is acknowledged only when so many replicas have it."""
    replica_timeout_ms: int = 1_000
    presence_ms: int = 25_000
    """A stream that is not renewed is gone after this."""


class PoolUse(NamedTuple):
    """For the metrics: connections that somebody works with, the most there may be, and how many broke so far."""

    in_use: int
    limit: int
    breaks: int


POOLS: Final = ("commands", "blocking", "pubsub")
NO_USE: Final = PoolUse(0, 0, 0)


class Connections:
    """The three pools of one primary, and the connections `kept` of that for commands. Nothing connects before it is
    used. `name` is for the metrics and logs."""

    def __init__(self, settings: StoreSettings, where: Mapping[str, Any], name: str = "primary") -> None:
        self.settings = settings
        self.name = name
        self.commands = _pool(where, settings, settings.command_connections, None)  # batches have their own timeout
        self.kept = KeptConnections(self.commands)
        self.blocking = _pool(where, settings, settings.blocking_connections, settings.blocking_timeout_ms)
        self.pubsub = _pool(where, settings, settings.pubsub_connections, settings.command_timeout_ms)

    def use(self) -> dict[str, PoolUse]:
        """The use of each pool; breaks of subscriptions are counted by the hub."""
        pools = dict(zip(POOLS, (self.commands, self.blocking, self.pubsub), strict=True))
        use = {name: PoolUse(len(pool._in_use_connections), pool.max_connections, 0) for name, pool in pools.items()}
        commands = use["commands"]
        use["commands"] = commands._replace(in_use=commands.in_use - self.kept.idle, breaks=self.kept.breaks)
        return use

    async def ask(self, *command: str) -> Any:
        """The reply to one command, outside of the batches. Raises what redis-py raises."""
        async with asyncio.timeout(self.settings.connect_timeout_ms / 1000):
            connection = await self.kept.take()
            try:
                await connection.send_command(*command, check_health=False)
                return await connection.read_response()
            except BaseException as error:
                if not isinstance(error, ResponseError):
                    await connection.disconnect(nowait=True)
                raise
            finally:
                await self.kept.give_back(connection)

    async def leave(self) -> None:
        """The primary is elsewhere now: end what is idle, and the subscriptions, which then find their way anew."""
        await self.kept.disconnect()
        await self.pubsub.disconnect()

    async def aclose(self) -> None:
        """Close every connection, also those in use."""
        for pool in (self.commands, self.blocking, self.pubsub):
            await pool.aclose()


class KeptConnections:
    """Connections that go from one batch to the next: to ask the pool for one costs more than a batch does. There are
    at most as many as the pool has."""

    def __init__(self, pool: BlockingConnectionPool) -> None:
        self._pool = pool
        self._kept: list[Any] = []
        self._asking = 0
        self.breaks = 0
        """How many connections were found dead, or died in use."""

    @property
    def idle(self) -> int:
        """Connections that are kept and that nobody has taken."""
        return len(self._kept)

    async def at_hand(self) -> Any:
        """A connection that is open and in step, without waiting; None where one has to be waited for, by `take`."""
        if self._kept and self._kept[-1].is_connected and not await self._kept[-1].can_read():
            return self._kept.pop()
        return None

    async def take(self) -> Any:
        """A connection that leads to Redis. Raises what redis-py raises where there is none."""
        if not self._kept:
            return await self._ask()
        connection = self._kept.pop()
        try:
            if connection.is_connected and await connection.can_read():  # closed by the other side, or out of step
                self.breaks += 1
                await connection.disconnect()
            await connection.connect()
        except BaseException:
            await self._pool.release(connection)
            raise
        return connection

    async def _ask(self) -> Any:
        self._asking += 1
        try:
            return await self._pool.get_connection()  # type: ignore[no-untyped-call]
        finally:
            self._asking -= 1

    async def give_back(self, connection: Any) -> None:
        """For the next who takes one, or who waits at the pool."""
        self.breaks += not connection.is_connected
        if self._asking:
            await self._pool.release(connection)
        else:
            self._kept.append(connection)

    async def disconnect(self) -> None:
        """Ends all that nobody has taken; they are made anew when they are."""
        for connection in self._kept:
            await connection.disconnect()
        await self._pool.disconnect(inuse_connections=False)


def check_settings(settings: StoreSettings) -> None:
    """Raises `BadArgument` for what cannot be, except in the URL."""
    for field in settings.__struct_fields__:
        value = getattr(settings, field)
        least = 0 if field == "replicas_to_wait" else 1
        if isinstance(value, int) and value < least:
            raise BadArgument(field, value, f"{least} or more")
    if settings.replicas_to_wait and settings.replica_timeout_ms >= settings.command_timeout_ms:
        raise BadArgument("replica_timeout_ms", settings.replica_timeout_ms, "below command_timeout_ms")


def explicit(settings: StoreSettings) -> dict[str, Any]:
    """What no connection may leave to the defaults of redis-py, besides its time limit."""
    return {
        "socket_connect_timeout": settings.connect_timeout_ms / 1000,
        "retry": Retry(NoBackoff(), 0),
        "retry_on_error": [],
        "health_check_interval": settings.health_check_ms / 1000,
        "decode_responses": False,
        # RESP3 would cost each connection a handshake and gives nothing that is used here.
        "protocol": 2,
    }


def _pool(
    where: Mapping[str, Any], settings: StoreSettings, size: int, timeout_ms: int | None
) -> BlockingConnectionPool:
    return BlockingConnectionPool(
        max_connections=size,
        timeout=settings.pool_wait_ms / 1000,
        **{**where, **explicit(settings), "socket_timeout": None if timeout_ms is None else timeout_ms / 1000},
    )
