"""Calls from one service to another: the channel, its credential, its retries, and what becomes of a refusal.

Every internal RPC may be repeated, so UNAVAILABLE is tried again by gRPC itself. A refusal that the other service gave
for a reason of the catalogue goes to the caller as it is; anything else becomes SERVICE_UNAVAILABLE or OUTCOME_UNKNOWN.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

import grpc
from google.rpc import status_pb2
from grpc_status import rpc_status

from services.runtime.auth import service_credential
from services.runtime.errors import Refused, reason_of
from services.runtime.renewing import RenewingChannel
from services.runtime.server import INTERNAL_MESSAGE_BYTES
from services.runtime.settings import Settings
from services.runtime.tls import MUTUAL, Certificate, TlsFolder, channel_credentials
from services.runtime.traces import traces

ATTEMPTS: Final = 4
SERVICE_CONFIG: Final = json.dumps(
    {
        "loadBalancingConfig": [{"round_robin": {}}],
        "methodConfig": [
            {
                "name": [{}],
                "retryPolicy": {
                    "maxAttempts": ATTEMPTS,
                    "initialBackoff": "0.1s",
                    "maxBackoff": "1s",
                    "backoffMultiplier": 2,
                    "retryableStatusCodes": ["UNAVAILABLE"],
                },
            }
        ],
    }
)
CREDENTIAL_REASONS: Final = frozenset({"NOT_SIGNED_IN", "BAD_TOKEN", "NOT_ALLOWED", "UNKNOWN_METHOD"})
"""Refusals of our own call: a fault of the set-up, not something the player could mend."""


class PassedOn(Exception):  # noqa: N818 - a refusal, not a fault
    """A refusal of another service, for the caller as it is."""

    def __init__(self, status: status_pb2.Status) -> None:
        super().__init__(reason_of(status))
        self._status = status

    @property
    def reason(self) -> str:
        """Its reason in the catalogue, without prefix."""
        return reason_of(self._status)

    def to_status(self) -> status_pb2.Status:
        return self._status


def internal_channel(
    settings: Settings, target: str, credential: tuple[str, str] | None = None, *, server_name: str | None = None
) -> grpc.aio.Channel:
    """A channel to the internal port of another service. It shows this server's credential with every call, or the one
    given. `server_name` is what the certificate says where the target does not. With mutual TLS it takes renewed
    certificates on. Raises `TlsFolderError`."""
    credential = credential or service_credential(settings)
    options = [
        ("grpc.service_config", SERVICE_CONFIG),
        ("grpc.enable_retries", 1),
        ("grpc.max_receive_message_length", INTERNAL_MESSAGE_BYTES),
        ("grpc.keepalive_time_ms", round(settings.keepalive_seconds * 1e3)),
        ("grpc.keepalive_timeout_ms", round(settings.keepalive_timeout_seconds * 1e3)),
    ]
    if server_name is not None:
        options.append(("grpc.ssl_target_name_override", server_name))
    shows = (_ShowUnary, _ShowStream, _ShowAnswers)
    interceptors: list[grpc.aio.ClientInterceptor] = [show(credential) for show in shows]
    if settings.internal_tls_dir is None:
        return grpc.aio.insecure_channel(target, options=options, interceptors=interceptors)

    def opens(certificate: Certificate) -> grpc.aio.Channel:
        credentials = channel_credentials(certificate)
        return grpc.aio.secure_channel(target, credentials, options=options, interceptors=interceptors)

    return RenewingChannel(TlsFolder(settings.internal_tls_dir, MUTUAL), opens)


def passed_on(error: grpc.aio.AioRpcError, service: str) -> Exception:
    """What a handler raises when its call to `service` failed: `raise passed_on(error, "scoring") from error`."""
    status = status_of(error)
    reason = reason_of(status) if status is not None else ""
    if status is not None and reason and reason not in CREDENTIAL_REASONS:
        return PassedOn(status)
    if reason:
        return RuntimeError(f"{service} refused this service itself: {reason}")
    if error.code() in (grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.CANCELLED):
        return Refused("OUTCOME_UNKNOWN")
    return Refused("SERVICE_UNAVAILABLE", service=service)


def status_of(error: grpc.aio.AioRpcError) -> status_pb2.Status | None:
    """The status with its reason, where a service gave one."""
    try:
        return rpc_status.from_call(error)
    except ValueError:
        return None


class _Show:
    def __init__(self, credential: tuple[str, str]) -> None:
        self._credential = credential

    def _with_credential(self, details: grpc.aio.ClientCallDetails) -> grpc.aio.ClientCallDetails:
        metadata = details.metadata if details.metadata is not None else grpc.aio.Metadata()
        metadata.add(*self._credential)
        for key, value in traces().metadata():
            metadata.add(key, value)
        return grpc.aio.ClientCallDetails(
            details.method, details.timeout, metadata, details.credentials, details.wait_for_ready
        )


class _ShowUnary(_Show, grpc.aio.UnaryUnaryClientInterceptor):
    async def intercept_unary_unary(self, continuation: Callable[..., Any], details: Any, request: Any) -> Any:
        return await continuation(self._with_credential(details), request)


class _ShowAnswers(_Show, grpc.aio.UnaryStreamClientInterceptor):
    async def intercept_unary_stream(self, continuation: Callable[..., Any], details: Any, request: Any) -> Any:
        return await continuation(self._with_credential(details), request)


class _ShowStream(_Show, grpc.aio.StreamUnaryClientInterceptor):
    async def intercept_stream_unary(self, continuation: Callable[..., Any], details: Any, requests: Any) -> Any:
        return await continuation(self._with_credential(details), requests)
