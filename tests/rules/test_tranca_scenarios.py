"""Every Tranca case of the scenario files holds."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest

from services.rules.registry import game_of_preset
from tests.scenarios.files import read_file, why_wrong

FOLDER: Final = Path(__file__).parents[1] / "scenarios"
FILES: Final = ("tranca.yaml", "random-tranca.yaml", "own-tranca.yaml", "presets.yaml")


def cases() -> list[Any]:
    """Preset and case, named after file and id."""
    found = []
    for name in FILES:
        preset, listed = read_file(FOLDER / name)
        for case in listed:
            if game_of_preset(case.get("ruleset", preset)).game == "tranca":
                found.append(pytest.param(preset, case, id=f"{name}:{case['id']}"))
    return found


@pytest.mark.parametrize(("preset", "case"), cases())
def test_case_holds(preset: str, case: dict[str, Any]) -> None:
    assert why_wrong(preset, case) is None


def test_each_reason_of_tranca_has_a_case() -> None:
    """The names of rules.md 5.1, and that of the set-up."""
    reasons = (
        "ROUND_OVER MATCH_OVER NOT_YOUR_TURN ALREADY_DREW MUST_DRAW_FIRST DISCARD_EMPTY DISCARD_LOCKED NOT_YOUR_MELD "
        "TOP_CARD_NOT_JUSTIFIED CARD_NOT_IN_HAND THREE_NOT_MELDABLE INVALID_MELD TOO_MANY_WILDS FIRST_MELD_TOO_LOW "
        "MUST_DISCARD CLEAN_CANASTA_REQUIRED MUST_KEEP_CARD PLAYER_COUNT"
    )
    assert {case.values[1]["then"].get("err") for case in cases()} == {*reasons.split(), None}


def test_each_value_of_each_option_has_a_case() -> None:
    """Except for how much of the pile is seen, which is for views."""
    chosen = [pair for case in cases() for pair in (case.values[1].get("options") or {}).items()]
    for option in game_of_preset("tranca").options.values():
        tried = [value for key, value in chosen if key == option.key]
        if option.key != "discard.visible":
            assert tried, option.key
            assert all(value in [*tried, option.default] for value in option.values), option.key
