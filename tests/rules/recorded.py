"""Rooms that keep what was attempted and told in them, so that it can be told or attempted again."""

from __future__ import annotations

from typing import Any

from services.rules.room import actions as a
from services.rules.room.state import RoomPhase
from services.rules.room.step import RoomStep
from tests.rules.rooms import Stage


class Recorder(Stage):
    """Keeps what was attempted, so that it can be attempted again."""

    def __init__(self, *args: Any, **more: Any) -> None:
        self.tape: list[tuple[a.Actor, a.RoomAction, dict[str, Any]]] = []
        self.told: list[Any] = []
        super().__init__(*args, **more)

    def do(self, actor: a.Actor, action: a.RoomAction, **ctx: Any) -> RoomStep:
        step = super().do(actor, action, **{"match_id": f"m{len(self.tape)}", **ctx})
        known = {"match_id": f"m{len(self.tape)}", "seed": step.room.upcoming.seed, **ctx}
        self.tape.append((actor, action, known))
        self.told.extend(step.events)
        return step


def finished(preset: str = "mau-mau-32", **more: Any) -> Recorder:
    options = {"match.target": "single"} if preset != "mau-mau-32" else {"match.target": "rounds:3"}
    people = "ann bob cid dan" if preset in ("tranca", "mau-mau-brasil") else "ann bob cid"
    stage = Recorder(preset, people, options=options, **more)
    stage.start()
    stage.until_phase(RoomPhase.FINISHED)
    return stage
