"""Everything that a call of this package can raise.

    MaumauError
    ├── Refused           the server understood and said no; `reason` is a name of errors.proto
    │   ├── SignInNeeded  the session is missing, expired or not valid
    │   ├── RateLimited   too many calls; `retry_after` says when to try again
    │   ├── Stale         the action was decided before what it acts on began
    │   └── TakenOver     a newer stream plays the seat; nothing reconnects by itself after this
    ├── Unavailable       no answer in time; the outcome of what was sent may be unknown
    ├── HistoryChanged    the server lost data: what was being attempted belongs to a history that is gone
    ├── Unreadable        the server sent what contradicts itself, as a seat that the room does not have
    └── Closed            the client or the room was closed here

gRPC's own exceptions stay inside; one is at most the `__cause__`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import grpc
from google.rpc import error_details_pb2, status_pb2
from grpc_status import rpc_status

if TYPE_CHECKING:
    from maumau.v1 import authority_pb2, room_pb2

DOMAIN: Final = "maumau"
_CODE_NAMES: Final[dict[int, str]] = {code.value[0]: code.name for code in grpc.StatusCode}
_LOST_CODES: Final = frozenset({"UNAVAILABLE", "DEADLINE_EXCEEDED", "CANCELLED"})
_DROPPED_CODES: Final = _LOST_CODES | {"INTERNAL", "UNKNOWN"}


class MaumauError(Exception):
    """The base of all errors of this package."""


class Refused(MaumauError):  # noqa: N818 - a refusal, not a fault
    """The server said no and nothing changed.

    `reason` is a name of errors.proto without its prefix, empty where something else than the server answered; `code`
    the name of the gRPC status; `metadata` what the catalogue promises for the reason; `retry_after` seconds, None
    where the server stated none.
    """

    def __init__(
        self,
        reason: str,
        message: str = "",
        *,
        code: str = "UNKNOWN",
        metadata: Mapping[str, str] | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message or reason)
        self.reason = reason
        self.message = message
        self.code = code
        self.metadata = dict(metadata or {})
        self.retry_after = retry_after

    def __str__(self) -> str:
        named = ", ".join(f"{key} {value}" for key, value in sorted(self.metadata.items()))
        sentence = self.message or self.code
        return f"{self.reason or self.code}: {sentence}" + (f" ({named})" if named else "")


class SignInNeeded(Refused):
    """The session is missing, expired or not valid."""


class RateLimited(Refused):
    """Too many calls; `retry_after` says in seconds when to try again."""


class Stale(Refused):
    """The action was decided before the turn, debt or window began that it acts on: look again and decide anew."""


class TakenOver(Refused):
    """A newer stream of the same player plays the seat. Opening again would end that one, so nothing does by itself."""


class Unavailable(MaumauError):  # noqa: N818 - named for what is the case
    """No answer in time. With `outcome_unknown` the server may have accepted what was sent.

    `reason` is the server's own where it gave one (`STORE_UNAVAILABLE`, `STOPPING`, …), `retry_after` seconds."""

    def __init__(
        self, message: str, *, reason: str = "", retry_after: float | None = None, outcome_unknown: bool = False
    ) -> None:
        super().__init__(message)
        self.reason = reason
        self.retry_after = retry_after
        self.outcome_unknown = outcome_unknown


class HistoryChanged(MaumauError):  # noqa: N818 - named for what is the case
    """The server's data was rolled back while an action was under way; it belongs to a history that is gone.
    `view` is the room as it is now."""

    def __init__(self, view: room_pb2.RoomView) -> None:
        super().__init__(f"the history of room {view.room_id} changed; it is at version {view.version} now")
        self.view = view


class Unreadable(MaumauError):  # noqa: N818 - named for what is the case
    """The server sent something that cannot be so, as a seat that the room does not have: it is not of this contract.
    The text names what it was."""


class Closed(MaumauError):  # noqa: N818 - named for what is the case
    """The client or the room was closed on this side, or the room on the server's."""


_BY_REASON: Final[dict[str, type[Refused]]] = {
    "STALE": Stale,
    "TAKEN_OVER": TakenOver,
    "RATE_LIMITED": RateLimited,
    "NOT_SIGNED_IN": SignInNeeded,
    "BAD_TOKEN": SignInNeeded,
    "TOKEN_EXPIRED": SignInNeeded,
    "SESSION_ENDED": SignInNeeded,
    "BAD_REFRESH_TOKEN": SignInNeeded,
}


def make_error(
    code: str, reason: str, message: str, metadata: Mapping[str, str], retry_after: float | None
) -> MaumauError:
    """The error for a status, told apart by its reason and then by its code."""
    if reason not in _BY_REASON and code in _LOST_CODES:
        # A call that was cancelled or timed out on its way may have reached the store.
        unknown = code != "UNAVAILABLE" or reason not in {"STORE_UNAVAILABLE", "STOPPING", "SERVICE_UNAVAILABLE"}
        return Unavailable(message or code, reason=reason, retry_after=retry_after, outcome_unknown=unknown)
    kind = _BY_REASON.get(reason, Refused)
    return kind(reason, message, code=code, metadata=metadata, retry_after=retry_after)


def from_rpc_error(error: grpc.aio.AioRpcError) -> MaumauError:
    """The error for a failed call, from the `google.rpc.Status` in its trailers."""
    code = error.code().name
    message = error.details() or ""
    status = _status_of(error)
    if status is None:
        return make_error(code, "", message, {}, None)
    reason, metadata, retry_after = _read_details(status)
    return make_error(code, reason, status.message or message, metadata, retry_after)


def from_refusal(refusal: authority_pb2.Refusal) -> MaumauError:
    """The error for a refusal that came inside a stream."""
    retry_after = refusal.retry_after_milliseconds / 1000 if refusal.retry_after_milliseconds else None
    code = _CODE_NAMES.get(refusal.code, "UNKNOWN")
    return make_error(code, refusal.reason, refusal.message, refusal.metadata, retry_after)


def is_lost_connection(error: MaumauError) -> bool:
    """Whether a stream that ended like this was cut on its way rather than refused by the server."""
    if isinstance(error, Unavailable):
        return True
    return isinstance(error, Refused) and not error.reason and error.code in _DROPPED_CODES


def _status_of(error: grpc.aio.AioRpcError) -> status_pb2.Status | None:
    try:
        return rpc_status.from_call(error)
    except ValueError:  # the details contradict the code, so somebody on the way made them up
        return None


def _read_details(status: status_pb2.Status) -> tuple[str, dict[str, str], float | None]:
    reason, metadata, retry_after = "", {}, None
    for detail in status.details:
        if detail.Is(error_details_pb2.ErrorInfo.DESCRIPTOR):
            known = error_details_pb2.ErrorInfo.FromString(detail.value)
            if known.domain == DOMAIN:
                reason, metadata = known.reason, dict(known.metadata)
        elif detail.Is(error_details_pb2.RetryInfo.DESCRIPTOR):
            delay = error_details_pb2.RetryInfo.FromString(detail.value).retry_delay
            retry_after = delay.seconds + delay.nanos / 1e9
    return reason, metadata, retry_after
