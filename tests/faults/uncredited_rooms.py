"""The control for outages: an authority whose scripts take no silence for an outage."""

from __future__ import annotations

from services.game_authority.__main__ import bind
from services.runtime.lifecycle import run_service
from services.runtime.routes import GAME_AUTHORITY
from services.store import scripts
from tests.store.making import weakened

GAP, NO_GAP = "local GAP_MS = 3000", "local GAP_MS = 3000000"

if __name__ == "__main__":
    for name in ("COMMIT", "SWEEP"):
        setattr(scripts, name, weakened(getattr(scripts, name), GAP, NO_GAP))
    run_service(GAME_AUTHORITY, bind)
