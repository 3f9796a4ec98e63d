"""One gRPC server on one port, with the options of facts measured for this server, and the harness around each call.

A process has two: the public port serves clients, the internal port serves other services and probes.

    port.add(add_ScoringServiceServicer_to_server, ScoringService(store))
    port.guard(policy.check)      # before each handler; refuses by raising
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar, cast

import grpc

from services.runtime import reflection
from services.runtime.calls import Context, Gate, Guard, Hold, Method, kind_of, wrap
from services.runtime.errors import Refused
from services.runtime.health import HEALTH
from services.runtime.routes import LONG_POLLS
from services.runtime.settings import Settings

Servicer = TypeVar("Servicer")

TOOLS: Final = frozenset({HEALTH, reflection.V1, reflection.V1ALPHA})
"""Services without a policy of their own: open to everybody, also while the process stops."""

UNREAD_AT: Final = 4
"""Times the size limit at which gRPC itself ends a call, unread and without a reason."""

INTERNAL_MESSAGE_BYTES: Final = 1 << 20
"""Largest message between services, whatever clients may send: room for a chunk of a log, or a whole result."""


class PortInUseError(OSError):
    """A port cannot be opened; the text names it."""


def server_options(settings: Settings, message_bytes: int) -> list[tuple[str, int]]:
    """gRPC's channel arguments. No max_connection_age: behind Envoy it would end many clients' streams at once."""
    alive, dead = round(settings.keepalive_seconds * 1e3), round(settings.keepalive_timeout_seconds * 1e3)
    return [
        # The probe sends each client pings that cost as much as messages, to receive large ones faster; none are.
        ("grpc.http2.bdp_probe", 0),
        ("grpc.so_reuseport", 0),  # a forgotten process must not share the port in silence
        ("grpc.max_receive_message_length", message_bytes * UNREAD_AT),
        ("grpc.max_metadata_size", settings.max_metadata_bytes),
        ("grpc.absolute_max_metadata_size", settings.max_metadata_bytes * 2),
        ("grpc.max_concurrent_streams", settings.max_connection_streams),
        ("grpc.server.max_pending_requests", settings.max_requests),
        ("grpc.server.max_pending_requests_hard_limit", settings.max_requests),
        ("grpc.keepalive_time_ms", alive),
        ("grpc.keepalive_timeout_ms", dead),
        ("grpc.http2.ping_timeout_ms", dead),  # without it a frozen client is found after 60 s
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.http2.min_recv_ping_interval_without_data_ms", 4_000),  # polite clients are not "too_many_pings"
        ("grpc.http2.max_ping_strikes", 10),
    ]


class ServerPort:
    """A server that is not started yet; `start` opens its port. `service_names` are the services added so far. Messages
    have `message_bytes` at most."""

    def __init__(self, settings: Settings, message_bytes: int) -> None:
        self._limits = settings.call_limit_seconds, message_bytes
        self._server = grpc.aio.server(
            options=server_options(settings, message_bytes), handlers=[_Unknown(message_bytes)]
        )
        self._guards: list[Guard] = [self._refuse_while_stopping]
        self._tool_guards: list[Guard] = []
        self._holds: list[Hold] = []
        self._stopping = False
        self.service_names: list[str] = []
        self.methods: list[Method] = []
        self.number = 0

    def add(self, register: Callable[[Servicer, grpc.aio.Server], None], servicer: Servicer) -> None:
        """Adds a service by its generated `add_…Servicer_to_server`. Raises TypeError for a handler of a wrong kind."""
        register(servicer, cast(grpc.aio.Server, _Registrar(self._add)))

    def guard(self, check: Guard, *, tools: bool = False) -> None:
        """Runs `check` before the handlers of all services but health and reflection, in the order added; with `tools`
        before theirs too, and there before each message of a stream."""
        self._guards.append(check)
        if tools:
            self._tool_guards.append(check)

    def hold(self, held: Hold) -> None:
        """Holds this for each open stream and long poll, of all services."""
        self._holds.append(held)

    def _add(self, service: str, handlers: Mapping[str, Any]) -> None:
        guards, each = (self._tool_guards, self._tool_guards) if service in TOOLS else (self._guards, ())
        wrapped = {}
        for name, handler in handlers.items():
            method = Method(service, name, kind_of(handler))
            self.methods.append(method)
            stays = handler.response_streaming or method.path in LONG_POLLS
            gate = Gate(guards, each, self._holds if stays else ())
            wrapped[name] = wrap(method, handler, gate, *self._limits)
        self._server.add_registered_method_handlers(service, wrapped)
        self.service_names.append(service)

    async def start(self, host: str, port: int, credentials: grpc.ServerCredentials | None = None) -> int:
        """Opens the port and returns its number. Raises `PortInUseError`."""
        address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        try:
            if credentials is None:
                self.number = self._server.add_insecure_port(address)
            else:
                self.number = self._server.add_secure_port(address, credentials)
        except RuntimeError as error:
            raise PortInUseError(
                f"{address} cannot be opened: another process listens there, or it is not ours"
            ) from error
        await self._server.start()
        return self.number

    def refuse_new_calls(self) -> None:
        """From now on every new call is answered STOPPING; open ones go on."""
        self._stopping = True

    async def stop(self, grace_seconds: float) -> None:
        """Closes the port, lets open calls end for `grace_seconds`, then cancels them."""
        await self._server.stop(grace_seconds)

    async def _refuse_while_stopping(self, method: Method, context: Context) -> None:
        if self._stopping:
            raise Refused("STOPPING")


class _Registrar:
    """Stands in for the server while generated code adds its handlers."""

    def __init__(self, add: Callable[[str, Mapping[str, Any]], None]) -> None:
        self.add_registered_method_handlers = add

    def add_generic_rpc_handlers(self, handlers: object) -> None:
        """The same handlers come by name too."""


class _Unknown(grpc.GenericRpcHandler):
    """Answers calls that no service has, with a reason, under one label for all of them."""

    def __init__(self, limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self._method = Method("unknown", "unknown", "bidi_stream")

    def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler[Any, Any]:
        path = str(details.method)

        async def refuse(requests: Any, context: Context) -> Any:
            raise Refused("UNKNOWN_METHOD", method=path)
            yield b""

        handler = grpc.stream_stream_rpc_method_handler(refuse, bytes, bytes)
        return wrap(self._method, handler, Gate(), 0, self._limit_bytes)
