"""What happens around every RPC: counted, guarded, bounded in time, its errors mapped, one log line.

The guards come first: nothing that a stranger, or somebody above a limit, sends is even decoded.

`wrap` turns the four kinds of handlers into ones that work on bytes, so that an unreadable request is refused like any
other and a handler may return or yield a message that is encoded already. Streaming handlers are async generators; they
are closed in order when the client goes away.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import inspect
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, aclosing
from types import TracebackType
from typing import Any, Final, NamedTuple

import grpc
from grpc._cython.cygrpc import ExecuteBatchError, UsageError  # no public names for a write to a dead client
from grpc_status._common import GRPC_DETAILS_METADATA_KEY

from services.runtime import metrics
from services.runtime.errors import Refused, answer_of
from services.runtime.logs import is_written, log
from services.runtime.traces import traces

Context = grpc.aio.ServicerContext[Any, Any]
DEADLINE_MARGIN_SECONDS: Final = 0.1
"""An answer leaves this long before the caller's deadline, so that it still arrives."""
FIRST_MESSAGE_SECONDS: Final = 1.0
"""A stream that is refused at its beginning ends at the latest after this time, also if its client sends nothing."""


class Method:
    """One RPC: `service` and `name` as in the proto, `kind` as in the `grpc_type` label, and its counters. `logged` is
    False for what probes and tools ask all the time."""

    __slots__ = (
        *("_handled", "handling", "kind", "logged", "name", "path"),
        *("received", "sent", "service", "started", "streams"),
    )

    def __init__(self, service: str, name: str, kind: str) -> None:
        self.service, self.name, self.kind = service, name, kind
        self.path = f"/{service}/{name}"
        self.logged = not service.startswith("grpc.")
        labels = (kind, service, name)
        self.started = metrics.grpc_started.labels(*labels)
        self.handling = metrics.grpc_handling_seconds.labels(*labels)
        self.received = metrics.grpc_received.labels(*labels)
        self.sent = metrics.grpc_sent.labels(*labels)
        self.streams = metrics.open_streams.labels(name)
        self._handled: dict[str, Any] = {}

    def ended(self, code: str) -> None:
        if (handled := self._handled.get(code)) is None:
            labels = (self.kind, self.service, self.name, code)
            handled = self._handled[code] = metrics.grpc_handled.labels(*labels)
        handled.inc()

    def __repr__(self) -> str:
        return f"Method({self.path})"


Guard = Callable[[Method, Context], Awaitable[None]]
"""Called before each handler, in the call's own task: what it binds to context variables, the handler sees. Refuses by
raising."""


Hold = Callable[[Method, Context], AbstractContextManager[None]]
"""Held as long as a stream or a long poll is open, after the guards. Refuses by raising when it is entered."""


class Gate(NamedTuple):
    """What a call has to pass: `guards` at its beginning, `each` with each message of a stream, `holds` as long as
    it is open."""

    guards: Sequence[Guard] = ()
    each: Sequence[Guard] = ()
    holds: Sequence[Hold] = ()


def kind_of(handler: Any) -> str:
    return {
        (False, False): "unary",
        (False, True): "server_stream",
        (True, False): "client_stream",
        (True, True): "bidi_stream",
    }[(bool(handler.request_streaming), bool(handler.response_streaming))]


def wrap(
    method: Method, handler: Any, gate: Gate, limit_seconds: float, limit_bytes: int
) -> grpc.RpcMethodHandler[Any, Any]:
    """The handler that the gRPC server gets; `limit_bytes` is for each message of a client. Raises TypeError for one
    that is neither a coroutine function nor, where it streams, an async generator. A method that its servicer does not
    have is refused as NOT_AVAILABLE_YET."""
    decode, encode = _bounded(handler.request_deserializer, limit_bytes), _encoder(handler.response_serializer)
    inner = _inner(method, handler)
    if handler.response_streaming:
        call = _streaming(method, inner, gate, decode, encode)
        if handler.request_streaming:
            return grpc.stream_stream_rpc_method_handler(call)
        return grpc.unary_stream_rpc_method_handler(call)
    call = _answering(method, inner, gate, decode, encode, limit_seconds)
    if handler.request_streaming:
        return grpc.stream_unary_rpc_method_handler(call)
    return grpc.unary_unary_rpc_method_handler(call)


