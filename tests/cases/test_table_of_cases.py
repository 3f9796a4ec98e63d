"""The table of situations names tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).parents[1]
NAMED = re.findall(r"`(\w+/\w+\.py)::(\w+)`", (Path(__file__).parent / "README.md").read_text())


def test_every_test_that_the_table_names_exists() -> None:
    assert len(NAMED) > 40
    missing = [f"{file}::{name}" for file, name in NAMED if f"def {name}(" not in (TESTS / file).read_text()]
    assert missing == []


def test_every_situation_tested_here_is_in_the_table() -> None:
    here = {
        (f"cases/{file.name}", name)
        for file in Path(__file__).parent.glob("test_*.py")
        if file.name != Path(__file__).name
        for name in re.findall(r"def (test_\w+)\(", file.read_text())
    }
    assert here <= set(NAMED)
