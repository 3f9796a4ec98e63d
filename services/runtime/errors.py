"""From any exception to the `google.rpc.Status` that the caller gets.

The catalogue and its table are services.wire.errors. Here is what the runtime adds: exceptions that bring their status
along (`to_status()`), exceptions of the store and of libraries (`translates`), and the rule for the rest: what nobody
foresaw is the server's own mistake, INTERNAL without details, its traceback in the log.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Protocol, runtime_checkable

from google.protobuf.message import DecodeError
from google.rpc import error_details_pb2, status_pb2
from grpc import StatusCode

from services.wire.errors import Answer, Refusal, refusal_of

_CODES: Final = {code.value[0]: code for code in StatusCode}


class Refused(Refusal):
    """A refusal by name: `Refused("UNKNOWN_METHOD", method="/x/Y")`. What passes by itself asks to try again in a
    second."""

    def __init__(self, reason: str, **metadata: object) -> None:
        super().__init__(reason, metadata)


def status(reason: str, **metadata: object) -> status_pb2.Status:
    """The status of a catalogue reason, as `Refused` has it."""
    return Refused(reason, **metadata).to_status()


@runtime_checkable
class HasStatus(Protocol):
    """An exception that says itself what the caller gets."""

    def to_status(self) -> status_pb2.Status: ...


Translator = Callable[[Any], status_pb2.Status]
_translators: dict[type[Exception], Translator] = {DecodeError: lambda _: status("UNREADABLE")}


def translates(kind: type[Exception], translator: Translator) -> None:
    """Declares what callers get when a handler raises `kind` or a subclass of it, e.g. the store's exceptions."""
    _translators[kind] = translator


def to_status(error: Exception) -> status_pb2.Status | None:
    """What the caller gets for `error`; None when nobody foresaw it."""
    if isinstance(error, HasStatus):
        return error.to_status()
    for kind in type(error).__mro__:
        if kind in _translators:
            return _translators[kind](error)
    refused = refusal_of(error)
    return None if refused is None else refused.to_status()


def answer_of(error: Exception) -> Answer | None:
    """The same as it is sent."""
    if isinstance(error, Refusal):
        return error.to_answer()
    found = to_status(error)
    if found is None:
        return None
    code = _CODES.get(found.code, StatusCode.UNKNOWN)
    return Answer(code, reason_of(found), found.message, found.SerializeToString())


def reason_of(answer: status_pb2.Status) -> str:
    """The reason in the status's ErrorInfo, or an empty string."""
    info = error_details_pb2.ErrorInfo()
    for detail in answer.details:
        if detail.Unpack(info):
            return str(info.reason)
    return ""
