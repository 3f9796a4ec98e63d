"""One recorded match of each preset, as text: `python -m tests.rules.shedding_playthroughs` writes them anew.

A change in a recording is a change in the rules, in what is listed, or in what is told; look at it before it is
committed.
"""

from __future__ import annotations

import random
from enum import Enum
from pathlib import Path
from typing import Any, Final

import msgspec

from services.rules import engine
from services.rules.cards import Card
from services.rules.ruleset import make_ruleset
from services.rules.shuffler import SeededShuffler
from tests.rules.shedding_play import OVER, PRESETS, choose

FOLDER: Final = Path(__file__).parent / "playthroughs"
SEATS: Final = {"mau-mau-brasil": 4}
ROUNDS: Final = 2
LONGEST: Final = 1000
"""Lines after which a recording breaks off."""


def recording(preset: str) -> str:
    """The first rounds of a random match: each action, what happened, and the table after it."""
    rng, shuffler = random.Random(f"recording/{preset}"), SeededShuffler(f"recording/{preset}")
    step = engine.new_match(make_ruleset(preset), SEATS.get(preset, 3), 0, shuffler)
    lines = [f"{preset}, {step.state.seats} seats", *_told(step)]
    for _ in range(ROUNDS):
        while step.state.phase not in OVER and len(lines) < LONGEST:
            seat, action = choose(step.state, rng)
            listed = engine.legal_actions(step.state, seat)
            lines += ["", f"seat {seat} of {len(listed)} actions: {text(action)}"]
            step = engine.apply(step.state, seat, action, shuffler)
            lines += _told(step)
        if step.state.phase is not engine.Phase.ROUND_OVER or step.state.round == ROUNDS:
            break
        step = engine.next_round(step.state, shuffler)
        lines += ["", *_told(step)]
    return "\n".join(lines) + "\n"


def _told(step: engine.Step) -> list[str]:
    view = engine.view(step.state, step.state.turn)
    return [*(f"  {text(event)}" for event in step.events), f"  = {text(view)}"]


def text(value: Any) -> str:
    """A value in words; fields that say nothing are left out."""
    if isinstance(value, Card):
        return value.text()
    if isinstance(value, Enum):
        return value.name.lower()
    if isinstance(value, tuple):
        return "[" + " ".join(text(inner) for inner in value) + "]"
    if isinstance(value, msgspec.Struct):
        fields = {name: getattr(value, name) for name in value.__struct_fields__}
        told = [f"{name}={text(field)}" for name, field in fields.items() if not _is_idle(field)]
        return " ".join((type(value).__name__, *told))
    return "-" if value is None else str(value)


def _is_idle(field: object) -> bool:
    return field is None or field is False or field == ()


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for preset in PRESETS:
        (FOLDER / f"{preset}.txt").write_text(recording(preset), encoding="utf-8")


if __name__ == "__main__":
    main()
