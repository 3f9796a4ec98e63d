"""Session tokens: short JWTs signed with Ed25519, made by matchmaking and checked by every process.

A token says who its bearer is, never which seat it has: the room knows that. Its kind stands in the header (`typ`), so
a token of another kind under the same keys is no session (RFC 8725, 3.11). Keys are the PEM files of
`<keys>/sessions`, named by `kid`; the folder is looked at again every two seconds and whenever an unknown `kid` comes,
so keys rotate without a restart: put the public key of the new pair there, wait until every process has it, replace it
by the private key, and remove the old one when its last token has run out.
"""

from __future__ import annotations

import hashlib
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

import jwt
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_pem_public_key

from services.runtime.key_folder import SESSION_KEYS, KeyFolderError
from services.runtime.logs import log
from services.runtime.settings import Settings

ALGORITHM: Final = "EdDSA"
SESSION_TYPE: Final = "maumau-session+jwt"
REQUIRED: Final = ("iss", "aud", "sub", "exp", "iat", "jti", "sid")
MAX_TOKEN_CHARACTERS: Final = 4_096
CACHED_TOKENS: Final = 50_000
LOOK_AGAIN_SECONDS: Final = 2.0
UNKNOWN_KEY_SECONDS: Final = 0.2

Clock = Callable[[], float]


class BadToken(Exception):  # noqa: N818 - a refusal, not a fault
    """The token is not one of this server's sessions. Says nothing about which check failed."""


class ExpiredToken(BadToken):
    """The token was a session, and its time is over."""


class UnknownKey(BadToken):
    """The token names a key that the identity provider did not have when it was asked last."""


@dataclass(frozen=True)
class Session:
    """What a valid token says. `issued` and `expires` are seconds since 1970."""

    player_id: str
    display_name: str
    session_id: str
    token_id: str
    issued: float
    expires: float


class SessionKeys:
    """The keys of a folder, by `kid`. `signing` is the private key with the newest `kid`: the greatest number, or the
    last in the order of the alphabet where names are no numbers. Raises `KeyFolderError` and `OSError` when made over a
    folder without keys or with one that cannot be read; later the known ones stay, and what is wrong is logged."""

    def __init__(self, folder: Path, monotonic: Clock = time.monotonic) -> None:
        self.changes = 0
        self._folder = folder
        self._monotonic = monotonic
        self._looked = -UNKNOWN_KEY_SECONDS
        self._seen: tuple[tuple[str, int, int], ...] = ()
        self._public: dict[str, Ed25519PublicKey] = {}
        self._private: dict[str, Ed25519PrivateKey] = {}
        self._look(0)

    def public(self, kid: str) -> Ed25519PublicKey | None:
        """The key that checks tokens of this `kid`; None if there is none."""
        self._look(LOOK_AGAIN_SECONDS if kid in self._public else UNKNOWN_KEY_SECONDS)
        return self._public.get(kid)

    def signing(self) -> tuple[str, Ed25519PrivateKey]:
        """The newest private key. Raises `KeyFolderError` where the folder has none."""
        self._look(LOOK_AGAIN_SECONDS)
        if not self._private:
            raise KeyFolderError(f"{self._folder} holds no private Ed25519 key (<kid>.pem)")
        kid = max(self._private, key=key_age)
        return kid, self._private[kid]

    def refresh(self) -> None:
        """Looks at the folder if that is due."""
        self._look(LOOK_AGAIN_SECONDS)

    def _look(self, every: float) -> None:
        now = self._monotonic()
        if now - self._looked < every:
            return
        self._looked = now
        try:
            self._read()
        except (OSError, KeyFolderError) as error:
            if not self._public:
                raise
            log.error("session keys cannot be read again; the known ones stay", error=str(error))

    def _read(self) -> None:
        files = sorted(self._folder.glob("*.pem"))
        if not files:  # no step of a rotation, but a folder that is not mounted, or is being copied
            raise KeyFolderError(f"{self._folder} holds no key; expected Ed25519 keys in PEM (<kid>.pem)")
        seen = tuple((p.name, s.st_mtime_ns, s.st_ino) for p in files for s in (p.stat(),))
        if seen == self._seen:
            return
        self._load(files)
        self._seen = seen
        self.changes += 1

    def _load(self, files: list[Path]) -> None:
        private = {path.stem: key for path in files if (key := _read_private(path)) is not None}
        public = {kid: key.public_key() for kid, key in private.items()}
        public.update({path.stem: _read_public(path) for path in files if path.stem not in private})
        self._private, self._public = private, public


class TokenSigner:
    """Makes session tokens. Lives in the process that signs people in."""

    def __init__(self, settings: Settings, keys: SessionKeys | None = None, clock: Clock = time.time) -> None:
        self._keys = keys or SessionKeys(settings.keys_dir / SESSION_KEYS)
        self._life = settings.session_seconds
        self._issuer = settings.jwt_issuer
        self._audience = settings.jwt_audience
        self._clock = clock

    def sign(self, player_id: str, display_name: str, session_id: str) -> tuple[str, float]:
        """A token for this player and the time at which it expires, in seconds since 1970."""
        kid, key = self._keys.signing()
        now = int(self._clock())
        expires = now + int(self._life)
        claims = {
            "iss": self._issuer,
            "aud": self._audience,
            "sub": player_id,
            "name": display_name,
            "sid": session_id,
            "jti": secrets.token_urlsafe(12),
            "iat": now,
            "exp": expires,
        }
        token = jwt.encode(claims, key, algorithm=ALGORITHM, headers={"kid": kid, "typ": SESSION_TYPE})
        return token, float(expires)


