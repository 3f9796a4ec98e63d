"""Fair deals that anyone can check: the shuffler of a real match.

Before anybody is ready the server publishes a **commitment**, the SHA-256 of a secret 32-byte **seed**. Each seat may
then contribute up to 32 bytes. All chance of the match comes from the seed, the contributions and public facts, and
the seed is revealed when the match is over, so that anybody can draw the same numbers. What follows is exact, so that
a verifier can be written in another language. Test vectors: `tests/rules/fairness_vectors.json`.

**Message.** `u8`, `u16` and `u32` are unsigned, big-endian. `field(x)` is `u16(len(x))` followed by the bytes of `x`.

    message = field("maumau fair deal 1")            the domain, ASCII; 1 is the revision of this description
              field(match_id)                        UTF-8
              field(ruleset_hash)                    32 bytes, SHA-256 of the ruleset's canonical JSON
              u8(seats)
              u8(dealer)                             seat of the first dealer, from 0; 255 while it is being drawn
              field(contribution) for each seat      in order of seats, empty for bots and where none was sent
              field(purpose)                         ASCII, see below
              u32(round) u32(counter)

**Stream.** Block i is HMAC-SHA256 with the seed as key over `message u32(i)`, i = 0, 1, 2 ... The stream is the blocks
one after another, read as words `u32`.

**Number below n** (1 <= n <= 2^32). Take the next word w. If w >= 2^32 - (2^32 mod n), drop it and take another.
The number is w mod n.

**Shuffle** of a list of length k: for i = k-1, k-2 ... 1: j = number below i+1; swap elements i and j.

**Which lists are shuffled.** For a deal the packs in the order of `cards.PACKS`, one after another; the first card of
the shuffled list is dealt first, to the seat on the dealer's left, one card at a time, and what is left is the stock,
next card first (Tranca takes two pozzetti of eleven before). In Mau-Mau and UNO, when the stock is empty, the discard
pile below the top card, lowest card first; of the shuffled list the last card is drawn first. Where a start card goes
back, the stock, next card last, then the returned card; again the last card of the shuffled list is drawn first.

**Purposes.** `deal`: shuffle number `counter` (from 0) of round `round` (from 1). `dealer`: the first dealer of a
room's first match is the number below `seats`; round 0, counter 0. `bot`: what a bot chooses. `delay`: how long a bot
waits. For the last two the counter is version * 256 + seat; they cannot change a deal.

Not proven: the server knows the seed from the beginning. It sees all cards, may abort a match, and together with the
seat that contributes last it may choose among deals.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterator, Sequence
from typing import TypeVar

import msgspec

from services.rules.cards import Card

DOMAIN = b"maumau fair deal 1"
SEED_BYTES = 32
LONGEST_CONTRIBUTION = 32
UNKNOWN_DEALER = 255

_WORDS = 1 << 32
_T = TypeVar("_T")


class DealProof(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """What makes the deals of a match checkable, all public. `contributions` has one entry a seat; `dealer` deals the
    first round."""

    commitment: bytes
    match_id: str
    ruleset_hash: bytes
    seats: int
    dealer: int
    contributions: tuple[bytes, ...]


class UnfairDeal(Exception):  # noqa: N818 - a finding, not a fault
    """A revealed seed, or a proof, that does not hold. `field` names what is wrong."""

    def __init__(self, field: str, sentence: str) -> None:
        super().__init__(f"{field}: {sentence}")
        self.field = field


def commit(seed: bytes) -> bytes:
    """The commitment of a seed. Raises ValueError unless it has 32 bytes."""
    if len(seed) != SEED_BYTES:
        raise ValueError(f"a seed has {SEED_BYTES} bytes, not {len(seed)}")
    return hashlib.sha256(seed).digest()


def canonical_message(proof: DealProof, purpose: str, round_: int, counter: int) -> bytes:
    """The bytes that a stream is made of, as this module describes them."""
    parts = [
        _field(DOMAIN),
        _field(proof.match_id.encode()),
        _field(proof.ruleset_hash),
        proof.seats.to_bytes(1, "big"),
        proof.dealer.to_bytes(1, "big"),
        *(_field(contribution) for contribution in proof.contributions),
        _field(purpose.encode()),
        round_.to_bytes(4, "big"),
        counter.to_bytes(4, "big"),
    ]
    return b"".join(parts)


def _field(content: bytes) -> bytes:
    return len(content).to_bytes(2, "big") + content


class FairStream:
    """The numbers of one seed and message, in order."""

    def __init__(self, seed: bytes, message: bytes) -> None:
        self._words = _words(seed, message)

    def below(self, n: int) -> int:
        """The next number from 0 to n - 1, each with equal chance."""
        limit = _WORDS - _WORDS % n
        for word in self._words:
            if word < limit:
                return word % n
        raise AssertionError("the stream has no end")

    def shuffle(self, items: Sequence[_T]) -> list[_T]:
        """The items in a new order."""
        order = list(items)
        for i in range(len(order) - 1, 0, -1):
            j = self.below(i + 1)
            order[i], order[j] = order[j], order[i]
        return order


def _words(seed: bytes, message: bytes) -> Iterator[int]:
    block = 0
    while True:
        digest = hmac.digest(seed, message + block.to_bytes(4, "big"), "sha256")
        for start in range(0, 32, 4):
            yield int.from_bytes(digest[start : start + 4], "big")
        block += 1


class FairShuffler:
    """The `Shuffler` of a real match."""

    def __init__(self, proof: DealProof, seed: bytes) -> None:
        self._proof = proof
        self._seed = seed

    def stream(self, purpose: str, round_: int, counter: int) -> FairStream:
        """The numbers of one purpose; the same arguments give the same numbers."""
        return FairStream(self._seed, canonical_message(self._proof, purpose, round_, counter))

    def shuffle(self, cards: Sequence[Card], round_: int, counter: int) -> list[Card]:
        return self.stream("deal", round_, counter).shuffle(cards)


def draw_dealer(proof: DealProof, seed: bytes) -> int:
    """The first dealer of a room's first match; the dealer that the proof names plays no part."""
    unknown = msgspec.structs.replace(proof, dealer=UNKNOWN_DEALER)
    return FairShuffler(unknown, seed).stream("dealer", 0, 0).below(proof.seats)


def verify(proof: DealProof, seed: bytes) -> FairShuffler:
    """Check that a revealed seed is the one that was committed to and that the proof is well formed, and return the
    shuffler of the match, to deal and replay it with. Raises UnfairDeal, naming what does not hold."""
    if len(seed) != SEED_BYTES:
        raise UnfairDeal("seed", f"has {len(seed)} bytes instead of {SEED_BYTES}")
    if not hmac.compare_digest(hashlib.sha256(seed).digest(), proof.commitment):
        raise UnfairDeal("commitment", "is not the SHA-256 of the seed")
    if len(proof.ruleset_hash) != 32:
        raise UnfairDeal("ruleset_hash", "has not 32 bytes")
    if len(proof.contributions) != proof.seats:
        raise UnfairDeal("contributions", "are not one for each seat")
    if any(len(contribution) > LONGEST_CONTRIBUTION for contribution in proof.contributions):
        raise UnfairDeal("contributions", f"are longer than {LONGEST_CONTRIBUTION} bytes")
    if not 0 <= proof.dealer < proof.seats:
        raise UnfairDeal("dealer", "is no seat of the match")
    return FairShuffler(proof, seed)
