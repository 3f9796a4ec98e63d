"""Tokens of the operator's own identity provider, checked with the keys that it publishes as JWKS (RFC 7517).

Which key, issuer and audience count is configured; the algorithm is the key's own, never the token's choice. The keys
are fetched in a thread, again every few minutes, and when a token names one that is unknown, but never more often than
every few seconds, so that nobody can make this server ask without end. A provider that is away, or answers with
anything else than keys, changes nothing: the known keys stay.

A token counts for at most `jwks_token_seconds` after it was issued, whatever it says itself: for so long it is known
that a session was signed out.

A player of the provider is `u_` + `sub`, so none can be taken for a guest.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
import unicodedata
import urllib.request
from collections.abc import Callable, Mapping
from typing import Any, Final

import jwt

from services.runtime.logs import log
from services.runtime.settings import Settings
from services.runtime.tokens import BadToken, Clock, Session, UnknownKey
from services.wire import validate
from services.wire.errors import Refusal

REFRESH_SECONDS: Final = 300.0
LEARN_SECONDS: Final = 5.0
"""Least time from the end of one fetch to the next."""
FETCH_SECONDS: Final = 5.0
LARGEST_BYTES: Final = 1_048_576
PREFIX: Final = "u_"
NAMELESS: Final = "Player"
LONGEST_SUBJECT: Final = 126
KEY_TYPES: Final = frozenset({"OKP", "EC", "RSA"})
"""Never `oct`: whoever can check with a shared secret can sign with it."""
TOKEN_TYPES: Final = frozenset({None, "jwt", "at+jwt"})
REQUIRED: Final = ("iss", "aud", "sub", "exp", "iat")

Fetch = Callable[[str], bytes]


class ProviderTokens:
    """Checks tokens of the provider. `changes` counts up whenever its keys change."""

    def __init__(self, settings: Settings, fetch: Fetch | None = None, clock: Clock = time.time) -> None:
        assert settings.jwks_url is not None
        self.changes = 0
        self._url = settings.jwks_url
        self._issuer, self._audience = settings.jwks_issuer, settings.jwks_audience
        self._leeway = settings.clock_leeway_seconds
        self._longest_life = settings.jwks_token_seconds
        self._fetch = fetch or _fetch
        self._clock = clock
        self._asked = -LEARN_SECONDS
        self._asking: asyncio.Task[None] | None = None
        self._keys: dict[str, jwt.PyJWK] = {}
        self._seen: list[str] = []

    async def keep_fresh(self) -> None:
        """Runs as long as the process: asks again and again, so that a key that was withdrawn is no longer taken."""
        while True:
            await self.learn()
            await asyncio.sleep(REFRESH_SECONDS if self._keys else LEARN_SECONDS)

    async def learn(self) -> bool:
        """Fetches the keys, unless that was just done; true if they are others than before. Whoever comes while they
        are fetched waits for that and no longer, also where the provider does not answer."""
        before = self.changes
        if self._asking is None and time.monotonic() - self._asked >= LEARN_SECONDS:
            self._asking = asyncio.create_task(self._ask(), name="keys of the provider")
        if self._asking is not None:
            await asyncio.shield(self._asking)  # others wait for the same answer
        return self.changes != before

    async def _ask(self) -> None:
        try:
            found = _read(await asyncio.to_thread(self._fetch, self._url))
        except Exception as error:  # whatever is wrong with another server's answer, this one goes on
            log.error("the identity provider's keys cannot be read; the known ones stay", error=repr(error))
            return
        finally:
            self._asked, self._asking = time.monotonic(), None
        seen = sorted(form for _, form, _ in found)
        if seen != self._seen:
            self._seen, self._keys = seen, {kid: key for kid, _, key in found}
            self.changes += 1

    def session(self, token: str, header: Mapping[str, Any]) -> Session:
        """Who the token names; its time may be over. Raises `BadToken`, `UnknownKey`, `jwt.PyJWTError`."""
        key = self._key(header)
        claims = jwt.decode(
            token,
            key.key,
            algorithms=[key.algorithm_name],
            issuer=self._issuer,
            audience=self._audience,
            options={"require": list(REQUIRED), "verify_exp": False, "verify_iat": False, "verify_nbf": False},
        )
        subject, issued, expires = claims["sub"], claims["iat"], claims["exp"]
        times = (issued, expires, claims.get("nbf", 0))
        if not isinstance(subject, str) or not 1 <= len(subject) <= LONGEST_SUBJECT or not subject.isprintable():
            raise BadToken
        if not all(type(each) in (int, float) for each in times):
            raise BadToken
        if max(issued, claims.get("nbf", 0)) > self._clock() + self._leeway:
            raise BadToken
        mark = hashlib.sha256(token.encode()).hexdigest()[:32]
        return Session(
            player_id=PREFIX + subject,
            display_name=_name(claims),
            session_id=_text(claims.get("sid")) or _text(claims.get("jti")) or mark,
            token_id=_text(claims.get("jti")) or mark,
            issued=float(issued),
            expires=float(min(expires, issued + self._longest_life)),
        )

    def _key(self, header: Mapping[str, Any]) -> jwt.PyJWK:
        kid, kind = header.get("kid"), header.get("typ")
        if not isinstance(kid, str) or (kind.lower() if isinstance(kind, str) else kind) not in TOKEN_TYPES:
            raise BadToken
        key = self._keys.get(kid)
        if key is None:
            raise UnknownKey
        return key


def count_keys(url: str) -> int:
    """How many keys this address gives that can be used. Raises whatever is wrong with the answer."""
    return len(_read(_fetch(url)))


def _fetch(url: str) -> bytes:
    """The timeout of a connection is for each part of an answer, so the whole has one of its own."""
    end, content = time.monotonic() + FETCH_SECONDS, b""
    with urllib.request.urlopen(url, timeout=FETCH_SECONDS) as answer:  # noqa: S310 - a setting  # nosec B310
        while part := answer.read1(LARGEST_BYTES):
            content += part
            if len(content) > LARGEST_BYTES:
                raise ValueError(f"{url} has more than {LARGEST_BYTES} bytes; expected a JWKS")
            if time.monotonic() > end:
                raise TimeoutError(f"{url} takes longer than {FETCH_SECONDS:g} s")
    return content


def _read(content: bytes) -> list[tuple[str, str, jwt.PyJWK]]:
    """`kid`, canonical form and key of every usable public key. Raises ValueError for what is no JWKS."""
    listed = json.loads(content)
    if not isinstance(listed, dict) or not isinstance(listed.get("keys"), list):
        raise ValueError("expected a JSON object with a list `keys`")
    found = []
    for entry in listed["keys"]:
        if not _is_signing_key(entry):
            continue
        try:
            found.append((entry["kid"], json.dumps(entry, sort_keys=True), jwt.PyJWK(entry)))
        except Exception as error:  # PyJWT meets some oddities with errors that are not its own
            log.warning("a key of the identity provider cannot be used", kid=entry["kid"], error=repr(error))
    return found


def _is_signing_key(entry: object) -> bool:
    if not isinstance(entry, dict) or not all(isinstance(entry.get(name), str) for name in ("kid", "kty")):
        return False
    return entry["kty"] in KEY_TYPES and entry.get("use", "sig") == "sig"


def _name(claims: Mapping[str, Any]) -> str:
    """The first claim that is fit to be shown, cut to the longest name."""
    for claim in ("name", "preferred_username", "nickname"):
        value = claims.get(claim)
        if isinstance(value, str):
            text = unicodedata.normalize("NFC", value[: 4 * validate.LONGEST_NAME])[: validate.LONGEST_NAME].strip()
            try:
                return validate.display_name(text)
            except Refusal:
                continue
    return NAMELESS


def _text(value: object) -> str:
    """An id as the token has it; none for what cannot be one."""
    return value if isinstance(value, str) and len(value) <= LONGEST_SUBJECT and value.isprintable() else ""
