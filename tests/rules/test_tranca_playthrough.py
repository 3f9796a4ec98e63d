"""The recorded matches of Tranca come out as they were recorded."""

from __future__ import annotations

import pytest

from services.rules.registry import GAMES
from tests.rules.playthrough import path_of, record


@pytest.mark.parametrize("preset", GAMES["tranca"].presets)
def test_playthrough_is_as_recorded(preset: str) -> None:
    """After a wanted change: `python -m tests.rules.playthrough PRESET`, and read the difference."""
    assert record(preset) == path_of(preset).read_text(encoding="utf-8")