def _inner(method: Method, handler: Any) -> Any:
    """The servicer's own function behind a generated handler."""
    inner = handler.unary_unary or handler.unary_stream or handler.stream_unary or handler.stream_stream
    if getattr(inner, "__module__", "").endswith("_pb2_grpc"):  # the generated base's, which only raises
        return _not_offered_stream(method) if handler.response_streaming else _not_offered(method)
    if handler.response_streaming and not inspect.isasyncgenfunction(inner):
        raise TypeError(f"{method.path}: a streaming handler is an async generator")
    if not handler.response_streaming and not inspect.iscoroutinefunction(inner):
        raise TypeError(f"{method.path}: a handler is a coroutine function")
    return inner


def _not_offered(method: Method) -> Any:
    async def refuse(request: Any, context: Context) -> None:
        raise Refused("NOT_AVAILABLE_YET", method=method.path)

    return refuse


def _not_offered_stream(method: Method) -> Any:
    async def refuse(request: Any, context: Context) -> AsyncIterator[bytes]:
        raise Refused("NOT_AVAILABLE_YET", method=method.path)
        yield b""

    return refuse


def _answering(method: Method, inner: Any, gate: Gate, decode: Any, encode: Any, limit_seconds: float) -> Any:
    async def passed(incoming: Any, context: Context) -> Any:
        with ExitStack() as held:
            await _pass(gate, method, context, incoming, held)
            request = _incoming(method, incoming, decode)
            with traces().call(method.path, context.invocation_metadata() or ()):
                return await inner(request, context)

    async def answer(incoming: Any, context: Context) -> Any:
        async with _Observed(method, context):
            answered = encode(await _within(_time_for(context, limit_seconds), passed(incoming, context)))
            method.sent.inc()
            return answered

    return answer


def _streaming(method: Method, inner: Any, gate: Gate, decode: Any, encode: Any) -> Any:
    async def stream(incoming: Any, context: Context) -> None:
        with method.streams.track_inprogress(), ExitStack() as held:
            async with _Observed(method, context):
                await _pass(gate, method, context, incoming, held)
                request = _incoming(method, incoming, decode)
                if gate.each and isinstance(request, _Requests):
                    request.guard(gate.each, context)
                async with aclosing(inner(request, context)) as messages:
                    async for message in messages:
                        await context.write(encode(message))
                        method.sent.inc()

    return stream


async def _pass(gate: Gate, method: Method, context: Context, incoming: Any, held: ExitStack) -> None:
    """`held` keeps the holds."""
    try:
        for guard in gate.guards:
            await guard(method, context)
        for hold in gate.holds:
            held.enter_context(hold(method, context))
    except Exception:
        if not isinstance(incoming, bytes):
            await _take_one(incoming)
        raise


async def _take_one(incoming: AsyncIterator[bytes]) -> None:
    """Takes the first message of a stream that is about to be refused: a client of grpc.aio whose write meets the end
    of its call reports INTERNAL instead of the status that it was sent."""
    with contextlib.suppress(TimeoutError, StopAsyncIteration):
        async with asyncio.timeout(FIRST_MESSAGE_SECONDS):
            await anext(incoming)


def _incoming(method: Method, incoming: Any, decode: Any) -> Any:
    if not isinstance(incoming, bytes):
        return _Requests(method, incoming, decode)
    method.received.inc()
    return decode(incoming)


