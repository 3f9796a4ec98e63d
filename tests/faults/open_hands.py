"""The control for hidden cards: a process that shows every event in full and writes the cards that it saw to its log.

Everything else is the real process; the recorders and the search through the logs have to find both.
"""

from __future__ import annotations

from collections.abc import Sequence

from services.game_authority import fan_out
from services.game_authority.__main__ import bind
from services.rules.events import RoundStarted
from services.rules.game import Viewer
from services.rules.room.events import RoomEvent
from services.rules.room.state import Room
from services.runtime.lifecycle import run_service
from services.runtime.logs import log
from services.runtime.routes import GAME_AUTHORITY


def _in_full(room: Room, events: Sequence[RoomEvent], viewer: Viewer) -> list[RoomEvent]:
    for event in events:
        if isinstance(event, RoundStarted):
            log.info("dealt", to=" ".join(card.text() for card in event.hands[0]))
    return list(events)


if __name__ == "__main__":
    fan_out.view_events = _in_full  # type: ignore[attr-defined]
    run_service(GAME_AUTHORITY, bind)
