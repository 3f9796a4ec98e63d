"""How an option of these games is declared: one row with a column for each preset."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from services.rules.ruleset import Value

Choice = bool | int | str
Column = Value | None
Checked = Callable[[object], Value]
YES_NO: Final = (False, True)


@dataclass(frozen=True)
class Row:
    """One option with a column a preset. `choices` lists the values, or `check` and `expected` tell what is right."""

    key: str
    choices: tuple[Choice, ...]
    sentence: str
    source: str
    a: Column = None
    b: Column = None
    uno: Column = None
    mattel: Column = None
    casa: Column = None
    check: Mapping[str, Checked] | Checked | None = None
    expected: str = ""
