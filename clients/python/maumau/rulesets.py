"""Rulesets from plain Python values."""

from __future__ import annotations

from collections.abc import Mapping

from maumau.errors import MaumauError
from maumau.v1 import rules_pb2

PlainValue = bool | int | str | Mapping[str, str]
"""A switch, a number, a choice, or a small table of texts."""


def make_ruleset(preset: str, options: Mapping[str, PlainValue] | None = None) -> rules_pb2.Ruleset:
    """The preset with `options` changed. The server judges names and values; the kinds are taken as Python has them."""
    return rules_pb2.Ruleset(preset=preset, options={key: _value(value) for key, value in (options or {}).items()})


class OptionError(MaumauError, ValueError):
    """An option that was typed cannot be read; the message says what would be right."""


def parse_option(text: str, preset: rules_pb2.Preset) -> tuple[str, PlainValue]:
    """`key=value` as typed, for an option of the preset; the server judges the value. Raises OptionError."""
    key, sign, value = text.partition("=")
    if not sign:
        raise OptionError(f"an option is written key=value, not {text!r}")
    for option in preset.options:
        if option.key == key:
            return key, _parse_value(option, value)
    keys = ", ".join(sorted(option.key for option in preset.options))
    raise OptionError(f"{preset.ruleset.preset} has no option {key!r}; it has {keys}")


def _parse_value(option: rules_pb2.OptionDescription, value: str) -> PlainValue:
    """One of the allowed values by its text, else what the preset's own value is of the kind of, else a number or a
    word: the same option may take both (`match.target`: 500, or single)."""
    for allowed in option.allowed:
        if text_of(allowed) == value:
            return plain_value(allowed)
    kind = option.preset_value.WhichOneof("value")
    if kind == "flag":
        if value.lower() not in _FLAGS:
            raise OptionError(f"{option.key} is true or false, not {value!r}")
        return _FLAGS[value.lower()]
    if kind == "table":
        return {name: entry for name, _, entry in (pair.partition(":") for pair in value.split(",") if pair)}
    try:
        return int(value)
    except ValueError:
        return value


_FLAGS = {"true": True, "on": True, "yes": True, "false": False, "off": False, "no": False}


def plain_value(value: rules_pb2.OptionValue) -> PlainValue:
    """An option's value as Python has it."""
    match value.WhichOneof("value"):
        case "flag":
            return value.flag
        case "number":
            return value.number
        case "table":
            return dict(value.table.entries)
        case _:
            return value.choice


def text_of(value: rules_pb2.OptionValue) -> str:
    """An option's value as a person writes it."""
    match value.WhichOneof("value"):
        case "flag":
            return "true" if value.flag else "false"
        case "number":
            return str(value.number)
        case "table":
            return ",".join(f"{name}:{entry}" for name, entry in sorted(value.table.entries.items()))
        case _:
            return value.choice


def _value(value: PlainValue) -> rules_pb2.OptionValue:
    if isinstance(value, bool):
        return rules_pb2.OptionValue(flag=value)
    if isinstance(value, int):
        return rules_pb2.OptionValue(number=value)
    if isinstance(value, str):
        return rules_pb2.OptionValue(choice=value)
    return rules_pb2.OptionValue(table=rules_pb2.OptionTable(entries=dict(value)))
