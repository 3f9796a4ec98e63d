"""Every case of every scenario file holds, and the runner passes nothing over."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from services.rules.reasons import Reason
from services.rules.registry import GAMES, game_of_preset
from services.rules.ruleset import make_ruleset
from tests.scenarios.__main__ import main
from tests.scenarios.files import read_file, verdicts, why_wrong

FOLDER = Path(__file__).parent.parent / "scenarios"
FILES = sorted(FOLDER.glob("*.yaml"))
SHEDDING = ("mau-mau-32", "mau-mau-brasil", "uno")

TRANCA_REASONS = {
    Reason.DISCARD_EMPTY,
    Reason.DISCARD_LOCKED,
    Reason.NOT_YOUR_MELD,
    Reason.TOP_CARD_NOT_JUSTIFIED,
    Reason.THREE_NOT_MELDABLE,
    Reason.INVALID_MELD,
    Reason.TOO_MANY_WILDS,
    Reason.FIRST_MELD_TOO_LOW,
    Reason.MUST_DISCARD,
    Reason.CLEAN_CANASTA_REQUIRED,
    Reason.MUST_KEEP_CARD,
}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_case_holds(path: Path) -> None:
    wrong = {verdict.id: verdict.why for verdict in verdicts(path) if verdict.why is not None}
    assert wrong == {}


@cache
def shedding_cases() -> list[tuple[str, Mapping[str, Any]]]:
    found = []
    for path in FILES:
        preset, cases = read_file(path)
        found += [(str(case.get("ruleset", preset)), case) for case in cases]
    return [(preset, case) for preset, case in found if game_of_preset(preset).game in SHEDDING]


@pytest.mark.parametrize("game", SHEDDING)
def test_every_value_of_every_option_occurs_in_some_case(game: str) -> None:
    seen: set[tuple[str, object]] = set()
    for preset, case in shedding_cases():
        if game_of_preset(preset).game == game:
            seen |= set(values_of(preset, case))
    wanted = {
        (key, value)
        for key, option in GAMES[game].options.items()
        for value in option.values
        if key not in ("players.min", "players.max", "deck.pack")
    }
    if game == "mau-mau-32":
        effects = ("draw", "skip", "reverse", "wish", "prevdraw", "again", "copy", "none", "take3")
        wanted |= {("effect", effect) for effect in effects}
        wanted |= {("deck.pack", pack) for pack in ("piquet32", "french36", "french52")}
        wanted |= {("match.target", "single"), ("match.target", "rounds:3"), ("match.target", 100)}
    assert wanted - seen == set()


def values_of(preset: str, case: Mapping[str, Any]) -> list[tuple[str, object]]:
    values: list[tuple[str, object]] = []
    chosen = {k: "off" if v is False and k in ("seven.stack",) else v for k, v in (case.get("options") or {}).items()}
    for key, value in make_ruleset(preset, chosen).options.items():
        if isinstance(value, Mapping):
            values += [("effect", effect) for effect in value.values()]
        else:
            values.append((key, value))
    return values


def test_every_reason_of_the_shedding_games_occurs_in_some_case() -> None:
    seen = {case["then"]["err"] for _, case in shedding_cases() if "err" in case["then"]}
    assert {reason.name for reason in Reason} - {reason.name for reason in TRANCA_REASONS} - seen == set()


GIVEN = {"n": 2, "turn": 0, "top": "KS", "hands": [["KD", "8H"], ["9C", "8C"]]}


@pytest.mark.parametrize(
    "change",
    [
        {"options": {"deck.jokers": 2}},
        {"options": {"rule7": "swap"}},
        {"options": {"call.miss": 6}},
        {"ruleset": "skat"},
        {"when": [[0, "slap"]]},
        {"when": [[0, "play", "KD", {"colour": "H"}]]},
        {"when": [[0, "play", "KX"]]},
        {"when": [[0, "play", "KD", {"call": "hurrah"}]]},
        {"given": {**GIVEN, "joker": 1}},
        {"given": {**GIVEN, "phase": "sleep"}},
        {"given": {**GIVEN, "hands": [["KD"]]}},
        {"then": {"weather": "fine"}},
        {"then": {"err": "NOT_YOUR_TURN"}},
        {"then": {"turn": 0}},
        {"note": "a key that no case has"},
    ],
)
def test_what_the_runner_does_not_know_fails_the_case(change: Mapping[str, Any]) -> None:
    case = {"id": "X", "given": GIVEN, "when": [[0, "play", "KD"]], "then": {"turn": 1}}
    assert why_wrong("mau-mau-32", case) is None
    assert why_wrong("mau-mau-32", {**case, **change}) is not None


def test_the_runner_names_each_case_and_ends_with_one_if_any_failed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "cases.yaml"
    path.write_text(
        "ruleset: mau-mau-32\ncases:\n"
        "- {id: good, given: {n: 4}, when: [[0, setup]], then: {stock_n: 11}, source: test}\n"
        "- {id: bad, given: {n: 4}, when: [[0, setup]], then: {stock_n: 12}, source: test}\n"
    )
    assert main([str(path)]) == 1
    assert capsys.readouterr().out == "ok good\nFAIL bad: stock_n: 11, expected 12\n1 passed, 1 failed\n"


def test_a_file_that_is_no_scenario_file_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "cases.yaml"
    path.write_text("ruleset: [")
    assert main([str(path), str(tmp_path / "missing.yaml")]) == 1
    assert "0 passed, 2 failed" in capsys.readouterr().out
