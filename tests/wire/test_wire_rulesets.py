"""A ruleset keeps its meaning on the wire, and options are explained from their own declarations."""

from __future__ import annotations

import pytest
from maumau.v1 import rules_pb2

from services.rules.registry import GAMES
from services.rules.ruleset import Option, Ruleset, RulesetError, make_ruleset
from services.wire.errors import Refusal, refusal_of
from services.wire.rulesets import preset_messages, read_ruleset, ruleset_message, value_message

PRESETS = [preset for rules in GAMES.values() for preset in rules.presets]
OPTIONS = [(game, option) for game in GAMES.values() for option in game.options.values()]


def all_values(option: Option) -> list[object]:
    return [*option.values, option.default, *option.defaults.values()]


def test_there_are_presets() -> None:
    assert PRESETS


@pytest.mark.parametrize("preset", PRESETS)
def test_a_preset_crosses_with_name_game_hash_and_seats(preset: str) -> None:
    ruleset = make_ruleset(preset)
    message = ruleset_message(ruleset)
    assert (message.preset, message.game, message.hash) == (preset, ruleset.game, ruleset.hash)
    assert (message.min_seats, message.max_seats) == (ruleset.min_seats, ruleset.max_seats)
    assert make_ruleset(*read_ruleset(message)) == ruleset


@pytest.mark.parametrize(("game", "option"), OPTIONS, ids=[f"{game.game}:{option.key}" for game, option in OPTIONS])
def test_every_value_of_an_option_crosses_both_ways(game: object, option: Option) -> None:
    for value in all_values(option):
        request = rules_pb2.Ruleset(preset="any", options={option.key: value_message(value)})  # type: ignore[arg-type]
        read = read_ruleset(request).options[option.key]
        assert option.normal(read) == option.normal(value)
        assert type(read) is type(value) or isinstance(read, dict)


def test_a_changed_table_makes_the_same_ruleset_again() -> None:
    changed = [ruleset for preset in PRESETS for ruleset in _one_change_each(preset)]
    assert changed
    for ruleset in changed:
        assert make_ruleset(*read_ruleset(ruleset_message(ruleset))).hash == ruleset.hash


def _one_change_each(preset: str) -> list[Ruleset]:
    standard, found = make_ruleset(preset), []
    for option in next(game for game in GAMES.values() if preset in game.presets).options.values():
        for value in option.values:
            if standard.options[option.key] != value:
                try:
                    found.append(make_ruleset(preset, {option.key: value}))
                except RulesetError:
                    continue
    return found


def test_output_only_fields_of_a_request_are_not_looked_at() -> None:
    assert read_ruleset(rules_pb2.Ruleset(preset="uno", hash=b"x", game="tranca", max_seats=99)) == ("uno", {})


def test_too_many_options_are_refused() -> None:
    message = rules_pb2.Ruleset(preset="uno", options={str(n): rules_pb2.OptionValue(flag=True) for n in range(101)})
    with pytest.raises(Refusal) as caught:
        read_ruleset(message)
    assert caught.value.metadata == {"field": "ruleset.options", "value": "101 entries", "expected": "at most 100"}


@pytest.mark.parametrize("preset", PRESETS)
def test_every_option_of_a_preset_is_explained(preset: str) -> None:
    (described,) = preset_messages(preset)
    ruleset = make_ruleset(preset)
    assert described.title
    assert {option.key for option in described.options} == set(ruleset.options)
    for option in described.options:
        assert option.sentence
        assert option.source
        assert option.expected
        assert option.preset_value == value_message(ruleset.options[option.key])


def test_without_a_name_all_presets_are_listed() -> None:
    assert [described.ruleset.preset for described in preset_messages()] == PRESETS


def test_an_unknown_preset_is_refused() -> None:
    with pytest.raises(RulesetError, match="UNKNOWN_RULESET"):
        preset_messages("bridge")


@pytest.mark.parametrize("value", [rules_pb2.OptionValue(), rules_pb2.OptionValue(flag=True)])
def test_an_option_with_an_endless_name_is_refused_in_a_few_words(value: rules_pb2.OptionValue) -> None:
    """What a refusal says travels in headers, and more than 16 kB of these no client takes."""
    message = rules_pb2.Ruleset(preset="uno", options={"x" * 60_000: value})
    with pytest.raises((Refusal, RulesetError)) as refused:
        make_ruleset(*read_ruleset(message))
    answer = refusal_of(refused.value)
    assert answer is not None
    assert answer.to_status().ByteSize() < 4_000
