"""The way between a process and the simulated Redis: pools and connections as the store takes them from redis-py.

The batcher and the hub of the store run unchanged on these. What may happen on the way is drawn message by message: a
request or a reply is lost, a connection breaks in the middle of a batch, a subscription dies with or without a sign.
"""

from __future__ import annotations

import asyncio
import random
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

import hiredis
from redis import exceptions as redis_errors
from redis.asyncio.connection import BlockingConnectionPool

from services.store.connect import Connections, KeptConnections, StoreSettings
from tests.simulation.loop import Node
from tests.simulation.redis_server import RedisServer


@dataclass
class Weather:
    """How bad the ways are just now. Chances are per batch or per message; times in seconds."""

    latency: float = 0.0005
    slow: float = 0.0
    slow_latency: float = 0.3
    request_lost: float = 0.0
    reply_lost: float = 0.0
    batch_cut: float = 0.0
    message_lost: float = 0.0
    message_late: float = 0.0


class RedisLink:
    """One process and its way to Redis. `cut`: nothing gets through, in neither direction."""

    def __init__(self, server: RedisServer, node: Node, weather: Weather, chance: random.Random) -> None:
        self.server = server
        self.node = node
        self.weather = weather
        self.chance = chance
        self.cut = False
        self.lines: list[PubSubConnection] = []

    def delay(self) -> float:
        """How long one message takes."""
        weather = self.weather
        most = weather.slow_latency if weather.slow and self.chance.random() < weather.slow else weather.latency
        return most * (0.2 + self.chance.random())

    def happens(self, probability: float) -> bool:
        return probability > 0 and self.chance.random() < probability


class SimulatedConnections(Connections):
    """The store's own connections, over simulated pools."""

    def __init__(self, link: RedisLink) -> None:
        self.name = "primary"
        self.settings = StoreSettings(prefix="s", command_timeout_ms=2_000, connect_timeout_ms=1_000)
        seconds = self.settings.connect_timeout_ms / 1000
        self.commands = cast(BlockingConnectionPool, _Pool(lambda: CommandConnection(link, seconds)))
        self.kept = KeptConnections(self.commands)
        self.blocking = self.commands
        self.pubsub = cast(BlockingConnectionPool, _Pool(lambda: PubSubConnection(link, seconds)))


class _Pool:
    """As much of a pool of redis-py as the store uses."""

    def __init__(self, make: Callable[[], _Connection]) -> None:
        self._make = make
        self._idle: list[_Connection] = []
        self._all: list[_Connection] = []

    async def get_connection(self) -> Any:
        connection = self._idle.pop() if self._idle else self._make()
        if connection not in self._all:
            self._all.append(connection)
        try:
            await connection.connect()
        except BaseException:
            await self.release(connection)
            raise
        return connection

    async def release(self, connection: _Connection) -> None:
        self._idle.append(connection)

    async def disconnect(self, inuse_connections: bool = True) -> None:
        for connection in self._all if inuse_connections else self._idle:
            await connection.disconnect(nowait=True)

    async def aclose(self) -> None:
        await self.disconnect()


class _Connection(ABC):
    """What both kinds of connection share: they come about, break, and are made anew."""

    def __init__(self, link: RedisLink, connect_seconds: float) -> None:
        self.is_connected = False
        self._link = link
        self._connect_seconds = connect_seconds

    async def connect(self) -> None:
        """Raises ConnectionError or TimeoutError of redis-py where that does not succeed."""
        if self.is_connected:
            return
        link = self._link
        await asyncio.sleep(2 * link.delay())
        if link.cut:
            await asyncio.sleep(self._connect_seconds)
            raise redis_errors.TimeoutError("Timeout connecting to server")
        if not link.server.up:
            raise redis_errors.ConnectionError("Error 111 connecting. Connection refused.")
        self.begin()
        self.is_connected = True
        link.server.connect(self)

    @abstractmethod
    def begin(self) -> None:
        """The connection is a new one."""

    async def can_read(self) -> bool:
        """Whether something lies there that nobody asked for. Never: what is broken here is known to be."""
        return False

    def pack_commands(self, commands: Sequence[Any]) -> list[bytes]:
        return [hiredis.pack_command(tuple(command)) for command in commands]

    async def disconnect(self, nowait: bool = False) -> None:
        self.is_connected = False
        self._link.server.disconnect(self)

    @abstractmethod
    def hear(self, channel: bytes, message: bytes) -> None:
        """Something was published."""

    def cut(self) -> None:
        """The connection breaks, and this side notices."""
        self.is_connected = False


