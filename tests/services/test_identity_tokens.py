"""Session tokens: what is taken, what is refused, and how keys rotate."""

from __future__ import annotations

import base64
import hashlib
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key

from services.runtime.key_folder import (
    INTERNAL_FILE,
    SESSION_KEYS,
    KeyFolderError,
    new_session_key,
    prepare_key_folder,
    read_secret,
)
from services.runtime.settings import Settings
from services.runtime.tokens import SESSION_TYPE, BadToken, ExpiredToken, SessionKeys, TokenSigner, TokenVerifier

NOW = 1_800_000_000.0


class Hands:
    """A wall clock and a monotonic clock, both moved by hand."""

    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    prepare_key_folder(tmp_path)
    return Settings(keys_dir=tmp_path)


@pytest.fixture
def clock() -> Hands:
    return Hands()


@pytest.fixture
def signer(settings: Settings, clock: Hands) -> TokenSigner:
    return TokenSigner(settings, _keys(settings, clock), clock)


@pytest.fixture
def verifier(settings: Settings, clock: Hands) -> TokenVerifier:
    return TokenVerifier(settings, _keys(settings, clock), clock)


def _keys(settings: Settings, clock: Hands) -> SessionKeys:
    return SessionKeys(settings.keys_dir / SESSION_KEYS, clock)


def _private(settings: Settings, kid: str = "1") -> Ed25519PrivateKey:
    key = load_pem_private_key((settings.keys_dir / SESSION_KEYS / f"{kid}.pem").read_bytes(), None)
    assert isinstance(key, Ed25519PrivateKey)
    return key


def _public_pem(private: bytes) -> bytes:
    key = load_pem_private_key(private, None).public_key()
    return key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def _claims(**changed: Any) -> dict[str, Any]:
    claims = {
        "iss": "maumau",
        "aud": "maumau",
        "sub": "p_ana",
        "name": "Ana",
        "sid": "s1",
        "jti": "t1",
        "iat": int(NOW),
        "exp": int(NOW) + 900,
    }
    claims.update(changed)
    return {name: value for name, value in claims.items() if value is not None}


def _token(settings: Settings, header: dict[str, Any] | None = None, key: Any = None, **changed: Any) -> str:
    headers = {"kid": "1", "typ": SESSION_TYPE, **(header or {})}
    if headers["kid"] is None:
        del headers["kid"]
    return jwt.encode(_claims(**changed), key or _private(settings), algorithm="EdDSA", headers=headers)