class OtherIssuer(Protocol):
    """Where tokens of another issuer are checked: the operator's identity provider (`services.runtime.provider`)."""

    changes: int
    """Counts up whenever the keys change."""

    def session(self, token: str, header: Mapping[str, Any]) -> Session:
        """Who the token names. Raises `BadToken`, `UnknownKey`."""

    async def learn(self) -> bool:
        """Asks for the keys, unless that was just done; true if there are others now."""


class TokenVerifier:
    """Checks session tokens, own ones and, with a `provider`, those of the operator's identity provider. A token that
    was found good is remembered by its SHA-256 until the keys change or it is the oldest of many, since one check costs
    as much as the rest of a small call."""

    def __init__(
        self,
        settings: Settings,
        keys: SessionKeys | None = None,
        clock: Clock = time.time,
        provider: OtherIssuer | None = None,
    ) -> None:
        self._keys = keys or SessionKeys(settings.keys_dir / SESSION_KEYS)
        self._provider = provider
        self._leeway = settings.clock_leeway_seconds
        self._issuer = settings.jwt_issuer
        self._audience = settings.jwt_audience
        self._clock = clock
        self._known: dict[bytes, Session] = {}
        self._known_with = self._changes

    async def verify_late(self, token: str) -> Session:
        """As `verify`; where the provider's key is unknown, the provider is asked first."""
        try:
            return self.verify(token)
        except UnknownKey:
            if self._provider is None or not await self._provider.learn():
                raise
            return self.verify(token)

    def verify(self, token: str) -> Session:
        """Who the token names. Raises `ExpiredToken` for a session that is over, `BadToken` for anything else."""
        if len(token) > MAX_TOKEN_CHARACTERS:
            raise BadToken
        self._forget_on_change()
        mark = hashlib.sha256(token.encode()).digest()
        session = self._known.get(mark)
        if session is None:
            session = self._check(token)
            self._remember(mark, session)
        if session.expires + self._leeway <= self._clock():
            raise ExpiredToken  # stays known, since whoever sends it again should cost no more than one check
        return session

    def _forget_on_change(self) -> None:
        self._keys.refresh()
        if self._known_with != self._changes:
            self._known.clear()
            self._known_with = self._changes

    @property
    def _changes(self) -> tuple[int, int]:
        return self._keys.changes, 0 if self._provider is None else self._provider.changes

    def _remember(self, mark: bytes, session: Session) -> None:
        if len(self._known) >= CACHED_TOKENS:
            del self._known[next(iter(self._known))]
        self._known[mark] = session

    def _check(self, token: str) -> Session:
        try:
            header = jwt.get_unverified_header(token)
            if self._provider is not None and header.get("typ") != SESSION_TYPE:
                return self._provider.session(token, header)
            key = self._key(header)
            claims = jwt.decode(
                token,
                key,
                algorithms=[ALGORITHM],
                issuer=self._issuer,
                audience=self._audience,
                options={"require": list(REQUIRED), "verify_exp": False, "verify_iat": False},
            )
        except (jwt.PyJWTError, ValueError, TypeError):
            raise BadToken from None
        return self._session(claims)

    def _key(self, header: Mapping[str, Any]) -> Ed25519PublicKey:
        kid = header.get("kid")
        if header.get("typ") != SESSION_TYPE or not isinstance(kid, str):
            raise BadToken
        key = self._keys.public(kid)
        if key is None:
            raise BadToken
        return key

    def _session(self, claims: Mapping[str, Any]) -> Session:
        texts = [claims.get(name, "") for name in ("sub", "name", "sid", "jti")]
        times = [claims["iat"], claims["exp"]]
        plain = all(isinstance(text, str) for text in texts) and all(type(t) in (int, float) for t in times)
        if not plain or not texts[0] or times[0] > self._clock() + self._leeway:
            raise BadToken
        return Session(texts[0], texts[1], texts[2], texts[3], float(times[0]), float(times[1]))


def key_age(kid: str) -> tuple[int, int, str]:
    """Orders the names of keys from the oldest to the newest."""
    return (1, int(kid), kid) if kid.isdecimal() else (0, 0, kid)


def _read_private(path: Path) -> Ed25519PrivateKey | None:
    pem = path.read_bytes()
    if b"PRIVATE KEY" not in pem:
        return None
    key = _load(path, lambda: load_pem_private_key(pem, password=None))
    if not isinstance(key, Ed25519PrivateKey):
        raise KeyFolderError(f"{path} holds another kind of key; expected an Ed25519 key in PEM")
    return key


def _read_public(path: Path) -> Ed25519PublicKey:
    key = _load(path, lambda: load_pem_public_key(path.read_bytes()))
    if not isinstance(key, Ed25519PublicKey):
        raise KeyFolderError(f"{path} holds another kind of key; expected an Ed25519 key in PEM")
    return key


def _load(path: Path, load: Callable[[], object]) -> object:
    try:
        return load()
    except ValueError:
        raise KeyFolderError(f"{path} cannot be read; expected an Ed25519 key in PEM without a password") from None
