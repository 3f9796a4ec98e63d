"""The reference of rulesets is made from their declarations, and a preset's hash never changes unnoticed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from services.rules.registry import GAMES
from services.rules.ruleset import make_ruleset
from services.rules.sources import SOURCES, codes_of
from services.runtime.rulesets_page import rulesets_page

PAGE: Final = Path(__file__).parents[2] / "docs" / "rulesets.md"

HASHES: Final = {
    "mau-mau-32": "a9c77dd854be0c8881cfeb949a72ae857d2dd72edd345b36d405c9daa46d8a92",
    "mau-mau-brasil": "dc091e1e4d3b4fd029fb893abe60fd0e6d4c1dd18b0ac1d6bda3a6771dc06c32",
    "uno": "868e132701d8066867dbdef4d4b664b6fb3f49006bbf9da1533b6a4ba2e73f08",
    "uno-mattel": "58c8401f8da3b27bf1025bb78cdabc8157363d916d97041f3fed3b80be7bcfff",
    "uno-casa": "be55df3d83dfb8c4abe350633598471da749bf3e058a780e8556ba07791cd2cd",
    "tranca": "8ee3f624de94b94354073c29d7ea21a2e3ffd3ca29e394515f5a65b2328c866f",
    "tranca-jogatina": "15a64395e07ce54561e5b9d74b62a39f9d48612a93c7d203f8554a7ea69470ad",
}
"""Rooms, replays and rating pools name a ruleset by its hash: a change here parts them from those of before."""


def test_the_page_is_up_to_date() -> None:
    """`make docs` writes it."""
    assert PAGE.read_text(encoding="utf-8") == rulesets_page()


def test_the_page_names_every_option_with_its_sentence() -> None:
    page = rulesets_page()
    for rules in GAMES.values():
        for option in rules.options.values():
            assert f"| `{option.key}` | " in page
            assert option.sentence in page


def test_every_source_is_explained_and_every_explained_one_is_used() -> None:
    used = {code for rules in GAMES.values() for option in rules.options.values() for code in codes_of(option.source)}
    assert used == set(SOURCES)


def test_every_preset_has_a_pinned_hash() -> None:
    assert set(HASHES) == {preset for rules in GAMES.values() for preset in rules.presets}


@pytest.mark.parametrize("preset", HASHES)
def test_the_hash_of_a_preset_is_what_it_was(preset: str) -> None:
    assert make_ruleset(preset).hash.hex() == HASHES[preset]


@pytest.mark.parametrize("preset", HASHES)
def test_the_hash_is_that_of_the_canonical_json_as_the_page_describes_it(preset: str) -> None:
    ruleset = make_ruleset(preset)

    def plain(value: Any) -> Any:
        return {key: plain(inner) for key, inner in value.items()} if isinstance(value, Mapping) else value

    described = {"game": ruleset.game, "options": plain(ruleset.options)}
    text = json.dumps(described, sort_keys=True, separators=(",", ":"))
    assert hashlib.sha256(text.encode()).digest() == ruleset.hash


def test_the_hash_depends_on_what_is_played_and_not_on_how_it_was_chosen() -> None:
    plain = make_ruleset("uno")
    assert make_ruleset("uno", {"call.miss": 2}).hash == plain.hash
    assert make_ruleset("uno", {"score.values": {"W4": 50}}).hash == plain.hash
    assert make_ruleset("uno", {"call.miss": 4}).hash != plain.hash
    both_ways = ({"rule0": "rotate", "rule8": "again"}, {"rule8": "again", "rule0": "rotate"})
    assert len({make_ruleset("uno", chosen).hash for chosen in both_ways}) == 1
    shared = {"8": "skip", "J": "wish"}
    backwards = dict(reversed(shared.items()))
    one, two = (make_ruleset("mau-mau-32", {"effects": effects}).hash for effects in (shared, backwards))
    assert one == two
