"""The command `maumau` against the whole server: bots play a match of each preset, a person one of each family."""

from __future__ import annotations

import asyncio
import json
import os
import random
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest

from services.local.stack import Stack
from services.rules.registry import GAMES
from tests.e2e.command_terminal import COMMAND, CommandTerminal, command_terminal
from tests.e2e.lounge import ONE_ROUND, lounge, play

PRESETS = [preset for rules in GAMES.values() for preset in rules.presets]
SHORTER = {"uno": 200, "uno-mattel": 200, "uno-casa": 200, "tranca-jogatina": 1000}
"""Points that end a match of several rounds sooner than the preset's."""
LOST_RACES = {"STALE", "ROUND_OVER", "MATCH_OVER", "NOTHING_TO_ACCUSE", "NOTHING_TO_REACT", "NOT_YOUR_TURN"}
"""Why a bot is refused that accused, jumped in or slapped a moment after another one."""

MOST_CHOICES = 600
LIMIT_SECONDS = 600
"""For what hangs: a match of bots takes some seconds, on a busy machine a minute or two."""

pytestmark = pytest.mark.timeout(LIMIT_SECONDS)


@pytest.mark.parametrize("preset", PRESETS)
def test_bots_play_a_whole_match_of_each_preset(stack: Stack, preset: str) -> None:
    words = ["bots", "--ruleset", preset, "--seats", "4", "--level", "heuristic", "--json", "--address", stack.address]
    words += ["--option", f"match.target={SHORTER[preset]}"] if preset in SHORTER else []
    done = subprocess.run([COMMAND, *words], capture_output=True, text=True, timeout=LIMIT_SECONDS)
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(done.stdout)
    assert (report["ruleset"], report["ok"], report["unknown"]) == (preset, True, 0)
    assert set(report["refused"]) <= LOST_RACES
    assert report["rounds"] >= 1
    assert sorted(report["winners"]) == [seat for seat, place in enumerate(report["places"]) if place == 1]
    for seat in report["seats"]:
        assert seat["versions"]["last"] == report["version"]
        assert (seat["versions"]["holes"], seat["versions"]["repeats"]) == (0, 0)


@pytest.mark.parametrize("preset", ["mau-mau-brasil", "uno-mattel", "tranca"])
def test_a_person_plays_a_round_at_the_terminal_by_typing_numbers(stack: Stack, preset: str, tmp_path: Path) -> None:
    words = ["play", "--ruleset", preset, "--bots", "3", "--option", "match.target=single", "--name", "Ana"]
    screens = played(words, stack, preset, tmp_path)
    assert "place 1" in screens[-1]


def test_a_person_plays_mau_mau_to_150_points_as_make_play_starts_it(stack: Stack, tmp_path: Path) -> None:
    screens = played(["play"], stack, "mau-mau-32", tmp_path)
    assert "place 1" in screens[-1]
    assert any("Rules" not in screen and "Top card" in screen and "Your hand" in screen for screen in screens)
    assert any("round 1" in screen and "sum" in screen for screen in screens)  # the table after a round


def test_who_played_a_match_finds_it_in_the_history_and_on_the_board(stack: Stack, tmp_path: Path) -> None:
    words = ["play", "--bots", "1", "--option", "match.target=single", "--name", "Ana Board"]
    played(words, stack, "mau-mau-32-single", tmp_path)
    history = eventually_told(["history"], "mau-mau-32", stack, tmp_path)
    assert "single round" in history
    for board in boards_of_one_day(stack, tmp_path):
        assert "wins" in board
        assert "Ana Board" in board
    assert "no such season" in told(["leaderboard", "--period", "season"], stack, tmp_path)


def test_who_has_no_rated_match_is_shown_a_beginners_rating(stack: Stack, tmp_path: Path) -> None:
    lines = [line for line in told(["rating"], stack, tmp_path).splitlines() if "provisional" in line]
    assert [line.split()[0] for line in lines] == list(GAMES)
    assert all("25.0 ± 8.3" in line for line in lines)


def test_a_game_that_there_is_not_is_refused_by_every_command(stack: Stack, tmp_path: Path) -> None:
    for words in (["leaderboard", "skat"], ["rating", "skat"], ["history", "--family", "skat"]):
        done = run(words, stack, tmp_path)
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr.startswith("maumau: UNKNOWN_FAMILY")


def boards_of_one_day(stack: Stack, state_folder: Path) -> list[str]:
    """The board of all time and those of today, this week and this month after a match of Ana's; where midnight went by
    meanwhile, after one more."""
    words = ["leaderboard", "mau-mau-32", "--lines", "100"]
    while True:
        day = datetime.now(UTC).date()
        asyncio.run(match_of_two(stack.address, "Ana Board", "Bo Board"))
        of_all_time = eventually_told(words, "Ana Board", stack, state_folder)
        of_today = [told([*words, "--period", period], stack, state_folder) for period in ("day", "week", "month")]
        if datetime.now(UTC).date() == day:
            return [of_all_time, *of_today]


async def match_of_two(address: str, *names: str) -> None:
    """Boards are about people: a match against bots is not on them."""
    async with lounge(address) as hall:
        await play(await hall.match(*names, preset="mau-mau-32", options=ONE_ROUND))


def told(words: list[str], stack: Stack, state_folder: Path) -> str:
    """What a command prints."""
    done = run(words, stack, state_folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def run(words: list[str], stack: Stack, state_folder: Path) -> subprocess.CompletedProcess[str]:
    """A command to its end."""
    environment = {**os.environ, "XDG_STATE_HOME": str(state_folder), "NO_COLOR": "1"}
    command = [str(COMMAND), *words, "--address", stack.address]
    return subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_SECONDS, env=environment)


def eventually_told(words: list[str], expected: str, stack: Stack, state_folder: Path) -> str:
    """What a command prints, once that has what is expected: results reach scoring a moment after the match."""
    for _ in range(40):
        if expected in (printed := told(words, stack, state_folder)):
            return printed
    raise AssertionError(f"{expected!r} is not in {printed!r}")


def played(words: list[str], stack: Stack, name: str, state_folder: Path) -> list[str]:
    """Plays a match to its end; its screens, which are also kept as text in `var/screens`."""
    with command_terminal([*words, "--address", stack.address], state_folder) as person:
        screens: list[str] = []
        assert play_until_over(person, random.Random(name), screens) > 1
    kept = Path(__file__).parents[2] / "var" / "screens"
    kept.mkdir(parents=True, exist_ok=True)
    kept.joinpath(f"{name}.txt").write_text(f"\n{'=' * 80}\n".join(screens))
    return screens


def play_until_over(person: CommandTerminal, rng: random.Random, screens: list[str]) -> int:
    """Types some number of the menu each time a new one is offered; how many were typed. Collects the screens."""
    typed, answered = 0, ""
    while person.read():
        if not screens or screens[-1] != person.text:
            screens.append(person.text)
        if "The match is over" in person.text:
            return typed
        asked = "\n".join(line for line in person.text.splitlines() if "─" not in line and ">" not in line)
        numbers = person.numbers()
        if numbers and asked != answered and typed < MOST_CHOICES:
            person.type(f"{rng.choice(numbers)}\r")
            answered, typed = asked, typed + 1
    raise AssertionError(f"the command ended before the match:\n{person.text}")
