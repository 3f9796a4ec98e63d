"""What the Tranca cases of the scenario files cover; `test_scenarios.py` plays them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from services.rules.registry import game_of_preset
from tests.scenarios.files import read_file

FOLDER: Final = Path(__file__).parents[1] / "scenarios"
FILES: Final = ("tranca.yaml", "random-tranca.yaml", "own-tranca.yaml", "presets.yaml")


def cases() -> list[Mapping[str, Any]]:
    read = (read_file(FOLDER / name) for name in FILES)
    every = [(case.get("ruleset", preset), case) for preset, listed in read for case in listed]
    return [case for preset, case in every if game_of_preset(preset).game == "tranca"]


def test_each_reason_of_tranca_has_a_case() -> None:
    """The names of rules.md 5.1, and that of the set-up."""
    reasons = (
        "ROUND_OVER MATCH_OVER NOT_YOUR_TURN ALREADY_DREW MUST_DRAW_FIRST DISCARD_EMPTY DISCARD_LOCKED NOT_YOUR_MELD "
        "TOP_CARD_NOT_JUSTIFIED CARD_NOT_IN_HAND THREE_NOT_MELDABLE INVALID_MELD TOO_MANY_WILDS FIRST_MELD_TOO_LOW "
        "MUST_DISCARD CLEAN_CANASTA_REQUIRED MUST_KEEP_CARD PLAYER_COUNT"
    )
    assert {case["then"].get("err") for case in cases()} == {*reasons.split(), None}


def test_each_value_of_each_option_has_a_case() -> None:
    """Except for how much of the pile is seen, which is for views."""
    chosen = [pair for case in cases() for pair in (case.get("options") or {}).items()]
    for option in game_of_preset("tranca").options.values():
        tried = [value for key, value in chosen if key == option.key]
        if option.key != "discard.visible":
            assert tried, option.key
            assert all(value in [*tried, option.default] for value in option.values), option.key
