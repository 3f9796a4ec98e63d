"""The primaries of a Cluster, and which of them has which key.

redis-py's own cluster client raises when a pool is empty, runs commands again by itself and polls its subscriptions
node after node; so only the map of the slots is kept here, and each primary gets the same pools as a single one.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable, Sequence
from typing import Any, Final

from redis.crc import REDIS_CLUSTER_HASH_SLOTS, key_slot
from redis.exceptions import RedisError

from services.store.address import Address
from services.store.connect import Connections, StoreSettings
from services.store.errors import Host, StoreError, StoreUnavailable, from_failure

_log = logging.getLogger(__name__)

_PAUSE_S: Final = 0.2
"""Least time between two looks at the map, since everybody doubts a dead primary at once."""


class Cluster:
    """See the module, and `Primaries` for what the methods are for."""

    def __init__(self, settings: StoreSettings, address: Address) -> None:
        self.settings = settings
        self._where = address.where
        self._seeds = address.hosts
        self._known: dict[Host, Connections] = {}
        self._slots: list[Connections | None] = [None] * REDIS_CLUSTER_HASH_SLOTS
        self._looking: asyncio.Task[None] | None = None
        self._looked_at = float("-inf")
        self._told: list[Callable[[], None]] = []
        self._closing: set[asyncio.Task[None]] = set()
        self._closed = False

    def of(self, key: str) -> Connections | None:
        return self._slots[key_slot(key.encode())]

    def all(self) -> Sequence[Connections]:
        return tuple(dict.fromkeys(primary for primary in self._slots if primary is not None))

    def at(self, host: Host) -> Connections:
        """The node at this address, whatever it has."""
        known = self._known.get(host)
        if known is None:
            where = {**self._where, "host": host.host, "port": host.port}
            known = self._known[host] = Connections(self.settings, where, f"{host.host}:{host.port}")
        return known

    def moved(self, slot: int, host: Host) -> None:
        """A node said that this slot is at another one now; where others are has to be asked for."""
        primary = self.at(host)
        if self._slots[slot] is not primary:
            self._slots[slot] = primary
            self._tell()
        self.doubt()

    def on_change(self, told: Callable[[], None]) -> None:
        self._told.append(told)

    def doubt(self) -> None:
        if asyncio.get_running_loop().time() - self._looked_at >= _PAUSE_S and not self._closed:
            self._look()

    async def find(self) -> None:
        await asyncio.shield(self._look())

    def _look(self) -> asyncio.Task[None]:
        if self._looking is None or self._looking.done():
            self._looked_at = asyncio.get_running_loop().time()
            self._looking = asyncio.create_task(self._read_map())
            self._looking.add_done_callback(_note_failure)
        return self._looking

    async def _read_map(self) -> None:
        """From the first node that answers; which is asked first is left to chance, since one may be out of date."""
        hosts = [*dict.fromkeys([*self._known, *self._seeds])]
        random.shuffle(hosts)
        reason: Exception | None = None
        for host in hosts:
            try:
                self._take(host, await self.at(host).ask("CLUSTER", "SLOTS"))
                return
            except (RedisError, OSError, TimeoutError) as error:
                reason = error
        typed = from_failure(reason) if reason else StoreError("no node")
        if isinstance(typed, StoreUnavailable):
            raise StoreUnavailable(f"no node of the cluster answers: {typed}", maybe_applied=False)
        raise typed

    def _take(self, asked: Host, ranges: list[Any]) -> None:
        slots: list[Connections | None] = [None] * REDIS_CLUSTER_HASH_SLOTS
        for first, last, (name, port, *_), *_ in ranges:
            # A node that does not know its own name is where it was found.
            primary = self.at(Host(name.decode() if name else asked.host, port))
            slots[first : last + 1] = [primary] * (last + 1 - first)
        if slots == self._slots:
            return
        self._slots = slots
        self._tell()
        self._forget_others()

    def _tell(self) -> None:
        for told in self._told:
            told()

    def _forget_others(self) -> None:
        used = set(self.all())
        for host, connections in list(self._known.items()):
            if connections not in used:
                del self._known[host]
                # What is under way there comes to its end; the subscriptions have moved.
                task = asyncio.create_task(connections.leave())
                self._closing.add(task)
                task.add_done_callback(self._closing.discard)

    async def aclose(self) -> None:
        self._closed = True
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.wait((self._looking,))
        if self._closing:
            await asyncio.wait(self._closing)
        for connections in self._known.values():
            await connections.aclose()


def _note_failure(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        _log.warning("%s", error)
