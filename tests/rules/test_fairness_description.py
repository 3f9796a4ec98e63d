"""The shuffler of real matches is the one that its description promises, and what is tampered with is found."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from services.rules.fairness import (
    DealProof,
    FairShuffler,
    UnfairDeal,
    canonical_message,
    commit,
    draw_dealer,
    verify,
)

VECTORS: list[dict[str, Any]] = json.loads(
    Path(__file__).with_name("fairness_vectors.json").read_text(encoding="utf-8")
)
SEED = bytes(range(32))
PROOF = DealProof(
    commitment=commit(SEED),
    match_id="m-1",
    ruleset_hash=bytes(32),
    seats=3,
    dealer=1,
    contributions=(b"", b"abc", b""),
)


def proof_of(vector: dict[str, Any]) -> DealProof:
    stated = vector["proof"]
    return DealProof(
        commitment=bytes.fromhex(vector["commitment"]),
        match_id=stated["match_id"],
        ruleset_hash=bytes.fromhex(stated["ruleset_hash"]),
        seats=stated["seats"],
        dealer=stated["dealer"],
        contributions=tuple(bytes.fromhex(text) for text in stated["contributions"]),
    )


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["proof"]["match_id"])
def test_the_vectors_of_an_independent_implementation_come_out(vector: dict[str, Any]) -> None:
    proof, seed = proof_of(vector), bytes.fromhex(vector["seed"])
    shuffler = verify(proof, seed)
    assert commit(seed).hex() == vector["commitment"]
    assert canonical_message(proof, "deal", 1, 0).hex() == vector["message"]
    assert draw_dealer(proof, seed) == proof.dealer
    for case in vector["shuffles"]:
        stream = shuffler.stream("deal", case["round"], case["counter"])
        assert stream.shuffle(range(case["size"])) == case["order"]


def test_equal_questions_have_equal_answers_and_others_differ() -> None:
    deck = list(range(108))
    answers = [
        shuffler.stream(purpose, round_, counter).shuffle(deck)
        for shuffler in (FairShuffler(PROOF, SEED), FairShuffler(replace(PROOF, match_id="m-2"), SEED))
        for purpose in ("deal", "bot", "delay")
        for round_ in (1, 2)
        for counter in (0, 1)
    ]
    assert len({tuple(answer) for answer in answers}) == len(answers)
    assert FairShuffler(PROOF, SEED).stream("deal", 1, 0).shuffle(deck) == answers[0]


@pytest.mark.parametrize(
    "other",
    [
        replace(PROOF, match_id="m-10"),
        replace(PROOF, ruleset_hash=bytes(31) + b"\x01"),
        replace(PROOF, seats=4, contributions=(b"", b"abc", b"", b"")),
        replace(PROOF, dealer=2),
        replace(PROOF, contributions=(b"abc", b"", b"")),
        replace(PROOF, contributions=(b"a", b"bc", b"")),
        replace(PROOF, contributions=(b"", b"abd", b"")),
    ],
)
def test_whatever_is_changed_in_the_proof_deals_other_cards(other: DealProof) -> None:
    deck = list(range(32))
    fair = FairShuffler(PROOF, SEED).stream("deal", 1, 0).shuffle(deck)
    assert FairShuffler(other, SEED).stream("deal", 1, 0).shuffle(deck) != fair


@pytest.mark.parametrize(
    ("proof", "seed", "field"),
    [
        (PROOF, bytes(32), "commitment"),
        (PROOF, SEED[:31], "seed"),
        (replace(PROOF, commitment=bytes(32)), SEED, "commitment"),
        (replace(PROOF, ruleset_hash=b""), SEED, "ruleset_hash"),
        (replace(PROOF, contributions=(b"", b"abc")), SEED, "contributions"),
        (replace(PROOF, contributions=(b"", b"abc", bytes(33))), SEED, "contributions"),
        (replace(PROOF, dealer=3), SEED, "dealer"),
    ],
)
def test_a_seed_or_proof_that_does_not_hold_is_named(proof: DealProof, seed: bytes, field: str) -> None:
    with pytest.raises(UnfairDeal) as found:
        verify(proof, seed)
    assert found.value.field == field


def test_a_seed_has_32_bytes() -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        commit(b"short")
