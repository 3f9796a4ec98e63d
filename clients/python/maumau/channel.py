"""The connection: channel options and the shipped retry policy."""

from __future__ import annotations

from importlib import resources
from typing import Final

import grpc

from maumau.address import Place

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


class Channels:
    """The connections of one client: one, or one for each service where they have addresses of their own."""

    def __init__(self, place: Place, *, tls: bool = False) -> None:
        self._place = place
        self._tls = tls
        self._by_target: dict[str, grpc.aio.Channel] = {}

    def to(self, service: str) -> grpc.aio.Channel:
        """The channel to a gRPC service by its full name, for instance `maumau.v1.IdentityService`."""
        target = _target(self._place.routes.get(service) or (self._place.address,))
        if target not in self._by_target:
            self._by_target[target] = open_channel(target, tls=self._tls)
        return self._by_target[target]

    async def close(self) -> None:
        for channel in self._by_target.values():
            await channel.close()


def _target(addresses: tuple[str, ...]) -> str:
    """One gRPC target for equal processes: the next address is tried where one does not answer."""
    return addresses[0] if len(addresses) == 1 else "ipv4:" + ",".join(addresses)


def open_channel(target: str, *, tls: bool = False) -> grpc.aio.Channel:
    """A channel to `host:port` or any gRPC target. With `tls` the system's certificates are trusted."""
    if tls:
        return grpc.aio.secure_channel(target, grpc.ssl_channel_credentials(), options=channel_options())
    return grpc.aio.insecure_channel(target, options=channel_options())
