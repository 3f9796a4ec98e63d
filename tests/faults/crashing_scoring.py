"""A scoring process that dies after it has counted a result (`crashing`, at `applied`), or kept a log (at `archived`),
and before it says so, or while it recomputes a pool (at `recomputing`), whose lease is short here.

Its controls lack the `id check`: a result that comes again is counted again; or the `second look`: a void is computed
in by the process that was asked to, or never.
"""

from __future__ import annotations

import os
import secrets
from typing import Any

from services.runtime.lifecycle import run_service
from services.runtime.routes import SCORING
from services.scoring import counting
from services.scoring.__main__ import bind
from services.scoring.rebuilding import Rebuilder
from services.scoring.reports import Report
from services.store.archive import ArchiveStore
from services.store.rebuilds import Rebuilds
from services.store.scoring import Applied, Conflicting, ScoringStore
from tests.faults.crashing import come_to, crashes_left, lacks

_take, _keep = counting.take, ArchiveStore.keep
_write_board, _rebuild_if_due = Rebuilds.write_board, Rebuilder.rebuild_if_due


async def _take_and_die(store: ScoringStore, report: Report) -> Applied | Conflicting:
    if lacks("id check"):
        report.match.match_id += f".{secrets.token_hex(4)}"
    applied = await _take(store, report)
    come_to("applied")
    return applied


async def _keep_and_die(store: ArchiveStore, *kept: Any) -> None:
    await _keep(store, *kept)
    come_to("archived")


async def _write_and_die(rebuilds: Rebuilds, *written: Any) -> None:
    await _write_board(rebuilds, *written)
    come_to("recomputing")


async def _rebuild_once(rebuilder: Rebuilder, pool: str) -> bool:
    died = crashes_left(dict(os.environ)) == 0
    return not (died and lacks("second look")) and await _rebuild_if_due(rebuilder, pool)


if __name__ == "__main__":
    Rebuilds.__init__.__defaults__ = (500,)
    Rebuilds.write_board = _write_and_die  # type: ignore[method-assign, assignment]
    Rebuilder.rebuild_if_due = _rebuild_once  # type: ignore[method-assign, assignment]
    counting.take = _take_and_die
    ArchiveStore.keep = _keep_and_die  # type: ignore[method-assign, assignment]
    run_service(SCORING, bind)
