"""Ratings follow the stated rules and agree with OpenSkill's own where nobody left and nobody was played for."""

from __future__ import annotations

import itertools
import random
from collections.abc import Mapping, Sequence

import pytest
from openskill.models import PlackettLuce

from services.scoring.ratings import RatedSeat, Strength, can_be_rated, is_provisional, rate
from services.store.keys import Entrant
from tests.services.correlation import spearman

MODEL = PlackettLuce()
BEGINNER = Strength()


def seat(name: str, place: int, side: int | None = None, *, left: bool = False, bot_turns: int = 0) -> RatedSeat:
    """`name` is a letter; without a side everybody is alone."""
    return RatedSeat(Entrant(name), ord(name) if side is None else side, place, left, 10, bot_turns)


def pairs(first: int, second: int, **left: bool) -> list[RatedSeat]:
    """a and c against b and d, with the places of the sides."""
    return [seat(name, (first, second)[n % 2], n % 2, left=left.get(name, False)) for n, name in enumerate("abcd")]


def openskill(teams: Sequence[Sequence[Strength]], ranks: Sequence[float]) -> list[list[tuple[float, float]]]:
    rated = MODEL.rate([[MODEL.rating(*one) for one in team] for team in teams], ranks=list(ranks))
    return [[(one.mu, one.sigma) for one in team] for team in rated]


def assert_alike(some: Mapping[Entrant, Strength], others: Mapping[Entrant, Strength]) -> None:
    """Up to the order in which floats were added."""
    assert some.keys() == others.keys()
    for entrant, strength in some.items():
        assert strength == pytest.approx(others[entrant], abs=1e-12)


STRENGTHS = {
    Entrant("a"): BEGINNER,
    Entrant("b"): Strength(31.5, 4.0),
    Entrant("c"): Strength(18.0, 6.25),
    Entrant("d"): Strength(25.0, 2.5),
}
A, B, C, D = STRENGTHS.values()


@pytest.mark.parametrize(
    ("seats", "teams", "ranks"),
    [
        ([seat("a", 1), seat("b", 2)], [[A], [B]], [1, 2]),
        ([seat("a", 2), seat("b", 1)], [[B], [A]], [1, 2]),
        ([seat("a", 1), seat("b", 1)], [[A], [B]], [1, 1]),
        ([seat("a", 1), seat("b", 2), seat("c", 3), seat("d", 4)], [[A], [B], [C], [D]], [1, 2, 3, 4]),
        ([seat("a", 1), seat("b", 2), seat("c", 2), seat("d", 4)], [[A], [B], [C], [D]], [1, 2, 2, 4]),
        (pairs(1, 2), [[A, C], [B, D]], [1, 2]),
        (pairs(2, 1), [[B, D], [A, C]], [1, 2]),
        (pairs(1, 1), [[A, C], [B, D]], [1, 1]),
    ],
)
def test_examples_agree_with_openskill(seats: list[RatedSeat], teams: list[list[Strength]], ranks: list[float]) -> None:
    expected = [one for team in openskill(teams, ranks) for one in team]
    assert sorted(tuple(strength) for strength in rate(seats, STRENGTHS).values()) == sorted(expected)


def test_beginners_in_pairs_move_to_the_figures_of_openskills_own_page() -> None:
    after = rate(pairs(1, 2), dict.fromkeys(STRENGTHS, BEGINNER))
    for name in "ac":
        assert after[Entrant(name)] == (26.964294621803063, 8.177962604389991)
    for name in "bd":
        assert after[Entrant(name)] == (23.035705378196937, 8.177962604389991)


def test_the_order_of_seats_does_not_matter_to_the_last_bit() -> None:
    seats = [seat("a", 1), seat("b", 2), seat("c", 3), seat("d", 4)]
    outcomes = {tuple(sorted(rate(order, STRENGTHS).items())) for order in itertools.permutations(seats)}
    assert len(outcomes) == 1


def test_who_leaves_is_last_and_the_others_are_ranked_among_themselves() -> None:
    """The bot that played on made the first place of the leaver's hand."""
    played = rate([seat("a", 1, left=True), seat("b", 2), seat("c", 3), seat("d", 4)], STRENGTHS)
    fair = rate([seat("b", 1), seat("c", 2), seat("d", 3), seat("a", 4)], STRENGTHS)
    assert_alike(played, fair)
    assert played[Entrant("a")].mu < STRENGTHS[Entrant("a")].mu


