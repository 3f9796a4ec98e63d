"""Who is calling: where session tokens come from and how they stay fresh."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable
from typing import Final, Protocol

import grpc

from maumau.backoff import Backoff
from maumau.errors import MaumauError, RateLimited, SignInNeeded, Unavailable, from_rpc_error
from maumau.session_file import SessionFile, StoredSession
from maumau.v1 import identity_pb2, identity_pb2_grpc

REFRESH_BEFORE_SECONDS: Final = 60.0
"""A token is replaced this long before it expires."""
_SHORTEST_USE_SECONDS: Final = 30.0
_CALL_SECONDS: Final = 15.0

TokenSource = Callable[[], Awaitable[str]]
"""Returns a token of an identity provider that is valid for a while; called again when a fresh one is needed."""


class Tokens(Protocol):
    """Gives the token for each call."""

    async def token(self) -> str:
        """A token that is valid for a while yet."""
        ...

    async def renew(self, used: str) -> str:
        """Another token than `used`, which the server refused or which ends soon. Raises SignInNeeded."""
        ...


class GivenToken:
    """One token, as it is."""

    def __init__(self, token: str) -> None:
        self._token = token

    async def token(self) -> str:
        return self._token

    async def renew(self, used: str) -> str:
        raise SignInNeeded("TOKEN_EXPIRED", "the token that was given has expired", code="UNAUTHENTICATED")


class ProvidedTokens:
    """Tokens from a function of the caller, kept until one is refused."""

    def __init__(self, source: TokenSource) -> None:
        self._source = source
        self._token = ""
        self._lock = asyncio.Lock()

    async def token(self) -> str:
        return self._token or await self.renew("")

    async def renew(self, used: str) -> str:
        async with self._lock:
            if self._token == used:
                self._token = await self._source()
            return self._token


class GuestSession:
    """A guest of the server, signed in on first use, refreshed in time, remembered in `file` if there is one."""

    def __init__(self, channel: grpc.aio.Channel, name: str, file: SessionFile | None) -> None:
        self._identity = identity_pb2_grpc.IdentityServiceStub(channel)
        self._name = name
        self._file = file
        self._session: StoredSession | None = None
        self._fresh_until = 0.0  # of the monotonic clock: a wrong wall clock must not cause a refresh with each call
        self._lock = asyncio.Lock()

    @property
    def player_id(self) -> str:
        """Empty before the first call."""
        return self._session.player_id if self._session else ""

    async def token(self) -> str:
        if self._session is not None and time.monotonic() < self._fresh_until:
            return self._session.token
        async with self._lock:
            if self._session is None:
                await self._begin()
            elif time.monotonic() >= self._fresh_until:
                await self._refresh_early(self._session)
            return self._present().token

    async def renew(self, used: str) -> str:
        async with self._lock:
            if self._session is None:
                await self._begin()
            elif self._session.token == used:
                await self._refresh(self._session)
            return self._present().token

    def _present(self) -> StoredSession:
        if self._session is None:
            raise SignInNeeded("NOT_SIGNED_IN", "there is no session", code="UNAUTHENTICATED")
        return self._session

    async def _begin(self) -> None:
        remembered = self._file.read() if self._file else None
        if remembered is not None:
            if remembered.expires - time.time() > REFRESH_BEFORE_SECONDS and await self._is_taken(remembered.token):
                self._take(remembered)
                return
            try:
                await self._refresh(remembered)
                return
            except SignInNeeded:  # ended, or of a server whose players are gone: be somebody new
                self._session = None
        await self._sign_in()

    async def _is_taken(self, token: str) -> bool:
        """False where the server says that this token is worth nothing; what else goes wrong, the next call tells."""
        request = identity_pb2.GetPlayerRequest()
        try:
            await self._identity.GetPlayer(request, timeout=_CALL_SECONDS, metadata=_bearer(token))
        except grpc.aio.AioRpcError as error:
            return not isinstance(from_rpc_error(error), SignInNeeded)
        return True

    async def _sign_in(self) -> None:
        """Not repeatable, so it waits for the connection, and is tried again only after the server itself has said that
        nothing came of it."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + _CALL_SECONDS
        backoff = Backoff()
        while True:
            try:
                answer = await self._sign_in_once(deadline - loop.time())
            except Unavailable as error:
                wait = backoff.next_wait(error.retry_after)
                if error.outcome_unknown or loop.time() + wait >= deadline:
                    raise
                await asyncio.sleep(wait)
            else:
                self._keep(answer.session)
                return

    async def _sign_in_once(self, seconds: float) -> identity_pb2.SignInAsGuestResponse:
        request = identity_pb2.SignInAsGuestRequest(display_name=self._name)
        try:
            return await self._identity.SignInAsGuest(request, timeout=max(seconds, 0.001), wait_for_ready=True)
        except grpc.aio.AioRpcError as error:
            raise from_rpc_error(error) from error

    async def _refresh_early(self, session: StoredSession) -> None:
        """Before the end: a server that is away for a moment, or has had too many refreshes from here, is no reason to
        fail while the old token is good."""
        try:
            await self._refresh(session)
        except (Unavailable, RateLimited):
            if session.expires <= time.time():
                raise

    async def _refresh(self, session: StoredSession) -> None:
        request = identity_pb2.RefreshSessionRequest(refresh_token=session.refresh_token)
        try:
            answer = await self._identity.RefreshSession(request, timeout=_CALL_SECONDS)
        except grpc.aio.AioRpcError as error:
            failure = from_rpc_error(error)
            if not self._take_over_from_file(session, failure):
                raise failure from error
            return
        with contextlib.suppress(OSError):  # it is written with the next one; until then this process has it
            self._keep(answer.session)

    def _take_over_from_file(self, session: StoredSession, failure: MaumauError) -> bool:
        """A refresh token works once: another process with the same file may have used it."""
        if self._file is None or not isinstance(failure, SignInNeeded):
            return False
        other = self._file.read()
        if other is None or other.refresh_token == session.refresh_token:
            return False
        self._take(other)
        return True

    def _keep(self, session: identity_pb2.Session) -> None:
        expires = session.expires.seconds + session.expires.nanos / 1e9
        stored = StoredSession(session.player_id, session.token, expires, session.refresh_token)
        self._take(stored)  # first, since the one before is used up
        if self._file is not None:
            self._file.write(stored)

    def _take(self, session: StoredSession) -> None:
        self._session = session
        left = session.expires - time.time()
        self._fresh_until = time.monotonic() + max(_SHORTEST_USE_SECONDS, left - REFRESH_BEFORE_SECONDS)

    def forget(self) -> None:
        """Drops the session, also from the file."""
        self._session = None
        if self._file is not None:
            self._file.remove()


def _bearer(token: str) -> tuple[tuple[str, str], ...]:
    return (("authorization", f"Bearer {token}"),)
