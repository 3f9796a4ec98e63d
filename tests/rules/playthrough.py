"""Recorded matches: one text file a preset in `playthroughs/`, with what was seen at each turn, allowed, done and told.

A change of the rules shows as a change of these files. `python -m tests.rules.playthrough PRESET...` writes them anew.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Generator, Iterator
from enum import Enum
from pathlib import Path
from typing import Final

import msgspec

from services.rules import engine
from services.rules.actions import Action, Discard, Draw, DrawStock
from services.rules.cards import Card
from services.rules.events import Event
from services.rules.ruleset import make_ruleset
from services.rules.shuffler import SeededShuffler
from services.rules.views import Phase

FOLDER: Final = Path(__file__).parent / "playthroughs"
MOST_ROUNDS: Final = 2
SEED: Final = "playthrough"


def path_of(preset: str) -> Path:
    """Where the playthrough of a preset is kept."""
    return FOLDER / f"{preset}.txt"


def record(preset: str) -> str:
    """The text of the playthrough: a match of as few seats as the preset allows, up to MOST_ROUNDS rounds."""
    return "\n".join(_lines(preset)) + "\n"


def _lines(preset: str) -> Iterator[str]:
    ruleset = make_ruleset(preset)
    shuffler, rng = SeededShuffler(SEED), random.Random(f"{SEED}/{preset}")
    yield f"{preset}, {ruleset.min_seats} seats, hash {ruleset.hash.hex()}"
    step = engine.new_match(ruleset, ruleset.min_seats, 0, shuffler)
    for number in range(1, MOST_ROUNDS + 1):
        yield from _told(step.events)
        step = yield from _round(step, shuffler, rng)
        if engine.phase(step.state) is Phase.MATCH_OVER or number == MOST_ROUNDS:
            return
        step = engine.next_round(step.state, shuffler)


def _round(step: engine.Step, shuffler: SeededShuffler, rng: random.Random) -> Generator[str, None, engine.Step]:
    """The lines of a round, from its first action on; returns its last step."""
    looked = None
    while waiting := engine.must_act(step.state):
        seat = waiting[0]
        if seat != looked:
            yield f"seat {seat} sees {shown(engine.view(step.state, seat))}"
        looked = seat
        listed = engine.legal_actions(step.state, seat)
        action = _choose(listed, rng)
        yield f"may {'; '.join(map(shown, listed))}"
        yield f"seat {seat} does {shown(action)}"
        step = engine.apply(step.state, seat, action, shuffler)
        yield from _told(step.events)
    return step


def _choose(listed: list[Action], rng: random.Random) -> Action:
    """Any action, but mostly one that lays cards, so that rounds come to their end."""
    laying = [action for action in listed if not isinstance(action, Draw | DrawStock | Discard)]
    return rng.choice(laying if laying and rng.random() < 0.9 else listed)


def _told(events: list[Event]) -> Iterator[str]:
    for event in events:
        yield f"   {shown(event)}"


def shown(value: object) -> str:
    """A view, action or event in one line, faces and all, without what is empty."""
    if isinstance(value, Card):
        return value.text()
    if isinstance(value, Enum):
        return value.name.lower()
    if isinstance(value, tuple):
        return f"[{' '.join(map(shown, value))}]"
    if isinstance(value, msgspec.Struct):
        fields = ((name, getattr(value, name)) for name in value.__struct_fields__)
        parts = [f"{name}={shown(field)}" for name, field in fields if field is not None and field != ()]
        return " ".join([type(value).__name__, *parts])
    return str(value)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        path_of(name).write_text(record(name), encoding="utf-8")
