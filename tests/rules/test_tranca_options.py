"""Tranca's options: what presets set, what is refused."""

from __future__ import annotations

from typing import Final

import pytest

from services.rules.registry import GAMES
from services.rules.ruleset import RulesetError, make_ruleset
from services.rules.tranca.options import options_of

IN_RULES: Final = {
    "melds.maxWilds": (1, 1),
    "melds.sets": (True, True),
    "melds.duplicateSets": (True, True),
    "melds.wildSlides": (True, True),
    "melds.first": ("none", "none"),
    "canasta.types": ("runs", "runs_and_sets"),
    "close.requires": ("clean", "any"),
    "close.discard": ("free", "free"),
    "score.cards": ("buraco", "buraco"),
    "bonus.clean": (200, 200),
    "bonus.dirty": (100, 100),
    "bonus.close": (100, 100),
    "bonus.fullRun": (0, 0),
    "penalty.pozzetto": (100, 100),
    "pozzetto.unusedCardsCount": (False, False),
    "redThree.points": (100, 100),
    "redThree.allFour": (0, 0),
    "redThree.replace": (True, True),
    "blackThree.inHand": (-100, -100),
    "discard.justify": (True, True),
    "discard.naturalsOnly": (False, False),
    "discard.visible": ("top", "top"),
    "stock.empty": ("pozzetto_becomes_stock", "pozzetto_becomes_stock"),
    "first.player": ("left", "left"),
    "first.redraw": (False, False),
    "match.target": ("single", 2000),
    "players": (4, 4),
}
"""The table of rules.md 6.6: `tranca` and `tranca-jogatina`."""


@pytest.mark.parametrize(("column", "preset"), [(0, "tranca"), (1, "tranca-jogatina")])
def test_preset_has_the_values_of_the_table(column: int, preset: str) -> None:
    assert dict(make_ruleset(preset).options) == {key: values[column] for key, values in IN_RULES.items()}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("melds.maxWilds", 3),
        ("melds.maxWilds", True),
        ("melds.maxWilds", "all"),
        ("melds.sets", 1),
        ("melds.first", None),
        ("melds.first", {"from": 0}),
        ("melds.first", {"from": 0, "points": 0}),
        ("melds.first", {"from": 0, "points": "75"}),
        ("melds.first", {"from": 0, "points": 75, "until": 9}),
        ("canasta.types", "sets"),
        ("close.requires", "dirty"),
        ("bonus.clean", -1),
        ("bonus.clean", 2.5),
        ("bonus.clean", True),
        ("bonus.clean", 100_001),
        ("blackThree.inHand", -50),
        ("match.target", 0),
        ("match.target", "rounds:3"),
        ("match.target", False),
        ("players", 3),
    ],
)
def test_bad_value_is_refused_by_name(key: str, value: object) -> None:
    with pytest.raises(RulesetError) as refusal:
        make_ruleset("tranca", {key: value})
    assert refusal.value.reason == "BAD_OPTION_VALUE"
    assert refusal.value.keys == (key,)
    assert refusal.value.expected


@pytest.mark.parametrize("key", ["deal.hand", "deck.copies", "players.min", "call.miss", "deal.rotation"])
def test_option_of_other_games_is_refused(key: str) -> None:
    with pytest.raises(RulesetError) as refusal:
        make_ruleset("tranca", {key: 1})
    assert refusal.value.reason == "OPTION_NOT_IN_GAME"


def test_option_nobody_knows_is_refused() -> None:
    with pytest.raises(RulesetError) as refusal:
        make_ruleset("tranca", {"melds.maxwilds": 1})
    assert refusal.value.reason == "UNKNOWN_OPTION"


@pytest.mark.parametrize("players", [2, 4])
def test_players_says_how_many_seats_there_are(players: int) -> None:
    ruleset = make_ruleset("tranca", {"players": players})
    assert (ruleset.min_seats, ruleset.max_seats) == (players, players)


def test_options_are_read_once_for_each_ruleset() -> None:
    ruleset = make_ruleset("tranca")
    assert options_of(ruleset) is options_of(ruleset)


def test_each_option_says_what_it_is_and_where_it_comes_from() -> None:
    for option in GAMES["tranca"].options.values():
        assert option.sentence.endswith("."), option.key
        assert option.source, option.key
        assert option.allowed(), option.key
