"""The numbers of a match: HMAC-SHA256 over what was published, Fisher-Yates with rejection (docs/fair-deals.md)."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterator, Sequence
from typing import Final, TypeVar

from maumau.v1 import events_pb2

DOMAIN: Final = b"maumau fair deal 1"
UNKNOWN_DEALER: Final = 255

_T = TypeVar("_T")


def commitment_of(seed: bytes) -> bytes:
    """What is published of a seed before anybody is ready."""
    return hashlib.sha256(seed).digest()


class FairMatch:
    """The shuffles of one match."""

    def __init__(self, proof: events_pb2.DealProof, seed: bytes) -> None:
        self._proof = proof
        self._seed = seed

    def shuffled(self, cards: Sequence[_T], round_number: int, counter: int) -> list[_T]:
        """The cards in the order of shuffle `counter` (from 0) of this round (from 1)."""
        numbers = _Numbers(self._seed, self._message("deal", self._proof.dealer, round_number, counter))
        order = list(cards)
        for last in range(len(order) - 1, 0, -1):
            other = numbers.below(last + 1)
            order[last], order[other] = order[other], order[last]
        return order

    def first_dealer(self) -> int:
        """Who deals first in the first match of a room."""
        return _Numbers(self._seed, self._message("dealer", UNKNOWN_DEALER, 0, 0)).below(self._proof.seats)

    def _message(self, purpose: str, dealer: int, round_number: int, counter: int) -> bytes:
        proof = self._proof
        parts = [
            *(_field(DOMAIN), _field(proof.match_id.encode()), _field(proof.ruleset_hash)),
            bytes((proof.seats, dealer)),
            *map(_field, proof.contributions),
            _field(purpose.encode()),
            round_number.to_bytes(4, "big") + counter.to_bytes(4, "big"),
        ]
        return b"".join(parts)


def _field(content: bytes) -> bytes:
    return len(content).to_bytes(2, "big") + content


class _Numbers:
    """Numbers below a bound, each equally likely, in the order of one stream."""

    def __init__(self, seed: bytes, message: bytes) -> None:
        self._words = _words(seed, message)

    def below(self, bound: int) -> int:
        too_high = 2**32 - 2**32 % bound
        return next(word for word in self._words if word < too_high) % bound


def _words(seed: bytes, message: bytes) -> Iterator[int]:
    block = 0
    while True:
        content = hmac.digest(seed, message + block.to_bytes(4, "big"), "sha256")
        yield from (int.from_bytes(content[place : place + 4], "big") for place in range(0, len(content), 4))
        block += 1
