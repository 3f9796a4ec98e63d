"""The processes that serve: each says once a second that it lives and what it understands."""

from __future__ import annotations

from typing import Final

from services.store import scripts
from services.store.batcher import Pipelines
from services.store.keys import PROCESS_MS, ProcessId

RUNNING_MS: Final = 3_000
"""A process silent for longer is taken for dead."""


class Fleet:
    """Announcements of processes, dated by Redis."""

    def __init__(self, pipelines: Pipelines) -> None:
        keys = pipelines.keys
        self._pair = (keys.pulses, keys.about)
        self._reads = pipelines.reads
        self._writes = pipelines.writes

    async def announce(self, process: ProcessId, about: bytes) -> int:
        """Say that this process lives; `about` is the caller's (its release, the schemas that it reads). Answers the
        time of Redis. It is a write on the path of the commits, so its success shows that a commit is possible."""
        now: int = await self._writes.script(
            scripts.ANNOUNCE, self._pair, (process, about, PROCESS_MS), lane=self._pair[0]
        )
        return now

    async def leave(self, process: ProcessId) -> None:
        """Take a process out that ends on purpose."""
        pulses, about = self._pair
        await self._writes.command("ZREM", pulses, process, lane=pulses)
        await self._writes.command("HDEL", about, process, lane=pulses)

    async def running(self, within_ms: int = RUNNING_MS) -> dict[ProcessId, bytes]:
        """The processes that announced themselves within that time, and what they said."""
        reply = await self._reads.script(scripts.FLEET, self._pair, (within_ms,))
        return {ProcessId(process.decode()): about for process, about in zip(reply[::2], reply[1::2], strict=True)}
