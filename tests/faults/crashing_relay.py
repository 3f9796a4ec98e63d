"""An authority that dies while it hands a match to scoring (`crashing`): at `reported`, with the result counted and the
log not sent, or at `log sent`, before the outbox entry is gone.

Its control lacks `archive first`: the entry goes once the result is counted.
"""

from __future__ import annotations

from typing import Any

from services.game_authority.__main__ import bind
from services.game_authority.relay import Relay
from services.runtime.lifecycle import run_service
from services.runtime.routes import GAME_AUTHORITY
from services.store.outbox import OutboxEntry
from tests.faults.crashing import come_to, lacks

_relay = Relay._relay


class _Dying:
    """The way to scoring, on which the process dies."""

    def __init__(self, relay: Relay, entry: OutboxEntry) -> None:
        self._relay, self._entry, self._scoring = relay, entry, relay.scoring

    async def ReportResult(self, report: Any, timeout: float) -> Any:  # noqa: N802
        answer = await self._scoring.ReportResult(report, timeout=timeout)
        if lacks("archive first"):
            await self._relay._store.outbox.done(self._entry.room, self._entry.id)
        come_to("reported")
        return answer

    async def ArchiveLog(self, messages: Any, timeout: float) -> Any:  # noqa: N802
        answer = await self._scoring.ArchiveLog(messages, timeout=timeout)
        come_to("log sent")
        return answer


async def _relay_and_die(relay: Relay, entry: OutboxEntry) -> None:
    scoring = relay.scoring
    relay.scoring = _Dying(relay, entry)  # type: ignore[assignment]
    try:
        await _relay(relay, entry)
    finally:
        relay.scoring = scoring


if __name__ == "__main__":
    Relay._relay = _relay_and_die  # type: ignore[method-assign, assignment]
    run_service(GAME_AUTHORITY, bind)
