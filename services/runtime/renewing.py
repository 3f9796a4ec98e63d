"""A channel by mutual TLS that outlives its certificate: gRPC binds a channel to the one it was made with.

Each call looks whether the folder holds another; then a new channel takes the calls from there on, and the last one is
closed when its own have ended.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final, Self

import grpc

from services.runtime.tls import Certificate, TlsFolder

LAST_CALLS_SECONDS: Final = 120.0
"""Longer than any call between services may take."""

Opens = Callable[[Certificate], grpc.aio.Channel]


class RenewingChannel(grpc.aio.Channel):
    """Opened by `opens` with the certificate of `folder`, and again with each later one."""

    def __init__(self, folder: TlsFolder, opens: Opens) -> None:
        self._folder, self._opens = folder, opens
        self._channel = opens(folder.certificate)
        self._made: dict[tuple[str, str], Any] = {}
        self._last: set[asyncio.Task[None]] = set()

    def unary_unary(self, method: str, *how: Any, **named: Any) -> Any:
        return self._calls("unary_unary", method, how, named)

    def unary_stream(self, method: str, *how: Any, **named: Any) -> Any:
        return self._calls("unary_stream", method, how, named)

    def stream_unary(self, method: str, *how: Any, **named: Any) -> Any:
        return self._calls("stream_unary", method, how, named)

    def stream_stream(self, method: str, *how: Any, **named: Any) -> Any:
        return self._calls("stream_stream", method, how, named)

    def _calls(self, kind: str, method: str, how: tuple[Any, ...], named: dict[str, Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            self._look()
            made = self._made.get((kind, method))
            if made is None:
                made = self._made[kind, method] = getattr(self._channel, kind)(method, *how, **named)
            return made(*arguments, **options)

        return call

    def _look(self) -> None:
        if not self._folder.renewed():
            return
        last, self._channel = self._channel, self._opens(self._folder.certificate)
        self._made.clear()
        task = asyncio.create_task(_close_later(last), name="last calls of a renewed channel")
        self._last.add(task)
        task.add_done_callback(self._last.discard)

    async def close(self, grace: float | None = None) -> None:
        for task in list(self._last):
            task.cancel()
        await asyncio.gather(self._channel.close(grace), *self._last, return_exceptions=True)

    def get_state(self, try_to_connect: bool = False) -> grpc.ChannelConnectivity:
        return self._channel.get_state(try_to_connect)

    async def wait_for_state_change(self, last_observed_state: grpc.ChannelConnectivity) -> None:
        await self._channel.wait_for_state_change(last_observed_state)

    async def channel_ready(self) -> None:
        await self._channel.channel_ready()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()


async def _close_later(channel: grpc.aio.Channel) -> None:
    try:
        await asyncio.sleep(LAST_CALLS_SECONDS)
    finally:
        await channel.close()
