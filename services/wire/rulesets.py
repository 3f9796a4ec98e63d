"""Rulesets and their options on the wire."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from maumau.v1 import rules_pb2

from services.rules.registry import GAMES, game_of_preset
from services.rules.room.events import RulesetChoice
from services.rules.room.state import ruleset_of
from services.rules.ruleset import GameRules, Option, Ruleset, Value, make_ruleset
from services.wire.errors import invalid_field
from services.wire.shown import shown

MOST_OPTIONS: Final = 100
"""Options in a request; no game has as many."""

_DECIMAL: Final = re.compile(r"-?[0-9]{1,9}")


class Choice(NamedTuple):
    """What `make_ruleset` takes: a preset, and what differs from it by option key."""

    preset: str
    options: dict[str, object]


def read_ruleset(message: rules_pb2.Ruleset, path: str = "ruleset") -> Choice:
    """The choice in a request; whether it makes a ruleset is the rules' to say. Output-only fields are not looked at.
    Raises Refusal (INVALID_FIELD) for a missing preset and an option without a value."""
    if not message.preset:
        raise invalid_field(f"{path}.preset", "", "the name of a preset")
    if len(message.options) > MOST_OPTIONS:
        raise invalid_field(f"{path}.options", f"{len(message.options)} entries", f"at most {MOST_OPTIONS}")
    options = {key: _read_value(value, f"{path}.options[{shown(key)}]") for key, value in message.options.items()}
    return Choice(message.preset, options)


def _read_value(message: rules_pb2.OptionValue, path: str) -> object:
    kind = message.WhichOneof("value")
    if kind is None:
        raise invalid_field(path, "", "one of flag, number, choice, table")
    if kind == "table":
        return {key: int(text) if _DECIMAL.fullmatch(text) else text for key, text in message.table.entries.items()}
    return getattr(message, kind)


def ruleset_message(ruleset: Ruleset) -> rules_pb2.Ruleset:
    """The ruleset with its output-only fields."""
    return rules_pb2.Ruleset(
        preset=ruleset.preset,
        options={key: value_message(value) for key, value in ruleset.chosen.items()},
        game=ruleset.game,
        hash=ruleset.hash,
        min_seats=ruleset.min_seats,
        max_seats=ruleset.max_seats,
    )


def room_ruleset_message(choice: RulesetChoice) -> rules_pb2.Ruleset:
    """The ruleset of a room with its output-only fields. What it is made from is kept: checking all options anew costs
    more than the rest of a view."""
    return ruleset_message(ruleset_of(choice.preset, json.dumps(choice.options, sort_keys=True)))


def choice_message(preset: str, options: Mapping[str, Any]) -> rules_pb2.Ruleset:
    """A choice as it was asked for, without the output-only fields."""
    return rules_pb2.Ruleset(preset=preset, options={key: value_message(value) for key, value in options.items()})


def value_message(value: Value) -> rules_pb2.OptionValue:
    """The value of one option."""
    if isinstance(value, bool):
        return rules_pb2.OptionValue(flag=value)
    if isinstance(value, int):
        return rules_pb2.OptionValue(number=value)
    if isinstance(value, str):
        return rules_pb2.OptionValue(choice=value)
    entries = {key: str(entry) for key, entry in value.items()}
    return rules_pb2.OptionValue(table=rules_pb2.OptionTable(entries=entries))


def preset_messages(preset: str = "") -> list[rules_pb2.Preset]:
    """Every preset, or the named one, with all options explained. Raises RulesetError (UNKNOWN_RULESET)."""
    if preset:
        return [_preset_message(game_of_preset(preset), preset)]
    return [_preset_message(game, name) for game in GAMES.values() for name in game.presets]


def _preset_message(game: GameRules, preset: str) -> rules_pb2.Preset:
    ruleset = make_ruleset(preset)
    return rules_pb2.Preset(
        ruleset=ruleset_message(ruleset),
        title=game.title,
        options=[_option_message(option, ruleset.options[key]) for key, option in game.options.items()],
    )


def _option_message(option: Option, preset_value: Value) -> rules_pb2.OptionDescription:
    return rules_pb2.OptionDescription(
        key=option.key,
        sentence=option.sentence,
        source=option.source,
        allowed=[value_message(value) for value in option.values],
        expected=option.allowed(),
        preset_value=value_message(preset_value),
    )
