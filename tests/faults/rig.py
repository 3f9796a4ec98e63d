"""The whole server on a Redis that is reached through a proxy, so that a test can come between them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from services.local.stack import Stack
from services.rules.room.codec import decode
from services.runtime.routes import GAME_AUTHORITY
from services.store.assembly import Store
from services.store.connect import StoreSettings
from services.store.keys import RoomId
from tests.e2e.stacks import options
from tests.faults.checker import Finding, Kind, check_order, check_room, read_log
from tests.faults.history import History, Records, read_records
from tests.faults.proxy import Proxy
from tests.faults.scale import count
from tests.servers import Server, kinds, running

AUTHORITIES: Final = count(2, 3, 3)
"""Processes of the game authority; there is one of matchmaking and one of scoring."""


class Rig:
    """The authorities behind Envoy; only they go through the proxy, and the test reaches Redis itself."""

    def __init__(self, stack: Stack, server: Server, proxy: Proxy) -> None:
        self.stack, self.server, self.proxy = stack, server, proxy

    async def findings(self, rooms: Iterable[str], history: History, others: Iterable[Path] = ()) -> list[Finding]:
        """What the checker finds in these rooms; `others` are the histories of other processes."""
        return await findings(self.server.url, rooms, history, others)


async def findings(
    redis_url: str, rooms: Iterable[str], history: History, others: Iterable[Path] = ()
) -> list[Finding]:
    """What the checker finds in these rooms."""
    records = read_records([history.path, *others])
    async with Store(StoreSettings(url=redis_url)) as store:
        return [found for room in rooms for found in await _findings(store, room, records)]


async def _findings(store: Store, room: str, records: Records) -> list[Finding]:
    log, stored = await read_log(store.rooms, room), await store.rooms.read(RoomId(room))
    found = check_room(room, log, records)
    if stored is None or {finding.kind for finding in found} & {Kind.HOLE, Kind.LOST, Kind.DOUBLED}:
        return found
    return found + check_order(room, log, decode(stored.state), records)


@contextlib.contextmanager
def started(var_dir: Path, **changed: Any) -> Iterator[Rig]:
    """A rig that runs; `changed` are options of its stack."""
    with running(kinds()[0]) as server, Proxy(server.folder / "socket", server.folder / "proxy") as proxy:
        authorities = changed.pop("authorities", AUTHORITIES)
        names = [f"{GAME_AUTHORITY}-{number}" for number in range(1, authorities + 1)]
        through = {name: {"MAUMAU_REDIS_URL": proxy.url} for name in names}
        asked = {"authorities": authorities, "redis_url": server.url, "environ_of": through, **changed}
        with Stack(options(var_dir, **asked)) as stack:
            yield Rig(stack, server, proxy)
            proxy.heal()
