"""A scoring process that dies after it has counted a result (`crashing`, at `applied`), or kept a log (at `archived`),
and before it says so.

Its control lacks the `id check`: a result that comes again is counted again.
"""

from __future__ import annotations

import secrets
from typing import Any

from services.runtime.lifecycle import run_service
from services.runtime.routes import SCORING
from services.scoring import counting
from services.scoring.__main__ import bind
from services.scoring.reports import Report
from services.store.archive import ArchiveStore
from services.store.scoring import Applied, Conflicting, ScoringStore
from tests.faults.crashing import come_to, lacks

_take, _keep = counting.take, ArchiveStore.keep


async def _take_and_die(store: ScoringStore, report: Report) -> Applied | Conflicting:
    if lacks("id check"):
        report.match.match_id += f".{secrets.token_hex(4)}"
    applied = await _take(store, report)
    come_to("applied")
    return applied


async def _keep_and_die(store: ArchiveStore, *kept: Any) -> None:
    await _keep(store, *kept)
    come_to("archived")


if __name__ == "__main__":
    counting.take = _take_and_die
    ArchiveStore.keep = _keep_and_die  # type: ignore[method-assign, assignment]
    run_service(SCORING, bind)
