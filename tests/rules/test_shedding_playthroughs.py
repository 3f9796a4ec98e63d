"""The recorded matches play again as they were recorded."""

from __future__ import annotations

import pytest

from tests.rules.shedding_play import PRESETS
from tests.rules.shedding_playthroughs import FOLDER, recording


@pytest.mark.parametrize("preset", PRESETS)
def test_recorded_match_plays_again_as_it_was(preset: str) -> None:
    recorded = (FOLDER / f"{preset}.txt").read_text(encoding="utf-8")
    assert recording(preset) == recorded, "python -m tests.rules.shedding_playthroughs writes the recordings anew"
