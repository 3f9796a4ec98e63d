"""What may be chosen at a table of Mau-Mau or UNO, and what is refused, with the options named."""

from __future__ import annotations

import random
from typing import Any

import pytest

from services.rules.registry import GAMES
from services.rules.ruleset import Ruleset, RulesetError, make_ruleset
from tests.rules.shedding_play import GAME_NAMES, PRESETS, random_ruleset


def refusal(preset: str, chosen: dict[str, Any]) -> RulesetError:
    with pytest.raises(RulesetError) as refused:
        make_ruleset(preset, chosen)
    return refused.value


def test_each_preset_is_the_game_of_its_description() -> None:
    assert make_ruleset("mau-mau-32").options["effects"] == {"7": "draw", "8": "skip", "9": "reverse", "J": "wish"}
    assert make_ruleset("mau-mau-brasil").options["call.timing"] == "before_play"
    assert make_ruleset("uno").options["group.sequences"] is True
    assert make_ruleset("uno-mattel").options["wd4.test"] == "color_only"
    casa = make_ruleset("uno-casa").options
    assert (casa["rule7"], casa["stack.d2onD2"], casa["finish.onWild"]) == ("swap", "optional", "forbidden")


@pytest.mark.parametrize("preset", PRESETS)
def test_every_default_is_a_value_that_may_be_chosen(preset: str) -> None:
    ruleset = make_ruleset(preset)
    for key, option in GAMES[ruleset.game].options.items():
        assert option.normal(ruleset.options[key]) == ruleset.options[key]
        assert option.sentence.endswith(".")
        assert option.source


@pytest.mark.parametrize(
    ("preset", "chosen", "reason", "keys"),
    [
        ("skat", {}, "UNKNOWN_RULESET", ("ruleset",)),
        ("uno", {"jokers": 2}, "UNKNOWN_OPTION", ("jokers",)),
        ("uno", {"seven.stack": "off"}, "OPTION_NOT_IN_GAME", ("seven.stack",)),
        ("mau-mau-32", {"rule7": "swap"}, "OPTION_NOT_IN_GAME", ("rule7",)),
        ("mau-mau-32", {"prevDraw.amount": 2}, "OPTION_NOT_IN_GAME", ("prevDraw.amount",)),
        ("mau-mau-32", {"jumpIn.effect": "none"}, "OPTION_NOT_IN_GAME", ("jumpIn.effect",)),
        ("mau-mau-brasil", {"melds.sets": True}, "OPTION_NOT_IN_GAME", ("melds.sets",)),
        ("mau-mau-32", {"call.miss": 6}, "BAD_OPTION_VALUE", ("call.miss",)),
        ("mau-mau-32", {"call.miss": "2"}, "BAD_OPTION_VALUE", ("call.miss",)),
        ("mau-mau-32", {"call.miss": True}, "BAD_OPTION_VALUE", ("call.miss",)),
        ("mau-mau-32", {"draw.voluntary": 1}, "BAD_OPTION_VALUE", ("draw.voluntary",)),
        ("mau-mau-32", {"deck.pack": "uno108"}, "BAD_OPTION_VALUE", ("deck.pack",)),
        ("mau-mau-32", {"effects": {"7": "explode"}}, "BAD_OPTION_VALUE", ("effects",)),
        ("mau-mau-32", {"effects": {"1": "draw"}}, "BAD_OPTION_VALUE", ("effects",)),
        ("mau-mau-32", {"effects": {"7": "take3"}}, "BAD_OPTION_VALUE", ("effects",)),
        ("mau-mau-32", {"effects": "none"}, "BAD_OPTION_VALUE", ("effects",)),
        ("mau-mau-32", {"effects.byCard": {"R5": "skip"}}, "BAD_OPTION_VALUE", ("effects.byCard",)),
        ("mau-mau-32", {"effects.byCard": {"KH": "take10"}}, "BAD_OPTION_VALUE", ("effects.byCard",)),
        ("mau-mau-32", {"score.values": {"A": -1}}, "BAD_OPTION_VALUE", ("score.values",)),
        ("uno", {"score.values": {"K": 10}}, "BAD_OPTION_VALUE", ("score.values",)),
        ("uno", {"match.target": 0}, "BAD_OPTION_VALUE", ("match.target",)),
        ("uno", {"match.target": "rounds:0"}, "BAD_OPTION_VALUE", ("match.target",)),
        ("uno", {"match.target": "first"}, "BAD_OPTION_VALUE", ("match.target",)),
        ("uno", {"match.target": 2.5}, "BAD_OPTION_VALUE", ("match.target",)),
        ("uno", {"players.min": 5, "players.max": 4}, "OPTIONS_CONFLICT", ("players.min", "players.max")),
        (
            "mau-mau-32",
            {"players.max": 7},
            "OPTIONS_CONFLICT",
            ("players.max", "deal.hand", "deck.pack", "deck.copies"),
        ),
        ("mau-mau-brasil", {"match.target": 100}, "OPTIONS_CONFLICT", ("match.target", "score.mode")),
        ("uno", {"score.mode": "own_points_rank"}, "OPTIONS_CONFLICT", ("match.target", "score.mode")),
    ],
)
def test_what_makes_no_table_is_refused_by_name(
    preset: str, chosen: dict[str, Any], reason: str, keys: tuple[str, ...]
) -> None:
    error = refusal(preset, chosen)
    assert (error.reason, error.keys) == (reason, keys)
    assert error.expected


