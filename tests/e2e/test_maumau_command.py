"""The command `maumau` against the whole server: bots play a match of each preset, a person one of each family."""

from __future__ import annotations

import json
import random
import subprocess
from pathlib import Path

import pytest

from services.local.stack import Stack
from services.rules.registry import GAMES
from tests.e2e.command_terminal import COMMAND, CommandTerminal, command_terminal

PRESETS = [preset for rules in GAMES.values() for preset in rules.presets]
SHORTER = {"uno": 200, "uno-mattel": 200, "uno-casa": 200, "tranca-jogatina": 1000}
"""Points that end a match of several rounds sooner than the preset's."""
LOST_RACES = {"STALE", "ROUND_OVER", "MATCH_OVER", "NOTHING_TO_ACCUSE", "NOTHING_TO_REACT", "NOT_YOUR_TURN"}
"""Why a bot is refused that accused, jumped in or slapped a moment after another one."""

MOST_CHOICES = 600


@pytest.mark.parametrize("preset", PRESETS)
def test_bots_play_a_whole_match_of_each_preset(stack: Stack, preset: str) -> None:
    words = ["bots", "--ruleset", preset, "--seats", "4", "--level", "heuristic", "--json", "--address", stack.address]
    words += ["--option", f"match.target={SHORTER[preset]}"] if preset in SHORTER else []
    done = subprocess.run([COMMAND, *words], capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(done.stdout)
    assert (report["ruleset"], report["ok"], report["unknown"]) == (preset, True, 0)
    assert set(report["refused"]) <= LOST_RACES
    assert report["rounds"] >= 1
    assert sorted(report["winners"]) == [seat for seat, place in enumerate(report["places"]) if place == 1]
    for seat in report["seats"]:
        assert seat["versions"]["last"] == report["version"]
        assert (seat["versions"]["holes"], seat["versions"]["repeats"]) == (0, 0)


@pytest.mark.parametrize("preset", ["mau-mau-32", "mau-mau-brasil", "uno-mattel", "tranca"])
def test_a_person_plays_a_match_at_the_terminal_by_typing_numbers(stack: Stack, preset: str, tmp_path: Path) -> None:
    words = ["play", "--ruleset", preset, "--bots", "3", "--option", "match.target=single", "--name", "Ana"]
    with command_terminal([*words, "--new-guest", "--address", stack.address], tmp_path) as person:
        typed = play_until_over(person, random.Random(preset))
        assert typed > 1
        assert "place 1" in person.text, person.text


def play_until_over(person: CommandTerminal, rng: random.Random) -> int:
    """Types some number of the menu each time a new one is offered; how many were typed."""
    typed, answered = 0, ""
    while person.read():
        if "The match is over" in person.text:
            return typed
        asked = "\n".join(line for line in person.text.splitlines() if "─" not in line and ">" not in line)
        numbers = person.numbers()
        if numbers and asked != answered and typed < MOST_CHOICES:
            person.type(f"{rng.choice(numbers)}\r")
            answered, typed = asked, typed + 1
    raise AssertionError(f"the command ended before the match:\n{person.text}")
