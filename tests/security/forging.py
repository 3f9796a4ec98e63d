"""Forty tokens that must not be taken, made from a good one and from what an attacker may get hold of."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key

from services.runtime.key_folder import INTERNAL_FILE, INVITE_FILE, OPERATOR_FILE, SESSION_KEYS
from services.runtime.tokens import SESSION_TYPE

HOUR: Final = 3_600
RSA_KEY: Final = rsa.generate_private_key(65_537, 2_048)


class Workshop:
    """What tokens are made of. `good` is a session that the server takes, `refresh` its refresh token."""

    def __init__(self, keys_dir: Path, good: str, refresh: str) -> None:
        self.keys_dir, self.good, self.refresh = keys_dir, good, refresh
        self.claims: dict[str, Any] = jwt.decode(good, options={"verify_signature": False})
        self.header = jwt.get_unverified_header(good)
        pem = (keys_dir / SESSION_KEYS / f"{self.header['kid']}.pem").read_bytes()
        self.key: Any = load_pem_private_key(pem, None)
        self.public: bytes = self.key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)

    def signed(self, header: dict[str, Any] | None = None, key: Any = None, alg: str = "EdDSA", **claims: Any) -> str:
        """A token like the good one with something changed; None takes a claim or header field away."""
        body = {name: value for name, value in {**self.claims, **claims}.items() if value is not None}
        fields = {"kid": self.header["kid"], "typ": SESSION_TYPE, **(header or {})}
        fields = {name: value for name, value in fields.items() if value is not None or name == "typ"}
        return jwt.encode(body, key or self.key, alg, fields)

    def by_hand(self, header: dict[str, Any], signature: bytes = b"", **claims: Any) -> str:
        """Header and claims as they are given, with any signature."""
        return f"{self.unsigned(header, **claims)}.{_b64(signature)}"

    def unsigned(self, header: dict[str, Any], **claims: Any) -> str:
        fields = {"kid": self.header["kid"], "typ": SESSION_TYPE, **header}
        return f"{_b64(json.dumps(fields).encode())}.{_b64(json.dumps({**self.claims, **claims}).encode())}"

    def hmac_with_the_public_key(self) -> str:
        head = self.unsigned({"alg": "HS256"})
        return f"{head}.{_b64(hmac.digest(self.public, head.encode(), hashlib.sha256))}"

    def changed_in_flight(self, **claims: Any) -> str:
        return f"{self.unsigned({'alg': 'EdDSA'}, **claims)}.{self.good.split('.')[2]}"

    def secret(self, name: str) -> str:
        return (self.keys_dir / name).read_text().strip()


def _b64(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def _now(offset: int = 0) -> int:
    return int(time.time()) + offset


def _own_key_in_the_header(shop: Workshop) -> str:
    mine = Ed25519PrivateKey.generate()
    raw = mine.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
    return shop.signed({"jwk": {"kty": "OKP", "crv": "Ed25519", "x": _b64(raw)}}, mine)


FORGERIES: Final[dict[str, Callable[[Workshop], str]]] = {
    "empty": lambda shop: "",
    "one letter": lambda shop: "x",
    "dots alone": lambda shop: "..",
    "four parts": lambda shop: shop.good + ".x",
    "not base64": lambda shop: "!.!.!",
    "longer than any": lambda shop: shop.good + "A" * 4_000,
    "no JSON in it": lambda shop: ".".join(_b64(b"\xff") for _ in range(3)),
    "a list for claims": lambda shop: shop.good.split(".")[0] + "." + _b64(b"[]") + "." + shop.good.split(".")[2],
    "algorithm none": lambda shop: shop.by_hand({"alg": "none"}),
    "algorithm None in capitals": lambda shop: shop.by_hand({"alg": "NONE"}),
    "algorithm missing": lambda shop: shop.by_hand({}),
    "HMAC with the public key": Workshop.hmac_with_the_public_key,
    "HMAC with an empty secret": lambda shop: shop.by_hand({"alg": "HS256"}, hmac.digest(b"", b"", hashlib.sha256)),
    "signed with RSA": lambda shop: shop.signed(key=RSA_KEY, alg="RS256"),
    "signed with an elliptic curve": lambda shop: shop.signed(key=ec.generate_private_key(ec.SECP256R1()), alg="ES256"),
    "no signature": lambda shop: shop.good.rsplit(".", 1)[0] + ".",
    "half a signature": lambda shop: shop.good[:-40],
    "signature of zeroes": lambda shop: shop.by_hand({"alg": "EdDSA"}, bytes(64)),
    "signature of another token": lambda shop: shop.changed_in_flight(jti="other"),
    "another player under the same signature": lambda shop: shop.changed_in_flight(sub="p_victim"),
    "a later end under the same signature": lambda shop: shop.changed_in_flight(exp=_now(HOUR * 24)),
    "a stranger's key under our kid": lambda shop: shop.signed(key=Ed25519PrivateKey.generate()),
    "a key that the token brings along": _own_key_in_the_header,
    "a kid that nobody has": lambda shop: shop.signed({"kid": "999"}),
    "a path for kid": lambda shop: shop.signed({"kid": "../sessions/1"}),
    "no kid": lambda shop: shop.signed({"kid": None}),
    "a plain JWT": lambda shop: shop.signed({"typ": "JWT"}),
    "an operator's kind": lambda shop: shop.signed({"typ": "maumau-operator+jwt"}),
    "another issuer": lambda shop: shop.signed(iss="https://elsewhere.example"),
    "another audience": lambda shop: shop.signed(aud="another-server"),
    "no audience": lambda shop: shop.signed(aud=None),
    "no subject": lambda shop: shop.signed(sub=None),
    "a subject that is a list": lambda shop: shop.signed(sub=["p_victim"]),
    "no end": lambda shop: shop.signed(exp=None),
    "issued tomorrow": lambda shop: shop.signed(iat=_now(HOUR * 24), exp=_now(HOUR * 25)),
    "over for an hour": lambda shop: shop.signed(iat=_now(-HOUR - 900), exp=_now(-HOUR)),
    "over for long, and long-lived": lambda shop: shop.signed(iat=1, exp=2),
    "no session": lambda shop: shop.signed(sid=None),
    "the refresh token": lambda shop: shop.refresh,
    "the services' secret": lambda shop: shop.secret(INTERNAL_FILE),
    "the operator's secret": lambda shop: shop.secret(OPERATOR_FILE),
    "the secret behind the codes": lambda shop: shop.secret(INVITE_FILE),
}
"""Name to maker; each gives a token that no call may take."""