def _b64(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def test_a_signed_token_says_who_it_is(signer: TokenSigner, verifier: TokenVerifier) -> None:
    token, expires = signer.sign("p_ana", "Ana Þórsdóttir", "s1")
    session = verifier.verify(token)
    assert (session.player_id, session.display_name, session.session_id) == ("p_ana", "Ana Þórsdóttir", "s1")
    assert session.expires == expires == NOW + 900


def _unsigned(settings: Settings) -> str:
    header = {"alg": "none", "typ": SESSION_TYPE, "kid": "1"}
    return f"{_b64(json.dumps(header).encode())}.{_b64(json.dumps(_claims()).encode())}."


def _signed_with_the_public_key(settings: Settings) -> str:
    """The old trick: HMAC with the public key as secret."""
    public = _public_pem((settings.keys_dir / SESSION_KEYS / "1.pem").read_bytes())
    head = _b64(json.dumps({"alg": "HS256", "typ": SESSION_TYPE, "kid": "1"}).encode())
    body = _b64(json.dumps(_claims()).encode())
    import hmac

    return f"{head}.{body}.{_b64(hmac.digest(public, f'{head}.{body}'.encode(), hashlib.sha256))}"


def _changed_in_flight(settings: Settings) -> str:
    head, _, signature = _token(settings).split(".")
    return f"{head}.{_b64(json.dumps(_claims(sub='p_eve')).encode())}.{signature}"


BAD: dict[str, Callable[[Settings], str]] = {
    "empty": lambda s: "",
    "no token": lambda s: "abc",
    "dots only": lambda s: "..",
    "too long": lambda s: _token(s, name="x" * 5_000),
    "not signed": _unsigned,
    "signed with the public key": _signed_with_the_public_key,
    "changed in flight": _changed_in_flight,
    "signature cut": lambda s: _token(s)[:-4],
    "a stranger's key": lambda s: _token(s, key=Ed25519PrivateKey.generate()),
    "unknown kid": lambda s: _token(s, {"kid": "2"}),
    "kid as a path": lambda s: _token(s, {"kid": "../sessions/1"}),
    "no kid": lambda s: _token(s, {"kid": None}),
    "kind of a plain JWT": lambda s: _token(s, {"typ": "JWT"}),
    "kind of another token": lambda s: _token(s, {"typ": "maumau-operator+jwt"}),
    "no kind": lambda s: _token(s, {"typ": None}),
    "another issuer": lambda s: _token(s, iss="elsewhere"),
    "another audience": lambda s: _token(s, aud="elsewhere"),
    "no subject": lambda s: _token(s, sub=None),
    "empty subject": lambda s: _token(s, sub=""),
    "subject is a number": lambda s: _token(s, sub=7),
    "no expiry": lambda s: _token(s, exp=None),
    "expiry is a text": lambda s: _token(s, exp="never"),
    "no time of issue": lambda s: _token(s, iat=None),
    "issued in the future": lambda s: _token(s, iat=int(NOW) + 91),
    "no token id": lambda s: _token(s, jti=None),
    "no session": lambda s: _token(s, sid=None),
}


@pytest.mark.parametrize("make", BAD.values(), ids=BAD.keys())
def test_a_token_that_is_not_ours_is_refused(
    make: Callable[[Settings], str], settings: Settings, verifier: TokenVerifier
) -> None:
    with pytest.raises(BadToken) as refused:
        verifier.verify(make(settings))
    assert not isinstance(refused.value, ExpiredToken)


def test_the_same_token_untouched_is_taken(settings: Settings, verifier: TokenVerifier) -> None:
    """The control of the table above: what it changes is what is refused."""
    assert verifier.verify(_token(settings)).player_id == "p_ana"


def test_a_token_ends_with_its_time_and_the_leeway_also_once_remembered(
    signer: TokenSigner, verifier: TokenVerifier, clock: Hands
) -> None:
    token, expires = signer.sign("p_ana", "Ana", "s1")
    verifier.verify(token)
    clock.now = expires + 89
    assert verifier.verify(token).player_id == "p_ana"
    clock.now = expires + 90
    for _ in range(2):
        with pytest.raises(ExpiredToken):
            verifier.verify(token)


def test_a_token_that_is_over_is_checked_once_however_often_it_comes(
    signer: TokenSigner, verifier: TokenVerifier, clock: Hands, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No limit is on calls with an expired session, and a signature costs as much as a whole call."""
    checks, decode = list[str](), jwt.decode

    def counted(given: str, *rest: Any, **named: Any) -> Any:
        checks.append(given)
        return decode(given, *rest, **named)

    monkeypatch.setattr(jwt, "decode", counted)
    token, expires = signer.sign("p_ana", "Ana", "s1")
    clock.now = expires + 1_000
    for _ in range(20):
        with pytest.raises(ExpiredToken):
            verifier.verify(token)
    assert len(checks) == 1


def test_a_forged_expired_token_is_bad_rather_than_expired(settings: Settings, verifier: TokenVerifier) -> None:
    with pytest.raises(BadToken) as refused:
        verifier.verify(_token(settings, key=Ed25519PrivateKey.generate(), exp=int(NOW) - 1_000))
    assert not isinstance(refused.value, ExpiredToken)


def test_a_remembered_token_is_not_checked_again(
    signer: TokenSigner, verifier: TokenVerifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    token, _ = signer.sign("p_ana", "Ana", "s1")
    verifier.verify(token)
    monkeypatch.setattr(jwt, "decode", None)
    assert verifier.verify(token).player_id == "p_ana"


def test_keys_rotate_without_a_restart(
    settings: Settings, signer: TokenSigner, verifier: TokenVerifier, clock: Hands
) -> None:
    folder = settings.keys_dir / SESSION_KEYS
    old, _ = signer.sign("p_ana", "Ana", "s1")
    private = new_session_key()
    (folder / "2.pem").write_bytes(_public_pem(private))
    clock.now += 3
    assert _kid(signer.sign("p_ana", "Ana", "s1")[0]) == "1", "a public key signs nothing"
    (folder / "2.pem").write_bytes(private)
    clock.now += 3
    new, _ = signer.sign("p_ana", "Ana", "s1")
    assert _kid(new) == "2"
    assert verifier.verify(new).player_id == verifier.verify(old).player_id == "p_ana"
    (folder / "1.pem").unlink()
    clock.now += 3
    assert verifier.verify(new).player_id == "p_ana"
    with pytest.raises(BadToken):
        verifier.verify(old)


def test_an_unknown_key_is_looked_for_at_once(settings: Settings, verifier: TokenVerifier, clock: Hands) -> None:
    private = new_session_key()
    (settings.keys_dir / SESSION_KEYS / "2.pem").write_bytes(private)
    clock.now += 0.3
    token = _token(settings, {"kid": "2"}, load_pem_private_key(private, None))
    assert verifier.verify(token).player_id == "p_ana"


def test_the_newest_key_is_the_greatest_number(settings: Settings, clock: Hands) -> None:
    for kid in ("9", "10"):
        (settings.keys_dir / SESSION_KEYS / f"{kid}.pem").write_bytes(new_session_key())
    assert _keys(settings, clock).signing()[0] == "10"


def test_a_broken_file_stops_a_start_and_is_ignored_later(
    settings: Settings, signer: TokenSigner, verifier: TokenVerifier, clock: Hands
) -> None:
    token, _ = signer.sign("p_ana", "Ana", "s1")
    (settings.keys_dir / SESSION_KEYS / "2.pem").write_text("-----BEGIN PRIVATE KEY-----\nno\n")
    clock.now += 3
    assert verifier.verify(token).player_id == "p_ana"
    with pytest.raises(KeyFolderError, match=r"2\.pem cannot be read; expected an Ed25519 key"):
        _keys(settings, clock)


def test_a_folder_without_keys_stops_a_start_and_is_ignored_later(
    settings: Settings, signer: TokenSigner, verifier: TokenVerifier, clock: Hands
) -> None:
    """Not mounted yet, or being copied: no session is refused for that."""
    token, _ = signer.sign("p_ana", "Ana", "s1")
    (settings.keys_dir / SESSION_KEYS / "1.pem").rename(settings.keys_dir / "elsewhere.pem")
    clock.now += 3
    assert verifier.verify(token).player_id == "p_ana"
    with pytest.raises(KeyFolderError, match="sessions holds no key"):
        _keys(settings, clock)


def test_a_key_folder_is_made_once_and_only_for_its_owner(tmp_path: Path) -> None:
    prepare_key_folder(tmp_path)
    before = {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
    prepare_key_folder(tmp_path)
    assert {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()} == before
    assert {p.name for p in before} == {"1.pem", "internal.secret", "invite.secret", "operator.secret"}
    assert {p.stat().st_mode & 0o077 for p in before} == {0}


def test_a_secret_that_is_no_secret_is_named(tmp_path: Path) -> None:
    with pytest.raises(KeyFolderError, match=r"internal\.secret is missing"):
        read_secret(tmp_path, INTERNAL_FILE)
    (tmp_path / INTERNAL_FILE).write_text("swordfish")
    with pytest.raises(KeyFolderError, match="64 hexadecimal digits") as refused:
        read_secret(tmp_path, INTERNAL_FILE)
    assert "swordfish" not in str(refused.value)


def _kid(token: str) -> str:
    return str(jwt.get_unverified_header(token)["kid"])


def test_real_clocks_work(settings: Settings) -> None:
    token, expires = TokenSigner(settings).sign("p_ana", "Ana", "s1")
    assert TokenVerifier(settings).verify(token).player_id == "p_ana"
    assert expires > time.time() + 800