class CommandConnection(_Connection):
    """One connection for commands. Redis runs a batch in one go when it arrives, or a part of it if the connection
    breaks on the way; a stalled Redis runs it later, though nobody waits for it any more."""

    def begin(self) -> None:
        self._waiting: list[asyncio.Future[Any]] = []
        self._replies: deque[asyncio.Future[Any]] = deque()

    async def send_packed_command(self, packed: Iterable[bytes], check_health: bool = True) -> None:
        if not self.is_connected:
            raise redis_errors.ConnectionError("Connection closed by server.")
        link = self._link
        loop = asyncio.get_running_loop()
        commands = unpacked(packed)
        waiting = [loop.create_future() for _ in commands]
        self._waiting = waiting
        self._replies = deque(waiting)
        if link.cut or link.happens(link.weather.request_lost):
            return
        runs = len(commands)
        if link.happens(link.weather.batch_cut):
            runs = link.chance.randrange(runs + 1)
        link.server.node.after(link.delay(), self._arrive, commands, waiting, runs)

    def _arrive(self, commands: list[tuple[bytes, ...]], waiting: list[asyncio.Future[Any]], runs: int) -> None:
        link = self._link
        if not link.server.up:
            return
        replies = [link.server.run(command) for command in commands[:runs]]
        if link.cut or link.happens(link.weather.reply_lost):
            return
        if runs < len(commands):
            link.node.after(link.delay(), self._cut_short, waiting)
        else:
            link.node.after(link.delay(), self._answer, waiting, replies)

    def _answer(self, waiting: list[asyncio.Future[Any]], replies: list[Any]) -> None:
        for future, reply in zip(waiting, replies, strict=True):
            if not future.done():
                future.set_result(reply)

    async def read_response(self, timeout: float) -> Any:
        reply = await self._replies.popleft()
        if reply is _BROKEN:
            raise redis_errors.ConnectionError("Connection closed by server.")
        if isinstance(reply, redis_errors.ResponseError):
            raise reply
        return reply

    def hear(self, channel: bytes, message: bytes) -> None:
        """It never subscribes."""

    def _cut_short(self, waiting: list[asyncio.Future[Any]]) -> None:
        if waiting is self._waiting:
            self.cut()

    def cut(self) -> None:
        super().cut()
        for future in self._waiting:
            if not future.done():
                future.set_result(_BROKEN)


_BROKEN: Final = object()


def unpacked(packed: Iterable[bytes]) -> list[tuple[bytes, ...]]:
    """The commands in what goes over the wire, as Redis reads them."""
    reader = hiredis.Reader()
    for part in packed:
        reader.feed(part)
    commands = []
    while (command := reader.gets()) is not False:
        commands.append(tuple(command))
    return commands


class PubSubConnection(_Connection):
    """One connection for subscriptions. `deaf`: Redis has forgotten it, and nothing says so."""

    def __init__(self, link: RedisLink, connect_seconds: float) -> None:
        super().__init__(link, connect_seconds)
        self._wake = asyncio.Event()

    def begin(self) -> None:
        self.deaf = False
        self._incoming: deque[Any] = deque()  # its own: what is still under way to the last one never comes
        self._sent_until = self._told_until = 0.0
        if self not in self._link.lines:
            self._link.lines.append(self)

    async def send_packed_command(self, packed: Iterable[bytes], check_health: bool = True) -> None:
        if not self.is_connected:
            raise redis_errors.ConnectionError("Connection closed by server.")
        if self._link.cut:
            self.lose()
        if self.deaf:
            return
        loop = asyncio.get_running_loop()
        self._sent_until = max(self._sent_until, loop.time() + self._link.delay())
        self._link.server.node.after(self._sent_until - loop.time(), self._arrive, unpacked(packed))

    def _arrive(self, commands: list[tuple[bytes, ...]]) -> None:
        server = self._link.server
        if not server.up or not self.is_connected or self.deaf:
            return
        for command in commands:
            match command:
                case (b"SSUBSCRIBE", channel):
                    server.subscribe(channel, self)
                    self._tell([b"ssubscribe", channel, 1])
                case (b"SUNSUBSCRIBE", channel):
                    server.unsubscribe(channel, self)
                    self._tell([b"sunsubscribe", channel, 0])
                case _:
                    self._tell([b"pong", b""])

    def hear(self, channel: bytes, message: bytes) -> None:
        if not self._link.happens(self._link.weather.message_lost):
            self._tell([b"smessage", channel, message])

    def _tell(self, reply: list[Any]) -> None:
        link = self._link
        if link.cut:
            self.lose()
        if self.deaf or not link.node.alive:
            return
        now = asyncio.get_running_loop().time()
        late = 2.0 * link.chance.random() if link.happens(link.weather.message_late) else 0.0
        self._told_until = max(self._told_until, now + link.delay() + late)
        link.node.after(self._told_until - now, self._take, self._incoming, reply)

    def lose(self) -> None:
        """Nothing is missing in the middle of a connection: once something was lost, nothing comes any more."""
        self._link.server.disconnect(self)
        self.deaf = True

    def _take(self, incoming: deque[Any], reply: Any) -> None:
        incoming.append(reply)
        self._wake.set()

    async def read_response(self, timeout: float) -> Any:
        while not self._incoming:
            if not self.is_connected:
                raise redis_errors.ConnectionError("Connection closed by server.")
            self._wake.clear()
            await self._wake.wait()
        return self._incoming.popleft()

    def cut(self) -> None:
        super().cut()
        self._incoming.clear()  # what was under way to it is gone
        self._wake.set()

    async def disconnect(self, nowait: bool = False) -> None:
        await super().disconnect()
        self._wake.set()
        if self in self._link.lines:
            self._link.lines.remove(self)
