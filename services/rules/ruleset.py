"""Rulesets as data: a game and a value for each of its options.

Each game declares its options once (`shedding/options.py`, `tranca/options.py`) as `Option` values: key, allowed
values, default for each preset, one sentence, source. Everything else comes from that: validation, the proto form,
`ListRulesets`, the terminal's rule page and the generated reference.

A value is a bool, an int, a string, or a mapping of strings to strings or ints (`effects`, `score.values`,
`melds.first`). A ruleset's hash is SHA-256 over its canonical JSON: game and every option, keys sorted, no spaces.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

Value = bool | int | str | Mapping[str, str | int]


class RulesetError(ValueError):
    """Options that make no ruleset. `reason` is UNKNOWN_RULESET, UNKNOWN_OPTION, OPTION_NOT_IN_GAME, BAD_OPTION_VALUE
    or OPTIONS_CONFLICT; `keys` names the options, `value` what was given, `expected` what would be right."""

    def __init__(self, reason: str, keys: tuple[str, ...], value: object, expected: str) -> None:
        super().__init__(f"{reason}: {', '.join(keys)} = {value!r}; expected {expected}")
        self.reason = reason
        self.keys = keys
        self.value = value
        self.expected = expected


@dataclass(frozen=True)
class Option:
    """One switch of a game. `defaults` has a value for each preset of the game that differs from `default`.

    `values` lists what may be chosen; where it is empty, `check` decides (it returns the normal form, or raises
    ValueError) and `expected` says in words what it takes."""

    key: str
    default: Value
    sentence: str
    source: str
    values: tuple[bool | int | str, ...] = ()
    defaults: Mapping[str, Value] = field(default_factory=dict)
    check: Callable[[object], Value] | None = None
    expected: str = ""

    def normal(self, value: object) -> Value:
        """The value in normal form. Raises RulesetError for a value that is not allowed."""
        if self.values:
            for allowed in self.values:
                if type(allowed) is type(value) and allowed == value:
                    return allowed
            raise RulesetError("BAD_OPTION_VALUE", (self.key,), value, self.allowed())
        assert self.check is not None, self.key
        try:
            return self.check(value)
        except ValueError:
            raise RulesetError("BAD_OPTION_VALUE", (self.key,), value, self.allowed()) from None

    def allowed(self) -> str:
        """What may be chosen, in words."""
        if self.values:
            return "one of " + ", ".join(json.dumps(v) for v in self.values)
        return self.expected


@dataclass(frozen=True)
class GameRules:
    """What a game declares of itself: its presets (first one the literal seed), options, and the mixes that cannot
    work (`conflicts` raises RulesetError)."""

    game: str
    title: str
    presets: tuple[str, ...]
    options: Mapping[str, Option]
    conflicts: Callable[[Mapping[str, Value]], None]
    seats: Callable[[Mapping[str, Value]], tuple[int, int]]
    derive: Callable[[dict[str, Value], Mapping[str, Value]], None] = lambda options, chosen: None
    """May set options that another option stands for (`stack.cumulative`), unless chosen themselves."""


@dataclass(frozen=True, eq=False)
class Ruleset:
    """A game with every option set. `preset` is what it was made from; `chosen` what differs from that preset,
    so that `make_ruleset(preset, chosen)` makes it again."""

    game: str
    preset: str
    options: Mapping[str, Value]
    min_seats: int
    max_seats: int
    chosen: Mapping[str, Value]
    hash: bytes
    compiled: dict[str, Any] = field(default_factory=dict, repr=False)
    """Room for what a game derives from the options once (lookup tables); not part of the value."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ruleset) and other.hash == self.hash

    def __hash__(self) -> int:
        return hash(self.hash)

    @property
    def label(self) -> str:
        """The preset's name, or `custom`: the label of metrics."""
        return "custom" if self.chosen else self.preset


def canonical(game: str, options: Mapping[str, Value]) -> bytes:
    """The bytes that the hash is made of."""
    plain = {k: dict(v) if isinstance(v, Mapping) else v for k, v in options.items()}
    text = json.dumps({"game": game, "options": plain}, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return text.encode()


def make_ruleset(preset: str, chosen: Mapping[str, object] | None = None) -> Ruleset:
    """The preset with the chosen options changed. Raises RulesetError for an unknown preset or key, a bad value, an
    option without meaning for the game, or a mix that cannot work."""
    from services.rules.registry import ALL_OPTION_KEYS, game_of_preset

    rules = game_of_preset(preset)
    options: dict[str, Value] = {k: o.defaults.get(preset, o.default) for k, o in rules.options.items()}
    changed: dict[str, Value] = {}
    for key, value in (chosen or {}).items():
        option = rules.options.get(key)
        if option is None:
            reason = "OPTION_NOT_IN_GAME" if key in ALL_OPTION_KEYS else "UNKNOWN_OPTION"
            raise RulesetError(reason, (key,), value, f"an option of {rules.game}: {', '.join(sorted(rules.options))}")
        changed[key] = option.normal(value)
    defaults = dict(options)
    rules.derive(options, changed)
    derived = dict(options)
    options.update(changed)
    rules.conflicts(options)
    low, high = rules.seats(options)
    return Ruleset(
        game=rules.game,
        preset=preset,
        options=MappingProxyType(options),
        min_seats=low,
        max_seats=high,
        chosen=MappingProxyType({k: v for k, v in changed.items() if v != defaults[k] or v != derived[k]}),
        hash=hashlib.sha256(canonical(rules.game, options)).digest(),
    )
