"""The heuristic bot plays clearly better than chance, in every game, and never makes the mistakes that cost cards."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from services.rules import engine
from services.rules.actions import Action, JumpIn, Play, PlayMany
from services.rules.bots import BotLevel
from services.rules.events import CalledFalsely, LeftExposed
from tests.rules.bot_matches import play_match

SHARP, BLIND = BotLevel.HEURISTIC, BotLevel.RANDOM
TABLES = [
    ("mau-mau-32", 2),
    ("mau-mau-32", 4),
    ("mau-mau-brasil", 4),
    ("uno", 2),
    ("uno", 4),
    ("uno-mattel", 3),
    ("uno-casa", 4),
    ("tranca", 4),
    ("tranca-jogatina", 4),
]


@pytest.mark.parametrize(("preset", "seats"), TABLES)
def test_the_heuristic_beats_chance(preset: str, seats: int) -> None:
    matches, won = 60, 0.0
    for seed in range(matches):
        levels = [SHARP if (seat + seed) % 2 == 0 else BLIND for seat in range(seats)]
        winners = play_match(preset, levels, seed).winners
        won += sum(levels[seat] is SHARP for seat in winners) / max(1, len(winners))
    assert won > 0.75 * matches


@pytest.mark.parametrize("preset", ["mau-mau-32", "mau-mau-brasil", "uno", "uno-casa", "tranca"])
def test_what_the_heuristic_does_is_listed_but_for_the_call_with_a_play(preset: str) -> None:
    def probe(state: Any, seat: int, action: Action, events: list[Any]) -> None:
        bare = replace(action, call=None) if isinstance(action, Play | PlayMany | JumpIn) else action
        assert bare in engine.legal_actions(state, seat)
        assert bare not in engine.penal_actions(state, seat)

    for seed in range(10):
        play_match(preset, [SHARP] * 4, seed, probe)


@pytest.mark.parametrize("preset", ["mau-mau-32", "mau-mau-brasil", "uno", "uno-mattel"])
def test_the_heuristic_always_calls_in_time_and_never_without_cause(preset: str) -> None:
    missed: list[Any] = []

    def probe(state: Any, seat: int, action: Action, events: list[Any]) -> None:
        missed.extend(event for event in events if isinstance(event, LeftExposed | CalledFalsely))

    for seed in range(40):
        play_match(preset, [SHARP] * 4, seed, probe)
    assert missed == []


@pytest.mark.parametrize("level", list(BotLevel))
def test_the_same_chance_gives_the_same_match(level: BotLevel) -> None:
    def record(seed: int) -> list[Any]:
        seen: list[Any] = []
        play_match("uno", [level] * 3, seed, lambda state, seat, action, events: seen.append((seat, action)))
        return seen

    assert record(7) == record(7)
    assert record(7) != record(8)
