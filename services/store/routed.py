"""Sends each command to the primary that has its key, and again where a Cluster says that it is elsewhere by now.

Every primary has a batcher of its own, so what is for one primary shares pipelines, and a primary that is away holds up
nobody else's rooms.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, Protocol
from weakref import WeakKeyDictionary

from redis.crc import key_slot

from services.store.cluster import Cluster
from services.store.connect import Connections
from services.store.errors import Host, Redirected, StoreUnavailable, TryAgain
from services.store.scripts import Script

Arg = str | bytes | int
Command = tuple[Arg, ...]

_MOST_SENDINGS: Final = 8
_PAUSE_S: Final = 0.025
"""Before a command is sent again, once more each time."""


class Sender(Protocol):
    """Commands in, replies out. Errors come typed (`StoreError` and its kinds)."""

    def command(self, *command: Arg, lane: str | None = None, near: str | None = None) -> asyncio.Future[Any]:
        """Run one command; its reply as Redis gives it, with nil as None. Its first argument is its key, unless `near`
        names a key whose primary shall answer."""

    def script(
        self, script: Script, keys: Sequence[str], args: Sequence[Arg], *, lane: str | None = None
    ) -> asyncio.Future[Any]:
        """Run one script by its SHA-1; if Redis does not know it, it alone is sent again in full."""

    @property
    def waiting(self) -> int:
        """How many commands have not been sent yet."""

    async def of_each(self, *command: Arg) -> dict[str, Any]:
        """The replies of all primaries to a command without a key, by their names."""

    async def aclose(self) -> None:
        """Fail what has not been sent, wait for the answers to what has."""


class NodeSender(Sender, Protocol):
    """A sender to one node."""

    async def asked(self, command: Command) -> Any:
        """Run one command that the node takes only if it is asked, since its slot is elsewhere still."""


class RoutedBatcher:
    """A `Sender` over all primaries of a Cluster. Commands of one lane are for one primary; they keep their order as
    long as that stays."""

    def __init__(self, cluster: Cluster, make: Callable[[Connections], NodeSender]) -> None:
        self._cluster = cluster
        self._make = make
        self._batchers: WeakKeyDictionary[Connections, NodeSender] = WeakKeyDictionary()
        self._on_the_way: set[asyncio.Task[Any]] = set()
        self._closed = False

    def command(self, *command: Arg, lane: str | None = None, near: str | None = None) -> asyncio.Future[Any]:
        key = str(command[1]) if near is None else near
        return self._start(key, lambda batcher: batcher.command(*command, lane=lane), command)

    def script(
        self, script: Script, keys: Sequence[str], args: Sequence[Arg], *, lane: str | None = None
    ) -> asyncio.Future[Any]:
        in_full = ("EVAL", script.source, len(keys), *keys, *args)
        return self._start(keys[0], lambda batcher: batcher.script(script, keys, args, lane=lane), in_full)

    @property
    def waiting(self) -> int:
        return sum(batcher.waiting for batcher in self._batchers.values())

    async def of_each(self, *command: Arg) -> dict[str, Any]:
        if not self._cluster.all():
            await self._cluster.find()
        primaries = self._cluster.all()
        replies = await asyncio.gather(*(self._batcher(primary).command(*command) for primary in primaries))
        return {primary.name: reply for primary, reply in zip(primaries, replies, strict=True)}

    async def aclose(self) -> None:
        self._closed = True
        await asyncio.gather(*(batcher.aclose() for batcher in list(self._batchers.values())))
        if self._on_the_way:
            await asyncio.wait(self._on_the_way)

    def _start(self, key: str, send: Callable[[Sender], Awaitable[Any]], in_full: Command) -> asyncio.Future[Any]:
        if self._closed:
            raise StoreUnavailable("the store is closed", maybe_applied=False)
        task = asyncio.create_task(self._run(key, send, in_full))
        self._on_the_way.add(task)
        task.add_done_callback(self._on_the_way.discard)
        return task

    async def _run(self, key: str, send: Callable[[Sender], Awaitable[Any]], in_full: Command) -> Any:
        asking: Host | None = None
        for sending in range(_MOST_SENDINGS):
            try:
                if asking is not None:
                    return await self._batcher(self._cluster.at(asking)).asked(in_full)
                return await send(self._batcher(await self._primary(key)))
            except Redirected as elsewhere:
                asking = elsewhere.host if elsewhere.asking else None
                if not elsewhere.asking:
                    self._cluster.moved(key_slot(key.encode()), elsewhere.host)
            except TryAgain:  # some of the keys have moved, the others will in a moment
                asking = None
            except StoreUnavailable:
                self._cluster.doubt()
                raise
            await asyncio.sleep(_PAUSE_S * sending)
        raise StoreUnavailable(f"{key} is on the move", maybe_applied=False)

    async def _primary(self, key: str) -> Connections:
        primary = self._cluster.of(key)
        if primary is None:
            await self._cluster.find()
            primary = self._cluster.of(key)
        if primary is None or self._closed:
            raise StoreUnavailable("no primary has this slot" if primary is None else "closed", maybe_applied=False)
        return primary

    def _batcher(self, primary: Connections) -> NodeSender:
        batcher = self._batchers.get(primary)
        if batcher is None:
            batcher = self._batchers[primary] = self._make(primary)
        return batcher
