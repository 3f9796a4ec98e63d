"""Recorded matches: one text file a preset in `playthroughs/`, with what was seen at each turn, done and told.

A change in a recording is a change of the rules, of what is listed or of what is told; look at it before it is
committed. `python -m tests.rules.playthrough` writes all anew.
"""

from __future__ import annotations

import random
from collections.abc import Generator, Iterator
from enum import Enum
from pathlib import Path
from typing import Any, Final

import msgspec

from services.rules import engine
from services.rules.actions import Action, Discard, Draw, DrawStock
from services.rules.cards import Card
from services.rules.events import Event
from services.rules.registry import GAMES
from services.rules.ruleset import make_ruleset
from services.rules.shuffler import SeededShuffler
from services.rules.views import Phase

PRESETS: Final = tuple(preset for rules in GAMES.values() for preset in rules.presets)
FOLDER: Final = Path(__file__).parent / "playthroughs"
MOST_ROUNDS: Final = 2
MOST_SEATS: Final = 4
LONGEST_ROUND: Final = 400
"""Actions after which a recording breaks off."""


def path_of(preset: str) -> Path:
    """Where the playthrough of a preset is kept."""
    return FOLDER / f"{preset}.txt"


def record(preset: str) -> str:
    """The text of the playthrough: the first rounds of a random match."""
    return "\n".join(_lines(preset)) + "\n"


def _lines(preset: str) -> Iterator[str]:
    ruleset = make_ruleset(preset)
    seats = min(ruleset.max_seats, MOST_SEATS)
    shuffler, rng = SeededShuffler(f"playthrough/{preset}"), random.Random(f"playthrough/{preset}")
    yield f"{preset}, {seats} seats, hash {ruleset.hash.hex()}"
    step = engine.new_match(ruleset, seats, 0, shuffler)
    for number in range(1, MOST_ROUNDS + 1):
        yield from _told(step.events)
        step = yield from _round(step, shuffler, rng)
        if engine.phase(step.state) is not Phase.ROUND_OVER or number == MOST_ROUNDS:
            return
        step = engine.next_round(step.state, shuffler)


def _round(step: engine.Step, shuffler: SeededShuffler, rng: random.Random) -> Generator[str, None, engine.Step]:
    """The lines of a round, from its first action on; returns its last step."""
    looked = None
    for _ in range(LONGEST_ROUND):
        if not engine.must_act(step.state):
            break
        seat, action, listed = _choose(step.state, rng)
        yield ""
        if seat != looked:
            yield f"seat {seat} sees {shown(engine.view(step.state, seat))}"
        looked = seat
        yield f"seat {seat} of {listed} actions: {shown(action)}"
        step = engine.apply(step.state, seat, action, shuffler)
        yield from _told(step.events)
    return step


def _choose(state: engine.State, rng: random.Random) -> tuple[int, Action, int]:
    """Any seat and action, but mostly one that lays cards, so that rounds come to their end; rarely a penal one. Also
    how many were listed."""
    others = engine.may_act(state)
    seat = rng.choice(others if others and rng.random() < 0.3 else engine.must_act(state))
    listed, penal = engine.legal_actions(state, seat), engine.penal_actions(state, seat)
    if penal and rng.random() < 0.03:
        return seat, rng.choice(penal), len(listed)
    laying = [action for action in listed if not isinstance(action, Draw | DrawStock | Discard)]
    return seat, rng.choice(laying if laying and rng.random() < 0.9 else listed), len(listed)


def _told(events: list[Event]) -> Iterator[str]:
    for event in events:
        yield f"   {shown(event)}"


def shown(value: Any) -> str:
    """A view, action or event in one line, faces and all, without what is empty."""
    if isinstance(value, Card):
        return value.text()
    if isinstance(value, Enum):
        return value.name.lower()
    if isinstance(value, tuple):
        return f"[{' '.join(map(shown, value))}]"
    if isinstance(value, msgspec.Struct):
        fields = ((name, getattr(value, name)) for name in value.__struct_fields__)
        parts = [f"{name}={shown(field)}" for name, field in fields if not _says_nothing(field)]
        return " ".join([type(value).__name__, *parts])
    return "-" if value is None else str(value)


def _says_nothing(field: object) -> bool:
    return field is None or field is False or field == ()


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for preset in PRESETS:
        path_of(preset).write_text(record(preset), encoding="utf-8")


if __name__ == "__main__":
    main()