def test_a_deserted_partner_does_not_lose_and_the_leaver_does() -> None:
    lost = rate(pairs(1, 2, b=True), STRENGTHS)
    fair = rate(pairs(1, 2), STRENGTHS)
    assert lost[Entrant("d")] == STRENGTHS[Entrant("d")], "who stayed"
    assert lost[Entrant("b")] == fair[Entrant("b")], "who left"
    assert (lost[Entrant("a")], lost[Entrant("c")]) == (fair[Entrant("a")], fair[Entrant("c")])
    assert fair[Entrant("d")].mu < STRENGTHS[Entrant("d")].mu, "the control: with nobody gone, it is a loss"


def test_a_deserted_partner_who_wins_all_the_same_gains_and_the_leaver_still_loses() -> None:
    won = rate(pairs(2, 1, b=True), STRENGTHS)
    assert won[Entrant("d")] == rate(pairs(2, 1), STRENGTHS)[Entrant("d")]
    assert won[Entrant("d")].mu > STRENGTHS[Entrant("d")].mu
    assert won[Entrant("b")] == rate(pairs(1, 2), STRENGTHS)[Entrant("b")]


def test_a_partnership_that_left_altogether_is_last() -> None:
    assert_alike(rate(pairs(2, 1, b=True, d=True), STRENGTHS), rate(pairs(1, 2), STRENGTHS))


@pytest.mark.parametrize("bot_turns", [0, 1, 5, 9, 10])
def test_a_rating_moves_by_the_share_of_turns_that_the_person_played(bot_turns: int) -> None:
    own = STRENGTHS[Entrant("a")]
    full = rate([seat("a", 1), seat("b", 2)], STRENGTHS)[Entrant("a")]
    part = rate([seat("a", 1, bot_turns=bot_turns), seat("b", 2)], STRENGTHS)
    assert part[Entrant("a")].mu - own.mu == pytest.approx((full.mu - own.mu) * (10 - bot_turns) / 10)
    assert part[Entrant("b")] == rate([seat("a", 1), seat("b", 2)], STRENGTHS)[Entrant("b")]


def test_a_leaver_is_not_spared_by_the_bots_turns() -> None:
    after = rate([seat("a", 1, left=True, bot_turns=9), seat("b", 2)], STRENGTHS)
    assert after == rate([seat("a", 2), seat("b", 1)], STRENGTHS)


@pytest.mark.parametrize(
    ("sides", "rated"),
    [
        ([], False),
        ([0], False),
        ([0, 0], False),
        ([0, 1], True),
        ([0, 1, 2], True),
        ([0, 1, 0, 1], True),
        ([0, 1, 0], False),
    ],
)
def test_people_of_two_sides_are_needed_and_partnerships_must_be_equal(sides: list[int], rated: bool) -> None:
    assert can_be_rated(sides) is rated


def test_a_rating_is_provisional_for_ten_matches_and_while_it_is_unsure() -> None:
    assert is_provisional(9, 3.0)
    assert not is_provisional(10, 7.5)
    assert is_provisional(30, 7.6)


SPREAD = 25 / 6
PLAYERS, MATCHES, SEATS = 200, 30, 4


def tournament(seed: int, *, in_pairs: bool) -> float:
    """How well ratings order players whose strengths are known, after 30 matches each (Spearman's rho)."""
    chance = random.Random(seed)
    true = {Entrant(f"{number:09}"): chance.gauss(25, SPREAD) for number in range(PLAYERS)}
    ratings = dict.fromkeys(true, BEGINNER)
    for _ in range(MATCHES):
        order = chance.sample(list(true), PLAYERS)
        for first in range(0, PLAYERS, SEATS):
            table = order[first : first + SEATS]
            shown = [true[player] + chance.gauss(0, SPREAD) for player in table]
            sides = [number % 2 if in_pairs else number for number in range(SEATS)]
            sums = [sum(shown[n] for n in range(SEATS) if sides[n] == side) for side in sides]
            places = [1 + sum(other > own for other in set(sums)) for own in sums]
            rows = zip(table, sides, places, strict=True)
            ratings |= rate([RatedSeat(player, side, place, False, 1, 0) for player, side, place in rows], ratings)
    return spearman([true[player] for player in true], [ratings[player].mu for player in true])


@pytest.mark.parametrize(("in_pairs", "least"), [(False, 0.90), (True, 0.80)])
@pytest.mark.parametrize("seed", [1, 2])
def test_thirty_matches_order_two_hundred_players(seed: int, in_pairs: bool, least: float) -> None:
    assert tournament(seed, in_pairs=in_pairs) >= least


def test_control_what_nobody_played_for_orders_nobody() -> None:
    chance = random.Random(1)
    assert abs(spearman([chance.random() for _ in range(200)], [chance.random() for _ in range(200)])) < 0.3
