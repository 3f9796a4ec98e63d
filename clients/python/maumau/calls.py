"""One unary call: token, room metadata, deadline, retries, typed errors."""

from __future__ import annotations

import asyncio
from typing import Any, Final, Protocol, TypeVar

import grpc

from maumau.backoff import Backoff
from maumau.errors import Closed, SignInNeeded, Unavailable, from_rpc_error
from maumau.session import Tokens

CALL_SECONDS: Final = 20.0
"""How long a call may take in all, retries included."""
ATTEMPT_SECONDS: Final = 8.0
"""How long one attempt of a call may take that can be sent again."""

Request = TypeVar("Request", contravariant=True)
Response = TypeVar("Response")
Metadata = tuple[tuple[str, str], ...]


class Method(Protocol[Request, Response]):
    """A unary method of a stub."""

    def __call__(
        self,
        request: Request,
        /,
        *,
        timeout: float | None = ...,
        metadata: Any = ...,
        wait_for_ready: bool | None = ...,
    ) -> grpc.aio.UnaryUnaryCall[Any, Response]: ...


def room_metadata(token: str, room_id: str) -> Metadata:
    """The metadata of a call in a room. Proxies hash on the room, so that its calls meet a warm cache."""
    session = (("authorization", f"Bearer {token}"),) if token else ()
    return (*session, ("x-maumau-room", room_id)) if room_id else session


class Calls:
    """Makes unary calls of one client."""

    def __init__(self, tokens: Tokens) -> None:
        self.tokens = tokens
        self.closed = False

    async def call(
        self,
        method: Method[Request, Response],
        request: Request,
        *,
        room_id: str = "",
        signed_in: bool = True,
        repeatable: bool = False,
        timeout: float = CALL_SECONDS,
    ) -> Response:
        """Calls and answers the response. A `repeatable` call (a read, or one with a request id) is sent again until
        `timeout` seconds are over; a refused token is renewed once. Raises MaumauError."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout
        backoff = Backoff()
        renewed = False
        while True:
            left = deadline - loop.time()
            token = await self.tokens.token() if signed_in else ""
            try:
                span = min(left, ATTEMPT_SECONDS) if repeatable else left
                return await self._attempt(method, request, room_metadata(token, room_id), span)
            except SignInNeeded:
                if renewed or not signed_in:
                    raise
                renewed = True
                await self.tokens.renew(token)
            except Unavailable as error:
                wait = backoff.next_wait(error.retry_after)
                if not repeatable or loop.time() + wait >= deadline:
                    raise
                await asyncio.sleep(wait)

    async def _attempt(
        self, method: Method[Request, Response], request: Request, metadata: Metadata, timeout: float
    ) -> Response:
        if self.closed:
            raise Closed("the client is closed")
        try:
            return await method(request, timeout=max(timeout, 0.001), metadata=metadata)
        except grpc.aio.AioRpcError as error:
            raise from_rpc_error(error) from error
        except grpc.aio.UsageError as error:
            raise Closed("the client is closed") from error
        except asyncio.CancelledError:
            raise_if_closed(self.closed)
            raise


def raise_if_closed(closed: bool) -> None:
    """A channel that closes cancels its calls; their tasks, which nobody cancelled, should learn why."""
    task = asyncio.current_task()
    if closed and task is not None and not task.cancelling():
        raise Closed("the client was closed") from None
