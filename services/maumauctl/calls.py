"""Calls of the operator to the services, and what becomes of a refusal."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import grpc
from google.rpc import error_details_pb2
from maumau.internal.v1.operator_pb2_grpc import OperatorServiceStub
from maumau.internal.v1.process_pb2_grpc import ProcessServiceStub

from services.maumauctl.place import Address, credential, target_of
from services.runtime.channels import internal_channel, status_of
from services.runtime.errors import reason_of
from services.runtime.settings import Settings

LIMIT_SECONDS: Final = 30.0


class Refused(Exception):  # noqa: N818 - an answer, not a fault
    """A service, or this command itself, refuses what was asked. `reason` is one of the catalogue of errors."""

    def __init__(self, reason: str, sentence: str, metadata: dict[str, str] | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.sentence = sentence
        self.metadata = metadata or {}


class Unreachable(Exception):  # noqa: N818 - an answer, not a fault
    """Nobody answers, or not in time."""

    def __init__(self, where: str, detail: str) -> None:
        super().__init__(f"{where} cannot be reached: {detail}")


class Services:
    """Channels to the services, each opened when it is first used. Use with `async with`."""

    def __init__(self, settings: Settings, credential_file: Path | None) -> None:
        """Raises `KeyFolderError` without a credential."""
        self._settings = settings
        self._credential = credential(settings, credential_file)
        self._channels: dict[str, grpc.aio.Channel] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None
    ) -> None:
        for channel in self._channels.values():
            await channel.close()

    def operator(self, service: str) -> OperatorServiceStub:
        """What this service does for the operator."""
        return OperatorServiceStub(self._channel(target_of(self._settings, service), None))

    def process(self, address: Address) -> ProcessServiceStub:
        """One process."""
        return ProcessServiceStub(self._channel(address.text, address.server_name))

    def _channel(self, target: str, server_name: str | None) -> grpc.aio.Channel:
        if target not in self._channels:
            self._channels[target] = internal_channel(self._settings, target, self._credential, server_name=server_name)
        return self._channels[target]


async def call(method: Callable[..., Any], request: Any) -> Any:
    """The answer. Raises `Refused` and `Unreachable`."""
    try:
        return await method(request, timeout=LIMIT_SECONDS)
    except grpc.aio.AioRpcError as error:
        raise _explained(error, request) from None


async def stream(method: Callable[..., Any], request: Any) -> AsyncIterator[Any]:
    """The answers of a call that streams them. Raises `Refused` and `Unreachable`."""
    try:
        async for answer in method(request):
            yield answer
    except grpc.aio.AioRpcError as error:
        raise _explained(error, request) from None


def _explained(error: grpc.aio.AioRpcError, request: Any) -> Exception:
    status = status_of(error)
    reason = "" if status is None else reason_of(status)
    if status is None or not reason:
        return Unreachable(type(request).__name__.removesuffix("Request"), f"{error.code().name} {error.details()}")
    info = error_details_pb2.ErrorInfo()
    for detail in status.details:
        if detail.Unpack(info):
            break
    return Refused(reason, status.message, dict(info.metadata))
