"""Fair deals again, from the description in `services/rules/fairness.py` alone: it imports nothing of the project, as a
verifier in another language could not. Run as a script it writes the test vectors."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import struct
from pathlib import Path
from typing import Any

VECTORS = Path(__file__).with_name("fairness_vectors.json")


def message(proof: dict[str, Any], purpose: str, round_: int, counter: int, dealer: int) -> bytes:
    out = b""
    for text in (b"maumau fair deal 1", proof["match_id"].encode("utf-8"), bytes.fromhex(proof["ruleset_hash"])):
        out += struct.pack(">H", len(text)) + text
    out += struct.pack(">BB", proof["seats"], dealer)
    for contribution in proof["contributions"]:
        raw = bytes.fromhex(contribution)
        out += struct.pack(">H", len(raw)) + raw
    out += struct.pack(">H", len(purpose)) + purpose.encode("ascii")
    return out + struct.pack(">II", round_, counter)


class Numbers:
    def __init__(self, seed: bytes, text: bytes) -> None:
        self.seed, self.text, self.used = seed, text, 0

    def word(self) -> int:
        block, place = divmod(self.used, 8)
        self.used += 1
        digest = hmac.new(self.seed, self.text + struct.pack(">I", block), hashlib.sha256).digest()
        value: int = struct.unpack(">8I", digest)[place]
        return value

    def below(self, n: int) -> int:
        while True:
            word = self.word()
            if word < 2**32 - (2**32 % n):
                return word % n


def shuffled(seed: bytes, proof: dict[str, Any], size: int, round_: int, counter: int) -> list[int]:
    numbers = Numbers(seed, message(proof, "deal", round_, counter, proof["dealer"]))
    order = list(range(size))
    for i in reversed(range(1, size)):
        j = numbers.below(i + 1)
        order[i], order[j] = order[j], order[i]
    return order


def dealer(seed: bytes, proof: dict[str, Any]) -> int:
    return Numbers(seed, message(proof, "dealer", 0, 0, 255)).below(proof["seats"])


def make_vector(name: str, seats: int, sizes: list[int], contributions: list[str]) -> dict[str, Any]:
    seed = hashlib.sha256(b"seed of " + name.encode()).digest()
    proof: dict[str, Any] = {
        "match_id": name,
        "ruleset_hash": hashlib.sha256(b"ruleset of " + name.encode()).hexdigest(),
        "seats": seats,
        "dealer": 0,
        "contributions": contributions,
    }
    proof["dealer"] = dealer(seed, proof)
    shuffles = [
        {"size": size, "round": round_, "counter": counter, "order": shuffled(seed, proof, size, round_, counter)}
        for size in sizes
        for round_, counter in ((1, 0), (1, 1), (7, 3))
    ]
    return {
        "seed": seed.hex(),
        "commitment": hashlib.sha256(seed).hexdigest(),
        "proof": proof,
        "message": message(proof, "deal", 1, 0, proof["dealer"]).hex(),
        "shuffles": shuffles,
    }


def main() -> None:
    vectors = [
        make_vector("two seats, nothing sent", 2, [1, 2, 32], ["", ""]),
        make_vector("Zwölf Bytes und eine Dame ♛", 4, [32, 104], ["00", "ff" * 32, "", "0123456789abcdef" * 4]),
        make_vector("ten", 10, [108], [f"{n:02x}" * n for n in range(10)]),
    ]
    text = json.dumps(vectors, indent=1, ensure_ascii=False)
    one_line_lists = re.sub(r"\[[\d,\s]+\]", lambda found: re.sub(r"\s+", " ", found[0]), text)
    VECTORS.write_text(one_line_lists + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
