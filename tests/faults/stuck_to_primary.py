"""The control for failover: a process that asks the Sentinels once where the primary is, and never again."""

from __future__ import annotations

from services.game_authority.__main__ import bind
from services.runtime.lifecycle import run_service
from services.runtime.routes import GAME_AUTHORITY
from services.store.errors import Host
from services.store.sentinel import PrimaryLookup

_find = PrimaryLookup.find


async def _find_once(lookup: PrimaryLookup) -> Host:
    return lookup.last or await _find(lookup)


if __name__ == "__main__":
    PrimaryLookup.find = _find_once  # type: ignore[method-assign, assignment]
    run_service(GAME_AUTHORITY, bind)
