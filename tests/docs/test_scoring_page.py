"""docs/scoring.md is what the code says of itself, and says what the code does."""

from __future__ import annotations

from pathlib import Path

from services.scoring.page import page
from services.scoring.periods import KEPT_DAYS
from services.scoring.ratings import SURE_MATCHES, SURE_SIGMA

PAGE = Path(__file__).parents[2] / "docs" / "scoring.md"


def test_the_page_is_what_the_code_gives() -> None:
    assert PAGE.read_text() == page(), "run `make docs`"


def test_the_page_names_the_figures_that_are_used() -> None:
    text = " ".join(page().split())
    assert f"until {SURE_MATCHES} rated matches, and while sigma is above {SURE_SIGMA:g}" in text
    for kept in KEPT_DAYS.values():
        assert f" {kept}" in text


def test_the_page_states_every_rule_that_was_asked_for() -> None:
    text = page()
    for word in ("Leavers", "deserted partner", "bot's turns", "blocked match", "aborted", "provisional", "share"):
        assert word in text