class _Requests:
    """The messages of a streaming request, each counted and decoded when it is asked for."""

    def __init__(self, method: Method, incoming: AsyncIterator[bytes], decode: Any) -> None:
        self._method, self._incoming, self._decode = method, incoming, decode
        self._guards: Sequence[Guard] = ()

    def guard(self, each: Sequence[Guard], context: Context) -> None:
        """Runs these before each message is decoded."""
        self._guards, self._context = each, context

    def __aiter__(self) -> _Requests:
        return self

    async def __anext__(self) -> Any:
        raw = await self._incoming.__anext__()
        for guard in self._guards:
            await guard(self._method, self._context)
        self._method.received.inc()
        return self._decode(raw)


def _bounded(decode: Any, limit_bytes: int) -> Callable[[bytes], Any]:
    """Reads messages up to this size. gRPC's own limit is higher, since what it refuses gets no reason."""

    def read(raw: bytes) -> Any:
        if len(raw) > limit_bytes:
            raise Refused("MESSAGE_TOO_LARGE", limit_bytes=limit_bytes)
        return decode(raw)

    return read


def _encoder(serialize: Any) -> Callable[[Any], bytes]:
    return lambda message: message if isinstance(message, bytes) else serialize(message)


def _time_for(context: Context, limit_seconds: float) -> float:
    """Seconds for a unary call: the server's limit, or what is left of the caller's deadline minus the way back."""
    left = context.time_remaining()
    return limit_seconds if left is None else min(limit_seconds, max(left - DEADLINE_MARGIN_SECONDS, 0.01))


async def _within(seconds: float, answer: Awaitable[Any]) -> Any:
    try:
        async with asyncio.timeout(seconds) as bound:
            return await answer
    except TimeoutError:
        if bound.expired():
            raise Refused("OUTCOME_UNKNOWN") from None
        raise


class _Observed:
    """Counts, logs and, when the handler raises, answers one RPC."""

    __slots__ = ("_began", "_context", "_method")

    def __init__(self, method: Method, context: Context) -> None:
        self._method, self._context = method, context

    async def __aenter__(self) -> None:
        self._began = time.perf_counter()
        self._method.started.inc()

    async def __aexit__(self, _: Any, error: BaseException | None, __: TracebackType | None) -> None:
        if error is None:
            self._ended("OK")
        elif isinstance(error, grpc.aio.AbortError):
            code: Any = self._context.code()
            self._ended(code.name if isinstance(code, grpc.StatusCode) else _code_name(code))
        elif isinstance(error, (asyncio.CancelledError, GeneratorExit)) or _client_is_gone(error):
            self._ended("CANCELLED")
        elif isinstance(error, Exception):
            await self._refuse(error)

    async def _refuse(self, error: Exception) -> None:
        answer = answer_of(error)
        if answer is None:
            log.error("handler failed", method=self._method.path, exc_info=error)
            answer = Refused("INTERNAL").to_answer()
        self._ended(answer.code.name, answer.reason)
        _refusals(answer.reason or "NONE").inc()
        await self._context.abort(answer.code, answer.message, ((GRPC_DETAILS_METADATA_KEY, answer.details),))

    def _ended(self, code: str, reason: str = "") -> None:
        took = time.perf_counter() - self._began
        self._method.handling.observe(took)
        self._method.ended(code)
        # The counter of refusals tells of a flood; a line for each of its calls would fill disks.
        level = "info" if self._method.logged and reason != "RATE_LIMITED" else "debug"
        if is_written(level):
            fields = {"reason": reason} if reason else {}
            getattr(log, level)("call", method=self._method.path, code=code, ms=round(took * 1e3, 2), **fields)


@functools.cache
def _refusals(reason: str) -> Any:
    """The counter of a reason, of which the catalogue has a limited number."""
    return metrics.refusals.labels(reason)


def _code_name(number: int) -> str:
    return next((code.name for code in grpc.StatusCode if code.value[0] == number), "UNKNOWN")


def _client_is_gone(error: BaseException) -> bool:
    """A write to a dead client ends in one of these instead of a cancellation."""
    return isinstance(error, (ExecuteBatchError, UsageError))
