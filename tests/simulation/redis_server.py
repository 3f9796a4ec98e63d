"""A Redis that lives in the simulation: one node that runs commands one after the other, publishes, stalls, dies and
comes back, perhaps without what it wrote last."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable
from typing import Any, Final, Protocol

from redis.exceptions import NoScriptError, ResponseError

from tests.simulation.commands import COMMANDS
from tests.simulation.keyspace import Keyspace
from tests.simulation.loop import Node, SimulationLoop
from tests.simulation.scripts import ALL_CHECKS, Checks, Scripts

EPOCH: Final = 1_800_000_000.0
"""The wall clock when a simulation begins, in seconds since 1970."""


class Listener(Protocol):
    """A connection that subscribes."""

    def hear(self, channel: bytes, message: bytes) -> None: ...

    def cut(self) -> None: ...


Observer = Callable[[str, list[str], tuple[bytes, ...], Any], None]
"""Hears of every script that ran: its SHA-1, keys, arguments and reply."""


class RedisServer:
    """See the module. `offset_ms` is how far its clock is from the simulation's."""

    def __init__(self, loop: SimulationLoop, checks: Checks = ALL_CHECKS, db: Keyspace | None = None) -> None:
        self.node = Node(loop, "redis")
        self.db = db or Keyspace()
        self.up = True
        self.offset_ms = 0
        self.observers: list[Observer] = []
        self.rolled_back: list[Callable[[], None]] = []
        self.stopped_at = 0.0
        self._loop = loop
        self._scripts = Scripts(self.db, self._publish, checks)
        self._known: set[bytes] = set()
        self._channels: dict[bytes, list[Listener]] = {}
        self._connections: dict[Listener, None] = {}

    @property
    def now_ms(self) -> int:
        return int((EPOCH + self._loop.time()) * 1000) + self.offset_ms

    def run(self, command: tuple[bytes, ...]) -> Any:
        """Runs one command; its reply, or the error that Redis replies."""
        self.db.begin(self._loop.time(), self.now_ms)
        try:
            return self._run(command)
        except ResponseError as error:
            return error

    def _run(self, parts: tuple[bytes, ...]) -> Any:
        name = parts[0]
        if name in (b"EVALSHA", b"EVAL"):
            return self._script(name, parts)
        if name == b"SPUBLISH":
            self._publish(parts[1].decode(), parts[2])
            return 1
        if name == b"PING":
            return b"PONG"
        return COMMANDS[name](self.db, parts[1].decode(), parts[2:])

    def _script(self, name: bytes, parts: tuple[bytes, ...]) -> Any:
        if name == b"EVAL":
            sha = _sha_of(parts[1])
            self._known.add(sha)
        else:
            sha = parts[1]
            if sha not in self._known:
                raise NoScriptError("No matching script. Please use EVAL.")
        count = int(parts[2])
        keys = [key.decode() for key in parts[3 : 3 + count]]
        args = parts[3 + count :]
        reply = self._scripts.by_sha[sha.decode()](keys, args)
        for observer in self.observers:
            observer(sha.decode(), keys, args, reply)
        return reply

    # Publishing.

    def connect(self, listener: Listener) -> None:
        self._connections[listener] = None

    def disconnect(self, listener: Listener) -> None:
        self._connections.pop(listener, None)
        for listeners in self._channels.values():
            if listener in listeners:
                listeners.remove(listener)

    def subscribe(self, channel: bytes, listener: Listener) -> None:
        listeners = self._channels.setdefault(channel, [])
        if listener not in listeners:
            listeners.append(listener)

    def unsubscribe(self, channel: bytes, listener: Listener) -> None:
        listeners = self._channels.get(channel, [])
        if listener in listeners:
            listeners.remove(listener)

    def _publish(self, channel: str, message: bytes) -> None:
        for listener in list(self._channels.get(channel.encode(), ())):
            listener.hear(channel.encode(), message)

    # What may happen to it.

    def stop(self) -> None:
        """It dies; every connection breaks."""
        self.up = False
        self._known.clear()
        for listener in list(self._connections):
            listener.cut()
        self._connections.clear()
        self._channels.clear()

    def start(self, lose_seconds: float = 0.0) -> None:
        """It comes back, without what it wrote in the last seconds before it died."""
        if lose_seconds:
            self.db.lose_since(self.stopped_at - lose_seconds)
            for tell in self.rolled_back:
                tell()
        self.up = True


@functools.cache
def _sha_of(source: bytes) -> bytes:
    return hashlib.sha1(source).hexdigest().encode()
