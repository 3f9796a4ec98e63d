"""Fair deals (P22): every recorded match verifies, every falsified one is found, and no order of cards is favoured.

The verifier is the client's, which shares nothing with the server. Its controls look at less than it does.
"""

from __future__ import annotations

import hashlib
import math
import random
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Final

import pytest
from maumau.v1 import authority_pb2
from maumau.verify import table as verify_table
from maumau.verify import verify

from services.rules.fairness import DealProof, FairShuffler, commit
from services.rules.registry import GAMES
from services.rules.room.state import RoomPhase
from services.rules.ruleset import make_ruleset
from tests.faults.scale import PATIENCE, count
from tests.faults.tampering import TAMPERS, one_card, tampered, two_cards_everywhere
from tests.rules.replaying import Filmed

pytestmark = PATIENCE

PRESETS: Final = [preset for game in GAMES.values() for preset in game.presets]
MATCHES: Final = count(21, 105, 1_001)
DECKS: Final = count(4_000, 40_000, 200_000)
SIZE: Final = 32
PEOPLE: Final = ("ann", "bob", "cid", "dan", "eve")

Replay = authority_pb2.GetReplayResponse


def played(number: int) -> Replay:
    """A whole match: presets in turn, with all numbers of seats that there are names for."""
    preset = PRESETS[number % len(PRESETS)]
    ruleset = make_ruleset(preset)
    tables = [seats for seats in range(ruleset.min_seats, ruleset.max_seats + 1) if seats <= len(PEOPLE)]
    seats = (
        tables[number // len(PRESETS) % len(tables)] if ruleset.game != "tranca" else 2 + number // len(PRESETS) % 2 * 2
    )
    tranca = ruleset.game == "tranca"
    options = {"match.target": "single", "players": seats} if tranca else {"match.target": "rounds:2"}
    stage = Filmed(preset, " ".join(PEOPLE[:seats]), salt=number, options=options, settings={"seats": seats})
    stage.start()
    stage.until_phase(RoomPhase.FINISHED)
    return stage.replay


def replays() -> Iterator[tuple[random.Random, Replay]]:
    return ((random.Random(number), played(number)) for number in range(MATCHES))


@pytest.mark.shows("P22")
def test_every_match_verifies_and_every_falsified_one_is_found(promise: Any) -> None:
    wrong, unfound, falsified = [], Counter[str](), 0
    for chance, replay in replays():
        contribution = replay.proof.contributions[0]
        report = verify(replay, commitment=replay.proof.commitment, contribution=contribution, seat=0)
        wrong += [report.wrong] if report.wrong else []
        for tamper in TAMPERS:
            falsified += 1
            unfound[tamper.__name__] += verify(tampered(replay, tamper, chance)).holds
    assert wrong == []
    assert {kind: number for kind, number in unfound.items() if number} == {}
    promise("P22", f"{MATCHES} of {MATCHES} matches verify, {falsified} of {falsified} falsified ones are found")


@pytest.mark.control("P22")
def test_control_a_verifier_that_compares_no_cards_finds_no_exchanged_ones(
    promise: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verify_table.Table, "follow", lambda table, event: None)
    chance, replay = next(replays())
    unfound = sum(verify(tampered(replay, two_cards_everywhere, chance)).holds for _ in range(20))
    assert unfound == 20
    promise("P22", f"without comparing cards {unfound} of 20 falsified matches pass")


def test_what_was_seen_before_the_match_is_compared() -> None:
    _, replay = next(replays())
    assert "not the one that you saw" in verify(replay, commitment=bytes(32)).wrong
    assert "not those that you sent" in verify(replay, contribution=b"mine", seat=1).wrong
    assert verify(replay, contribution=replay.proof.contributions[1], seat=1).holds


def test_a_finding_says_in_which_version_and_what() -> None:
    chance, replay = next(replays())
    report = verify(tampered(replay, one_card, chance))
    assert report.wrong.startswith("version ")


# No order of cards is favoured.


def _shuffler(number: int) -> FairShuffler:
    seed = hashlib.sha256(f"decks {number}".encode()).digest()
    proof = DealProof(
        commitment=commit(seed),
        match_id=f"m-{number}",
        ruleset_hash=bytes(32),
        seats=2,
        dealer=0,
        contributions=(b"", b""),
    )
    return FairShuffler(proof, seed)


def _p_value(chi_square: float, degrees: int) -> float:
    """The chance that a fair source gives as much (Wilson and Hilferty)."""
    z = ((chi_square / degrees) ** (1 / 3) - (1 - 2 / (9 * degrees))) / math.sqrt(2 / (9 * degrees))
    return math.erfc(z / math.sqrt(2)) / 2


def _places_and_neighbours(decks: Iterator[list[int]]) -> tuple[float, float]:
    """How likely a fair source is as uneven in card by place, and in which card follows which."""
    places, pairs, number = [0] * SIZE**2, [0] * SIZE**2, 0
    for deck in decks:
        number += 1
        for place, card in enumerate(deck):
            places[card * SIZE + place] += 1
        for before, after in pairwise(deck):
            pairs[before * SIZE + after] += 1
    following = [pairs[a * SIZE + b] for a in range(SIZE) for b in range(SIZE) if a != b]
    p_places = _p_value(_chi_square(places, number / SIZE), (SIZE - 1) ** 2)
    return p_places, _p_value(_chi_square(following, number / SIZE), SIZE * (SIZE - 1) - 1)


def _chi_square(counts: list[int], expected: float) -> float:
    return sum((counted - expected) ** 2 for counted in counts) / expected


@pytest.mark.shows("P22")
def test_no_card_prefers_a_place_or_a_neighbour(promise: Any) -> None:
    places, pairs = _places_and_neighbours(
        _shuffler(number // 10).stream("deal", number % 10 + 1, 0).shuffle(range(SIZE)) for number in range(DECKS)
    )
    assert min(places, pairs) > 0.0001
    promise("P22", f"{DECKS} decks: p = {places:.2g} for card by place, {pairs:.2g} for which card follows which")


@pytest.mark.control("P22")
def test_control_a_shuffle_that_swaps_with_any_place_is_found_uneven(promise: Any) -> None:
    stream = _shuffler(-1).stream("bot", 1, 0)

    def naive() -> list[int]:
        deck = list(range(SIZE))
        for place in range(SIZE):
            other = stream.below(SIZE)
            deck[place], deck[other] = deck[other], deck[place]
        return deck

    places, _ = _places_and_neighbours(naive() for _ in range(DECKS))
    assert places < 0.0001
    promise("P22", f"the usual wrong shuffle: p = {places:.2g}")
