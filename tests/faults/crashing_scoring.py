"""A scoring process that dies after it has counted a result (`crashing`, at `applied`), or kept a log (at `archived`),
and before it says so.

Its control lacks the `id check`: a result that comes again is counted again.
"""

from __future__ import annotations

import secrets
from typing import Any

import msgspec

from services.runtime.lifecycle import run_service
from services.runtime.routes import SCORING
from services.scoring.__main__ import bind
from services.store.archive import ArchiveStore
from services.store.scoring import Applied, Conflicting, Result, ScoringStore
from tests.faults.crashing import come_to, lacks

_apply, _keep = ScoringStore.apply, ArchiveStore.keep


async def _apply_and_die(store: ScoringStore, result: Result) -> Applied | Conflicting:
    if lacks("id check"):
        result = _under_another_id(result)
    applied = await _apply(store, result)
    come_to("applied")
    return applied


async def _keep_and_die(store: ArchiveStore, *kept: Any) -> None:
    await _keep(store, *kept)
    come_to("archived")


def _under_another_id(result: Any) -> Any:
    match = f"{result.match}.{secrets.token_hex(4)}"
    return result._replace(match=match) if hasattr(result, "_replace") else msgspec.structs.replace(result, match=match)


if __name__ == "__main__":
    ScoringStore.apply = _apply_and_die  # type: ignore[method-assign, assignment]
    ArchiveStore.keep = _keep_and_die  # type: ignore[method-assign, assignment]
    run_service(SCORING, bind)
