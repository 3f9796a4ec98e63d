"""Rulesets from plain Python values."""

from __future__ import annotations

from collections.abc import Mapping

from maumau.v1 import rules_pb2

PlainValue = bool | int | str | Mapping[str, str]
"""A switch, a number, a choice, or a small table of texts."""


def make_ruleset(preset: str, options: Mapping[str, PlainValue] | None = None) -> rules_pb2.Ruleset:
    """The preset with `options` changed. The server judges names and values; the kinds are taken as Python has them."""
    return rules_pb2.Ruleset(preset=preset, options={key: _value(value) for key, value in (options or {}).items()})


def parse_option(text: str, preset: rules_pb2.Preset) -> tuple[str, PlainValue]:
    """`key=value` as typed, with the kind that the preset has for the key. Raises ValueError."""
    key, sign, value = text.partition("=")
    if not sign:
        raise ValueError(f"an option is written key=value, not {text!r}")
    kinds = {option.key: option.preset_value.WhichOneof("value") for option in preset.options}
    if key not in kinds:
        raise ValueError(f"{preset.ruleset.preset} has no option {key!r}; it has {', '.join(sorted(kinds))}")
    return key, _parse_value(key, value, kinds[key] or "choice")


def _parse_value(key: str, value: str, kind: str) -> PlainValue:
    if kind == "flag":
        flags = {"true": True, "on": True, "yes": True, "false": False, "off": False, "no": False}
        if value.lower() not in flags:
            raise ValueError(f"{key} is true or false, not {value!r}")
        return flags[value.lower()]
    if kind == "number":
        try:
            return int(value)
        except ValueError:
            raise ValueError(f"{key} is a number, not {value!r}") from None
    if kind == "table":
        pairs = [pair.partition(":") for pair in value.split(",") if pair]
        return {name: entry for name, _, entry in pairs}
    return value


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
