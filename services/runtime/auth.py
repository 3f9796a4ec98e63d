"""Who is calling: the guards of the two ports, and what handlers ask about the caller.

    runtime.public.guard(PublicGuard(TokenVerifier(runtime.settings)))
    runtime.internal.guard(InternalGuard(runtime.settings))
    ...
    player = caller()           # in a handler of a PLAYER method

Players send `authorization: Bearer <session token>`. Services send `authorization: Service <secret>`, with the content
of `internal.secret` (`channels.internal_channel` does). Each port knows one kind, so neither is taken for the other.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from contextvars import ContextVar
from typing import Final

from services.runtime.calls import Context, Method
from services.runtime.errors import Refused
from services.runtime.key_folder import INTERNAL_FILE, read_secret
from services.runtime.logs import bind
from services.runtime.policy import POLICY, Access
from services.runtime.settings import Settings
from services.runtime.tokens import BadToken, ExpiredToken, Session, TokenVerifier

AUTHORIZATION: Final = "authorization"
PLAYER_SCHEME: Final = "Bearer"
SERVICE_SCHEME: Final = "Service"

_caller: ContextVar[Session | None] = ContextVar("caller", default=None)


def caller() -> Session:
    """The player who makes the present call. Raises `Refused` (NOT_SIGNED_IN) where there is none."""
    session = _caller.get()
    if session is None:
        raise Refused("NOT_SIGNED_IN")
    return session


def caller_if_any() -> Session | None:
    """The player who makes the present call, if it came with a valid session."""
    return _caller.get()


def authenticate(verifier: TokenVerifier, token: str) -> Session:
    """Who a token names. Raises `Refused` with BAD_TOKEN or TOKEN_EXPIRED. For tokens that come in a stream."""
    try:
        return verifier.verify(token)
    except ExpiredToken:
        raise Refused("TOKEN_EXPIRED") from None
    except BadToken:
        raise Refused("BAD_TOKEN") from None


class PublicGuard:
    """Lets in whom the policy allows, and remembers the caller for the handler."""

    def __init__(self, verifier: TokenVerifier, policy: Mapping[str, Access] = POLICY) -> None:
        self._verifier = verifier
        self._policy = policy

    async def __call__(self, method: Method, context: Context) -> None:
        """Raises `Refused`: NOT_SIGNED_IN, BAD_TOKEN, TOKEN_EXPIRED or NOT_ALLOWED."""
        access = self._policy.get(method.path)
        if access is Access.ANYONE:
            return
        if access is not Access.PLAYER:
            raise Refused("NOT_ALLOWED", method=method.path)
        token = _credential(context, PLAYER_SCHEME)
        if token is None:
            raise Refused("NOT_SIGNED_IN")
        session = authenticate(self._verifier, token)
        _caller.set(session)
        bind(player=session.player_id)


class InternalGuard:
    """Lets in other services of this server. Raises `KeyFolderError` when made without a secret."""

    def __init__(self, settings: Settings, policy: Mapping[str, Access] = POLICY) -> None:
        self._secret = read_secret(settings.keys_dir, INTERNAL_FILE).hex().encode()
        self._policy = policy

    async def __call__(self, method: Method, context: Context) -> None:
        """Raises `Refused`: NOT_SIGNED_IN without a credential, BAD_TOKEN with a wrong one, NOT_ALLOWED."""
        if self._policy.get(method.path) is not Access.SERVICE:
            raise Refused("NOT_ALLOWED", method=method.path)
        shown = _credential(context, SERVICE_SCHEME)
        if shown is None:
            raise Refused("NOT_SIGNED_IN")
        if not hmac.compare_digest(shown.encode(), self._secret):
            raise Refused("BAD_TOKEN")


def service_credential(settings: Settings) -> tuple[str, str]:
    """The metadata entry that services show each other."""
    return AUTHORIZATION, f"{SERVICE_SCHEME} {read_secret(settings.keys_dir, INTERNAL_FILE).hex()}"


def _credential(context: Context, scheme: str) -> str | None:
    """What follows the scheme in `authorization`; None without one. Two entries count as none that is valid."""
    values = [value for key, value in context.invocation_metadata() or () if key == AUTHORIZATION]
    if not values:
        return None
    given, _, credential = str(values[0]).partition(" ")
    if len(values) > 1 or given.lower() != scheme.lower():
        raise Refused("BAD_TOKEN")
    return credential.strip()
