"""The connection: channel options and the shipped retry policy."""

from __future__ import annotations

from importlib import resources
from typing import Final

import grpc

_MAX_MESSAGE_BYTES: Final = 4 * 1024 * 1024
"""A page of a replay is the largest thing that a server sends."""


def service_config() -> str:
    """The gRPC service config that ships with this package, as JSON: retries on UNAVAILABLE alone, at most five
    attempts, throttled, for reads and for calls that carry a request id."""
    return resources.files("maumau").joinpath("service_config.json").read_text(encoding="utf-8")


def channel_options() -> list[tuple[str, str | int]]:
    """Options of every channel. A dead connection shows after 15 s at most."""
    return [
        ("grpc.service_config", service_config()),
        ("grpc.enable_retries", 1),
        ("grpc.keepalive_time_ms", 10_000),
        ("grpc.keepalive_timeout_ms", 5_000),
        ("grpc.http2.ping_timeout_ms", 5_000),  # without it a frozen server is noticed after a minute only
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.initial_reconnect_backoff_ms", 200),
        ("grpc.min_reconnect_backoff_ms", 1_000),
        ("grpc.max_reconnect_backoff_ms", 3_000),  # the default grows to two minutes
        ("grpc.max_receive_message_length", _MAX_MESSAGE_BYTES),
        ("grpc.use_local_subchannel_pool", 1),  # one connection a client, not one a process
        ("grpc.primary_user_agent", "maumau-python"),
    ]


def open_channel(address: str, *, tls: bool = False) -> grpc.aio.Channel:
    """A channel to `address` (`host:port`, or any gRPC target). With `tls` the system's certificates are trusted."""
    if tls:
        return grpc.aio.secure_channel(address, grpc.ssl_channel_credentials(), options=channel_options())
    return grpc.aio.insecure_channel(address, options=channel_options())
