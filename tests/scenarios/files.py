"""Reads scenario files and plays their cases, whichever game they are for.

A file has `ruleset` and `cases`; a case has `id`, `options`, `ruleset`, `given`, `when`, `then`, `source`. Nothing is
passed over: a key, verb or value that nobody knows makes the case fail.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from services.rules.registry import game_of_preset
from services.rules.ruleset import RulesetError
from tests.scenarios import shedding, tranca

Case = Mapping[str, Any]
Player = Callable[[str, Case], str | None]

PLAYERS: Final[dict[str, Player]] = {
    "mau-mau-32": shedding.run_case,
    "mau-mau-brasil": shedding.run_case,
    "uno": shedding.run_case,
    "tranca": tranca.run_case,
}
"""By game, what plays a case: it gets the preset and the case, and returns None or what is wrong."""

LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The fast one, where PyYAML was built with it."""

FILE_KEYS: Final = frozenset(("ruleset", "cases"))
CASE_KEYS: Final = frozenset(("id", "options", "ruleset", "given", "when", "then", "source"))

TRANCA_GIVEN: Final = frozenset(
    "n turn phase dealer hands stock discard melds took used red pozzetti total".split()  # noqa: SIM905
)


@dataclass(frozen=True)
class Verdict:
    """`why` is None for a case that holds."""

    id: str
    why: str | None


class ScenarioFileError(ValueError):
    """A file that is no scenario file."""


def verdicts(path: Path) -> Iterator[Verdict]:
    """The verdict on each case of a file. Raises ScenarioFileError for a file that cannot be read as one."""
    ruleset, cases = read_file(path)
    for number, case in enumerate(cases, 1):
        name = str(case.get("id", f"#{number}")) if isinstance(case, Mapping) else f"#{number}"
        yield Verdict(name, why_wrong(ruleset, case))


def read_file(path: Path) -> tuple[str, list[Case]]:
    """The preset and the cases of a file."""
    try:
        content = yaml.load(path.read_text(encoding="utf-8"), Loader=LOADER)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ScenarioFileError(f"{path}: {error}") from error
    if not isinstance(content, Mapping) or set(content) != FILE_KEYS or not isinstance(content["cases"], list):
        raise ScenarioFileError(f"{path}: a scenario file holds a ruleset and a list of cases, and nothing else")
    return str(content["ruleset"]), content["cases"]


def why_wrong(ruleset: str, case: Case) -> str | None:
    """None for a case that holds, else what is wrong with the engine or with the case."""
    if not isinstance(case, Mapping):
        return "a case is a mapping"
    unknown = set(case) - CASE_KEYS
    if unknown:
        return f"unknown key of a case: {', '.join(sorted(map(str, unknown)))}"
    preset = str(case.get("ruleset") or ruleset)
    try:
        game = game_of_preset(preset).game
        if game == "tranca":
            _refuse_unknown(case.get("given") or {}, TRANCA_GIVEN)
        return PLAYERS[game](ruleset, case)
    except RulesetError as error:
        return f"ruleset: {error}"
    except Exception as error:  # a case may hold anything; whatever goes wrong is its verdict
        return f"{type(error).__name__}: {error}"


def _refuse_unknown(given: Mapping[str, Any], known: frozenset[str]) -> None:
    unknown = set(given) - known
    if unknown:
        raise ValueError(f"unknown key in given: {', '.join(sorted(map(str, unknown)))}")
