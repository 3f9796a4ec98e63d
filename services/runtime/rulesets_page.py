"""docs/rulesets.md: every game, preset and option, from the declarations in `services/rules`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from services.rules.reasons import Reason
from services.rules.registry import GAMES
from services.rules.ruleset import GameRules, Option, Ruleset, Value, make_ruleset
from services.rules.sources import SOURCES

LEAD = """\
# Rulesets

Generated from the declarations in `services/rules` by `make docs`. A ruleset is a preset and the options that a table
changes. What is refused is refused by name: `UNKNOWN_RULESET`, `UNKNOWN_OPTION`, `OPTION_NOT_IN_GAME` for an option
that another game has, `BAD_OPTION_VALUE`, and `OPTIONS_CONFLICT` with the keys of a mix that cannot work. The hash of
a ruleset is the SHA-256 of its canonical JSON: `{"game": ..., "options": {...}}` with every option, keys sorted,
without spaces. The sources are named in full at the end.
"""

FIRST_OF_A_RUN = 4
"""From how many whole numbers in a row on only the first and last are shown."""


def rulesets_page() -> str:
    """The whole page."""
    lines = [LEAD.rstrip()]
    for rules in GAMES.values():
        lines += _game(rules)
    lines += _refusals()
    lines += _sources()
    return "\n".join(lines) + "\n"


def _game(rules: GameRules) -> Iterator[str]:
    presets = [make_ruleset(preset) for preset in rules.presets]
    yield from ("", f"## {rules.title} (`{rules.game}`)", "", "| preset | seats | hash |", "| --- | --- | --- |")
    for ruleset in presets:
        yield f"| `{ruleset.preset}` | {_seats(ruleset)} | `{ruleset.hash.hex()}` |"
    names = " | ".join(f"`{preset}`" for preset in rules.presets)
    yield from ("", f"| option | values | {names} | meaning | source |", "| --- " * (4 + len(presets)) + "|")
    for option in rules.options.values():
        yield _row(option, presets)


def _seats(ruleset: Ruleset) -> str:
    low, high = ruleset.min_seats, ruleset.max_seats
    return str(low) if low == high else f"{low} to {high}"


def _row(option: Option, presets: list[Ruleset]) -> str:
    defaults = " | ".join(_shown(ruleset.options[option.key]) for ruleset in presets)
    return f"| `{option.key}` | {_values(option)} | {defaults} | {option.sentence} | {option.source} |"


def _values(option: Option) -> str:
    values = option.values
    if not values:
        return option.expected
    whole = [value for value in values if isinstance(value, int) and not isinstance(value, bool)]
    if len(whole) == len(values) >= FIRST_OF_A_RUN and whole == list(range(whole[0], whole[-1] + 1)):
        return f"{whole[0]} to {whole[-1]}"
    return ", ".join(map(_shown, values))


def _shown(value: Value) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {entry}" for key, entry in value.items()) or "none"
    return f"`{value}`" if isinstance(value, str) else json.dumps(value)


def _refusals() -> Iterator[str]:
    yield from ("", "## Why an action is refused", "", "| reason | meaning |", "| --- | --- |")
    for reason in Reason:
        yield f"| `{reason.name}` | {reason.sentence} |"


def _sources() -> Iterator[str]:
    yield from ("", "## Sources", "", "| code | what it is |", "| --- | --- |")
    for code, title in SOURCES.items():
        yield f"| {code} | {title} |"
