"""Melds of Tranca against the sentences of rules.md 5.1, taken literally."""

from __future__ import annotations

import random
from typing import Any

import pytest

from services.rules.cards import PACKS, Card, Rank, parse_card
from services.rules.reasons import IllegalAction
from services.rules.ruleset import make_ruleset
from services.rules.tranca.melds import arranged, canasta_of
from services.rules.tranca.options import Options, options_of

NATURALS = [c for c in PACKS["french52"] if c.rank.value >= Rank.FOUR.value]
TWOS = [c for c in PACKS["french52"] if c.rank is Rank.TWO]


def options(**chosen: Any) -> Options:
    return options_of(make_ruleset("tranca", {f"melds.{key}": value for key, value in chosen.items()}))


def is_meld(cards: list[Card], most_twos: int) -> bool:
    """The definition, word by word, for a fixed number of twos."""
    naturals = [c for c in cards if c.rank is not Rank.TWO]
    twos = len(cards) - len(naturals)
    ranks = [c.rank.value for c in naturals]
    if len(cards) < 3 or twos > most_twos or len(naturals) < 2:
        return False
    if len(set(ranks)) == 1:
        return True
    gaps = max(ranks) - min(ranks) + 1 - len(ranks)
    one_suit = len({c.suit for c in naturals}) == 1
    return one_suit and len(set(ranks)) == len(ranks) and gaps <= twos and len(cards) <= 11


def near_melds(rng: random.Random) -> list[Card]:
    """Cards that are a meld more often than chance would have it."""
    start = rng.choice(NATURALS)
    suit = [c for c in NATURALS if c.suit is start.suit]
    rank = [c for c in NATURALS if c.rank is start.rank]
    naturals = rng.choices(rng.choice((suit, rank, NATURALS)), k=rng.randrange(1, 9))
    if rng.random() < 0.7:
        naturals = list(dict.fromkeys(naturals))
    return rng.sample(naturals, len(naturals)) + rng.choices(TWOS, k=rng.choice((0, 0, 1, 1, 2, 3)))


@pytest.mark.parametrize("most_twos", [1, 2])
def test_what_is_a_meld_is_what_the_rules_say(most_twos: int) -> None:
    rng = random.Random(f"melds/{most_twos}")
    rules = options(maxWilds=most_twos)
    found = 0
    for _ in range(20_000):
        cards = near_melds(rng)
        try:
            laid = arranged(cards, rules)
        except IllegalAction:
            assert not is_meld(cards, most_twos), [c.text() for c in cards]
            continue
        assert is_meld(cards, most_twos), [c.text() for c in cards]
        assert sorted(c.code for c in laid) == sorted(c.code for c in cards)
        found += 1
    assert found > 1_000


def test_each_card_of_a_run_lies_in_its_place() -> None:
    rng = random.Random("places")
    rules = options(maxWilds="half")
    for _ in range(20_000):
        try:
            laid = arranged(near_melds(rng), rules)
        except IllegalAction:
            continue
        naturals = [(index, c) for index, c in enumerate(laid) if c.rank is not Rank.TWO]
        if naturals[0][1].rank is not naturals[1][1].rank:
            starts = {c.rank.value - index for index, c in naturals}
            assert len(starts) == 1
            assert starts.pop() >= Rank.FOUR.value


def cards(text: str) -> list[Card]:
    return [parse_card(word) for word in text.split()]


@pytest.mark.parametrize(
    ("types", "laid", "canasta"),
    [
        ("runs", "4H 5H 6H 7H 8H 9H", "none"),
        ("runs", "4H 5H 6H 7H 8H 9H TH", "clean"),
        ("runs", "4H 5H 2S 7H 8H 9H TH", "dirty"),
        ("runs", "9C 9D 9H 9S 9C 9D 9H 9S", "none"),
        ("runs_and_sets", "9C 9D 9H 9S 9C 9D 9H", "clean"),
        ("runs_and_sets", "9C 9D 9H 9S 9C 9D 2H", "dirty"),
        ("runs_and_sets", "9C 9D 9H 9S 9C 9D", "none"),
    ],
)
def test_canasta_is_a_meld_of_seven(types: str, laid: str, canasta: str) -> None:
    rules = options_of(make_ruleset("tranca", {"canasta.types": types}))
    assert canasta_of(tuple(cards(laid)), rules) == canasta


@pytest.mark.parametrize(
    ("named", "laid"),
    [
        ("5C 6C 2D", "5C 6C 2D"),
        ("6C 2D 5C", "5C 6C 2D"),
        ("QC KC AC 2D", "2D QC KC AC"),
        ("6C 2D 8C", "6C 2D 8C"),
        ("8C 6C 2D", "6C 2D 8C"),
    ],
)
def test_two_fills_a_gap_then_the_upper_end_then_the_lower(named: str, laid: str) -> None:
    assert arranged(cards(named), options()) == tuple(cards(laid))


def test_two_that_slides_makes_room_for_what_is_added() -> None:
    assert arranged(cards("7C"), options(), tuple(cards("6C 2D 8C"))) == tuple(cards("6C 7C 8C 2D"))
    assert arranged(cards("KC AC"), options(), tuple(cards("TC JC QC 2D"))) == tuple(cards("2D TC JC QC KC AC"))
