"""The one table of refusals: reason, gRPC status code, sentence and metadata keys, read from `errors.proto` itself.

A refusal is an exception on its way to a caller: `to_status` makes the status of a unary call or of a stream's end,
`to_refusal_message` the answer on a stream. Exceptions of the layers below become refusals in `refusal_of`; the
layers that this package may not import (the store) are added with `register`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from google.rpc import error_details_pb2, status_pb2
from grpc import StatusCode
from maumau.v1 import authority_pb2, errors_pb2

from services.rules.reasons import IllegalAction
from services.rules.room.reasons import RoomRefusal
from services.rules.ruleset import RulesetError
from services.wire.shown import shown

DOMAIN: Final = "maumau"
_PREFIX: Final = "ERROR_REASON_"

RETRY_AFTER: Final = 1.0
"""Seconds after which to try again where something passes by itself and nothing better is known."""
_PASSES: Final = frozenset({"RATE_LIMITED", "SERVER_FULL"})
"""Reasons that pass by themselves though their code is not UNAVAILABLE."""


class Description(NamedTuple):
    """What the catalogue says of a reason; `metadata` lists the keys that may come with it."""

    code: StatusCode
    sentence: str
    metadata: tuple[str, ...]


class Answer(NamedTuple):
    """What gRPC sends for a refusal: `details` is the status with its details, in bytes."""

    code: StatusCode
    reason: str
    message: str
    details: bytes


class Violation(NamedTuple):
    """A field of the request, by path (`action.play.card`), and one sentence that says what is wrong with it."""

    field: str
    sentence: str


def _catalogue() -> dict[str, Description]:
    found = {}
    for value in errors_pb2.ErrorReason.DESCRIPTOR.values:
        described = value.GetOptions().Extensions[errors_pb2.description]
        if value.number:
            code = StatusCode[described.code]
            found[value.name.removeprefix(_PREFIX)] = Description(code, described.sentence, tuple(described.metadata))
    return found


CATALOGUE: Final[Mapping[str, Description]] = MappingProxyType(_catalogue())
"""Every reason of `errors.proto`, by its name without prefix."""


class Refusal(Exception):  # noqa: N818 - a refusal, not a fault
    """Why a caller does not get what was asked for. `reason` is a name of the catalogue; `retry_after` seconds, by
    default 1 where the reason passes by itself.

    Raises LookupError for a reason or a metadata key that the catalogue does not have: a mistake of the caller of this
    class. Values are made printable and cut at 100 characters."""

    def __init__(
        self,
        reason: str,
        metadata: Mapping[str, object] | None = None,
        violations: Iterable[Violation] = (),
        retry_after: float | None = None,
    ) -> None:
        super().__init__(reason)
        described = CATALOGUE[reason]
        self.reason = reason
        self.code = described.code
        self.sentence = described.sentence
        self.metadata: dict[str, str] = {key: shown(value) for key, value in (metadata or {}).items()}
        if unknown := self.metadata.keys() - set(described.metadata):
            raise LookupError(f"the catalogue has no metadata {sorted(unknown)} for {reason}")
        self.violations = tuple(violations)
        passes = self.code is StatusCode.UNAVAILABLE or reason in _PASSES
        self.retry_after = RETRY_AFTER if retry_after is None and passes else retry_after
        self._answer: Answer | None = None

    def again(self) -> Refusal:
        """The same for one more call, since an exception belongs to the call that it ends. What it answers is made only
        once, which is most of what a refusal costs."""
        self.to_answer()
        other = Refusal.__new__(Refusal, self.reason)
        other.__dict__.update(self.__dict__)
        return other

    def to_answer(self) -> Answer:
        """The status as it is sent."""
        if self._answer is None:
            status = self.to_status()
            self._answer = Answer(self.code, self.reason, status.message, status.SerializeToString())
        return self._answer

    def to_status(self) -> status_pb2.Status:
        """The status with ErrorInfo, and BadRequest and RetryInfo where there is something to say."""
        status = status_pb2.Status(code=self.code.value[0], message=self.message)
        info = error_details_pb2.ErrorInfo(reason=self.reason, domain=DOMAIN, metadata=self.metadata)
        status.details.add().Pack(info, deterministic=True)  # the same refusal is the same bytes
        if self.violations:
            bad_request = error_details_pb2.BadRequest()
            for field, sentence in self.violations:
                bad_request.field_violations.add(field=field, description=sentence)
            status.details.add().Pack(bad_request)
        if self.retry_after is not None:
            retry = error_details_pb2.RetryInfo()
            retry.retry_delay.FromNanoseconds(round(self.retry_after * 1e9))
            status.details.add().Pack(retry)
        return status

    def to_refusal_message(self) -> authority_pb2.Refusal:
        """The same for an answer on a stream."""
        return authority_pb2.Refusal(
            code=self.code.value[0],
            reason=self.reason,
            message=self.message,
            metadata=self.metadata,
            retry_after_milliseconds=round((self.retry_after or 0) * 1000),
        )

    @property
    def message(self) -> str:
        """The catalogue's sentence, followed by what is wrong with which field."""
        return " ".join([self.sentence, *(f"{field}: {sentence}" for field, sentence in self.violations)])


def refusal(reason: str, *, retry_after: float | None = None, **metadata: object) -> Refusal:
    """A refusal with this reason of the catalogue: `refusal("STALE", version=7, began=9, subject="turn")`."""
    return Refusal(reason, metadata, retry_after=retry_after)


def invalid_field(field: str, value: object, expected: str) -> Refusal:
    """INVALID_FIELD for the field with this path; `expected` says what would be right."""
    return _about_field("INVALID_FIELD", field, value, expected, {"field": field})


def _about_field(reason: str, field: str, value: object, expected: str, keys: Mapping[str, object]) -> Refusal:
    """A refusal whose metadata are `keys`, the value and what was expected."""
    violation = Violation(field, f"got {shown(value) or 'nothing'}; expected {expected}.")
    return Refusal(reason, {**keys, "value": value, "expected": expected}, [violation])


# Exceptions of other layers.

Translator = Callable[[Any], Refusal]


def _from_rules(error: IllegalAction | RoomRefusal) -> Refusal:
    """Only what the catalogue lists is told, so that nothing hidden can slip through a refusal."""
    reason = error.reason.name
    known = CATALOGUE[reason].metadata
    metadata = {key: value for key, value in error.metadata.items() if key in known}
    if reason == "INVALID_FIELD":
        return invalid_field(metadata["field"], metadata.get("value", ""), metadata["expected"])
    return Refusal(reason, metadata)


def _from_ruleset(error: RulesetError) -> Refusal:
    if error.reason == "UNKNOWN_RULESET":
        return _about_field(error.reason, "ruleset.preset", error.value, error.expected, {})
    path = ", ".join(f"ruleset.options[{shown(key)}]" for key in error.keys)
    return _about_field(error.reason, path, error.value, error.expected, {"option": ", ".join(error.keys)})


_translators: dict[type[Exception], Translator] = {
    Refusal: lambda refusal: refusal,
    IllegalAction: _from_rules,
    RoomRefusal: _from_rules,
    RulesetError: _from_ruleset,
}


def register(kind: type[Exception], translator: Translator) -> None:
    """Declare what becomes of an exception of a layer that this package does not know, and of its subclasses."""
    _translators[kind] = translator


def refusal_of(error: Exception) -> Refusal | None:
    """The refusal that an exception stands for; None where nobody foresaw it, which is the server's own mistake.
    Raises LookupError for a reason that the catalogue does not have."""
    for kind in type(error).__mro__:
        if kind in _translators:
            return _translators[kind](error)
    return None
