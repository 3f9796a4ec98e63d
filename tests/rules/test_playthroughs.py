"""One recorded match of each preset plays again as it was."""

from __future__ import annotations

import pytest

from tests.rules.playthrough import PRESETS, path_of, record


@pytest.mark.parametrize("preset", PRESETS)
def test_recorded_match_plays_again_as_it_was(preset: str) -> None:
    """After a wanted change: `python -m tests.rules.playthrough`, and read the difference."""
    assert record(preset) == path_of(preset).read_text(encoding="utf-8")
