"""Who is calling: the guards of the two ports, and what handlers ask about the caller.

    authenticator = Authenticator(TokenVerifier(runtime.settings), revocations.refusal)
    runtime.public.guard(PublicGuard(authenticator, limits.bad_token))
    runtime.internal.guard(InternalGuard(runtime.settings))
    ...
    player = caller()           # in a handler of a PLAYER method

Players send `authorization: Bearer <session token>`. Services send `authorization: Service <secret>`, with the content
of `internal.secret` (`channels.internal_channel` does); the operator `authorization: Operator <secret>`, with that of
`operator.secret`. Each port knows its kinds only, so none is taken for another.
"""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from typing import Final

from services.runtime.calls import Context, Method
from services.runtime.errors import Refused
from services.runtime.key_folder import INTERNAL_FILE, OPERATOR_FILE, read_secret
from services.runtime.logs import bind
from services.runtime.operators import OperatorSecrets, is_operator
from services.runtime.policy import POLICY, Access
from services.runtime.settings import Settings
from services.runtime.tokens import BadToken, ExpiredToken, Session, TokenVerifier
from services.wire.errors import Refusal

AUTHORIZATION: Final = "authorization"
PLAYER_SCHEME: Final = "Bearer"
SERVICE_SCHEME: Final = "Service"
OPERATOR_SCHEME: Final = "Operator"

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


class Authenticator:
    """Who a token names, and whether that session is still wanted. `refusal` says why not."""

    def __init__(self, verifier: TokenVerifier, refusal: Callable[[Session], Refusal | None] = lambda _: None) -> None:
        self._verifier = verifier
        self._refusal = refusal

    async def session(self, token: str) -> Session:
        """The session of a good token. Raises Refusal: BAD_TOKEN, TOKEN_EXPIRED, SESSION_ENDED or PLAYER_BANNED."""
        try:
            session = await self._verifier.verify_late(token)
        except ExpiredToken:
            raise Refused("TOKEN_EXPIRED") from None
        except BadToken:
            raise Refused("BAD_TOKEN") from None
        self.check(session)
        return session

    def check(self, session: Session) -> None:
        """Raises Refusal (SESSION_ENDED, PLAYER_BANNED) for a session that is over before its time."""
        if (refused := self._refusal(session)) is not None:
            raise refused


async def _no_limit(context: Context) -> None:
    return None


class PublicGuard:
    """Lets in whom the policy allows, and remembers the caller for the handler. `bad_token` is told of each token that
    is not taken, and may refuse for another reason."""

    def __init__(
        self,
        authenticator: Authenticator,
        bad_token: Callable[[Context], Awaitable[None]] = _no_limit,
        policy: Mapping[str, Access] = POLICY,
    ) -> None:
        self._authenticator = authenticator
        self._bad_token = bad_token
        self._policy = policy

    async def __call__(self, method: Method, context: Context) -> None:
        """Raises Refusal: NOT_SIGNED_IN, BAD_TOKEN, TOKEN_EXPIRED, SESSION_ENDED, PLAYER_BANNED or NOT_ALLOWED."""
        access = self._policy.get(method.path)
        if access is Access.ANYONE:
            return
        if access is not Access.PLAYER:
            raise Refused("NOT_ALLOWED", method=method.path)
        try:
            session = await self._session(context)
        except Refusal as refused:
            if refused.reason == "BAD_TOKEN":
                await self._bad_token(context)
            raise
        _caller.set(session)
        bind(player=session.player_id)

    async def _session(self, context: Context) -> Session:
        token = _credential(context, PLAYER_SCHEME)
        if token is None:
            raise Refused("NOT_SIGNED_IN")
        return await self._authenticator.session(token)


class InternalGuard:
    """Lets in other services of this server, and the operator. Raises `KeyFolderError` when made without the services'
    secret. A folder without an operator's credential has no operator."""

    def __init__(self, settings: Settings, policy: Mapping[str, Access] = POLICY) -> None:
        self._service = _secret(settings, INTERNAL_FILE)
        self._operators = OperatorSecrets(settings.keys_dir)
        self._policy = policy

    async def __call__(self, method: Method, context: Context) -> None:
        """Raises `Refused`: NOT_SIGNED_IN without a credential, BAD_TOKEN with a wrong one, NOT_ALLOWED."""
        match self._policy.get(method.path):
            case Access.SERVICE:
                if not hmac.compare_digest(_shown(context, SERVICE_SCHEME).encode(), self._service):
                    raise Refused("BAD_TOKEN")
            case Access.OPERATOR if self._operators:
                name = self._operators.name_of(_shown(context, OPERATOR_SCHEME))
                if name is None:
                    raise Refused("BAD_TOKEN")
                is_operator(name)
                bind(operator=name)
            case _:
                raise Refused("NOT_ALLOWED", method=method.path)


def _shown(context: Context, scheme: str) -> str:
    shown = _credential(context, scheme)
    if shown is None:
        raise Refused("NOT_SIGNED_IN")
    return shown


def _secret(settings: Settings, file: str) -> bytes:
    return read_secret(settings.keys_dir, file).hex().encode()


def service_credential(settings: Settings) -> tuple[str, str]:
    """The metadata entry that services show each other."""
    return AUTHORIZATION, f"{SERVICE_SCHEME} {_secret(settings, INTERNAL_FILE).decode()}"


def operator_credential(settings: Settings, file: str = OPERATOR_FILE) -> tuple[str, str]:
    """The metadata entry that an operator shows; `file` is the credential's in the key folder. Raises
    `KeyFolderError`."""
    return AUTHORIZATION, f"{OPERATOR_SCHEME} {_secret(settings, file).decode()}"


def _credential(context: Context, scheme: str) -> str | None:
    """What follows the scheme in `authorization`; None without one. Two entries count as none that is valid."""
    values = [value for key, value in context.invocation_metadata() or () if key == AUTHORIZATION]
    if not values:
        return None
    given, _, credential = str(values[0]).partition(" ")
    if len(values) > 1 or given.lower() != scheme.lower():
        raise Refused("BAD_TOKEN")
    return credential.strip()
