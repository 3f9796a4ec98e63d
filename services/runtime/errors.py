"""From any exception to the `google.rpc.Status` that the caller gets.

An exception that knows its status has a method `to_status()` (services.wire.errors.Refusal); exceptions of other
layers are registered with `translates`. Anything else is the server's own mistake: INTERNAL without details, the
traceback in the log.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Protocol, runtime_checkable

from google.protobuf.message import DecodeError
from google.rpc import error_details_pb2, status_pb2
from grpc import StatusCode
from maumau.v1 import errors_pb2

DOMAIN: Final = "maumau"
RETRY_AFTER_SECONDS: Final = 1
"""What RetryInfo asks for when the server cannot know better."""

_CODES: Final = {code.value[0]: code for code in StatusCode}


@runtime_checkable
class HasStatus(Protocol):
    """An exception that says itself what the caller gets."""

    def to_status(self) -> status_pb2.Status: ...


Translator = Callable[[Any], status_pb2.Status]
_translators: dict[type[Exception], Translator] = {}


def translates(kind: type[Exception], translator: Translator) -> None:
    """Declares what callers get when a handler raises `kind` or a subclass of it, e.g. the store's exceptions."""
    _translators[kind] = translator


def status(reason: str, **metadata: str) -> status_pb2.Status:
    """The status of a catalogue reason (`errors.proto`, without prefix): code, sentence, ErrorInfo, and RetryInfo if
    the code is UNAVAILABLE."""
    value = errors_pb2.ErrorReason.DESCRIPTOR.values_by_name[f"ERROR_REASON_{reason}"]
    described = value.GetOptions().Extensions[errors_pb2.description]
    answer = status_pb2.Status(code=StatusCode[described.code].value[0], message=described.sentence)
    answer.details.add().Pack(error_details_pb2.ErrorInfo(reason=reason, domain=DOMAIN, metadata=metadata))
    if described.code == StatusCode.UNAVAILABLE.name:
        retry = error_details_pb2.RetryInfo()
        retry.retry_delay.seconds = RETRY_AFTER_SECONDS
        answer.details.add().Pack(retry)
    return answer


class Refused(Exception):  # noqa: N818 - a refusal, not a fault
    """A refusal by the runtime itself, with a reason of the catalogue."""

    def __init__(self, reason: str, **metadata: str) -> None:
        super().__init__(reason)
        self._status = status(reason, **metadata)

    def to_status(self) -> status_pb2.Status:
        return self._status


def to_status(error: Exception) -> status_pb2.Status | None:
    """What the caller gets for `error`; None when nobody foresaw it."""
    if isinstance(error, HasStatus):
        return error.to_status()
    for kind in type(error).__mro__:
        if kind in _translators:
            return _translators[kind](error)
    return None


def code_of(answer: status_pb2.Status) -> StatusCode:
    return _CODES.get(answer.code, StatusCode.UNKNOWN)


def reason_of(answer: status_pb2.Status) -> str:
    """The reason in the status's ErrorInfo, or an empty string."""
    info = error_details_pb2.ErrorInfo()
    for detail in answer.details:
        if detail.Unpack(info):
            return str(info.reason)
    return ""


translates(DecodeError, lambda _: status("UNREADABLE"))