def test_a_refused_option_says_what_would_be_right() -> None:
    assert "one of 1, 2, 3, 4, 5, 7" in str(refusal("uno", {"call.miss": 6}))
    assert "rounds:1" in str(refusal("uno", {"match.target": "x"}))


def test_ten_is_written_in_two_ways_and_none_is_left_out() -> None:
    written = [{"10": "copy", "8": "none", "J": "wish"}, {"J": "wish", "T": "copy"}]
    first, second = (make_ruleset("mau-mau-32", {"effects": effects}) for effects in written)
    assert first == second
    assert first.options["effects"] == {"T": "copy", "J": "wish"}


def test_one_changed_value_of_a_table_leaves_the_others() -> None:
    values = make_ruleset("mau-mau-brasil", {"score.values": {"A": 15}}).options["score.values"]
    assert isinstance(values, dict)
    assert (values["A"], values["J"], values["T"]) == (15, 30, 10)


def test_cumulative_sets_four_options_unless_they_are_chosen() -> None:
    def stack(chosen: dict[str, Any]) -> list[Any]:
        options = make_ruleset("uno", chosen).options
        return [options[f"stack.{key}"] for key in ("d2onD2", "d4onD4", "d2onD4", "d4onD2")]

    assert stack({}) == ["off", False, False, False]
    assert stack({"stack.cumulative": True}) == ["optional", True, True, False]
    assert stack({"stack.cumulative": True, "stack.d4onD4": False}) == ["optional", False, True, False]
    assert make_ruleset("uno-casa", {"stack.cumulative": False}).options["stack.d2onD2"] == "off"


@pytest.mark.parametrize("number", range(200))
def test_what_was_chosen_makes_the_same_ruleset_again(number: int) -> None:
    ruleset = random_ruleset(random.Random(f"again/{number}"))
    again = make_ruleset(ruleset.preset, dict(ruleset.chosen))
    assert again == ruleset
    assert dict(again.chosen) == dict(ruleset.chosen)


def test_the_order_of_choosing_and_a_choice_of_the_default_make_no_other_ruleset() -> None:
    first = make_ruleset("uno", {"rule7": "swap", "rule0": "rotate", "call.miss": 2})
    second = make_ruleset("uno", {"rule0": "rotate", "rule7": "swap"})
    assert first.hash == second.hash
    assert make_ruleset("uno", {"call.miss": 2}).label == "uno"
    assert first.label == "custom"


def test_presets_differ_by_hash() -> None:
    rulesets: list[Ruleset] = [make_ruleset(preset) for preset in PRESETS]
    assert len({ruleset.hash for ruleset in rulesets}) == len(rulesets)
    assert {ruleset.game for ruleset in rulesets} == set(GAME_NAMES)
