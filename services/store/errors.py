"""What can go wrong between a service and Redis, told apart by what the caller may do about it."""

from __future__ import annotations

from typing import NamedTuple

from redis import exceptions as redis_errors


class Host(NamedTuple):
    """One TCP address."""

    host: str
    port: int


class StoreError(Exception):
    """Redis or a script refused something that should never be refused: a fault of ours or of the set-up."""


class StoreUnavailable(StoreError):  # noqa: N818 - the name says it
    """Redis could not be reached, did not answer in time, or answers but cannot serve just now (loading, read-only,
    too few replicas). The same call may be made again.

    `maybe_applied` is true when a write may have taken effect all the same. Sending the commit again then settles it:
    it loses against itself, and the state that comes back shows its request id."""

    def __init__(self, reason: str, *, maybe_applied: bool) -> None:
        super().__init__(reason)
        self.maybe_applied = maybe_applied


class TryAgain(StoreUnavailable):
    """Some of a command's keys are on their way to another node of a Cluster. It was not run."""


class Redirected(StoreError):  # noqa: N818 - the name says it
    """The key is at another node of a Cluster: for good, or (`asking`) for this one command. It was not run. Outside of
    a Cluster's own client this says that the URL should be a `redis+cluster://` one."""

    def __init__(self, reason: str, host: Host, *, asking: bool) -> None:
        super().__init__(reason)
        self.host = host
        self.asking = asking


class OutOfMemory(StoreError):  # noqa: N818 - the name says it
    """Redis reached `maxmemory` and refuses to grow. Nothing was written. Reads and removals still work."""


class DamagedRoom(StoreError):  # noqa: N818 - the name says it
    """The log of a room holds a version that the room itself has not reached (or a room that is gone left its log).
    No commit can do that; somebody changed keys by hand. Nothing was written."""


class BadArgument(StoreError, ValueError):  # noqa: N818 - the name says it
    """An argument that no key or script takes. Names the field, the value and what would be right."""

    def __init__(self, field: str, value: object, right: str) -> None:
        super().__init__(f"{field}: {value!r} is not {right}")
        self.field = field
        self.value = value
        self.right = right


_CANNOT_SERVE_NOW = frozenset(
    {"LOADING", "READONLY", "MASTERDOWN", "CLUSTERDOWN", "NOREPLICAS", "MISCONF", "BUSY", "UNBLOCKED"}
)
"""Codes of replies that pass by themselves; the command was not run."""


def from_reply(error: redis_errors.RedisError) -> StoreError:
    """The typed error for an error that Redis itself replied."""
    text = str(error)
    if isinstance(error, redis_errors.AskError):  # and MovedError, which is one
        asking = not isinstance(error, redis_errors.MovedError)
        return Redirected(f"the key is at another node: {text}", Host(error.host, error.port), asking=asking)
    if isinstance(error, redis_errors.TryAgainError):
        return TryAgain(f"TRYAGAIN: {text}", maybe_applied=False)
    known_code = getattr(error, "status_code", None)  # redis-py cuts the codes that it knows off the text
    code = known_code or text.split(" ", 1)[0]
    if code in _CANNOT_SERVE_NOW:
        return StoreUnavailable(f"{code}: {text}", maybe_applied=False)
    if code == "OOM":
        return OutOfMemory(text)
    return StoreError(f"{known_code} {text}" if known_code else text)


def from_failure(error: Exception) -> StoreError:
    """The typed error for a command that never got its reply."""
    if isinstance(error, redis_errors.BusyLoadingError):
        return StoreUnavailable(f"LOADING: {error}", maybe_applied=False)
    if isinstance(error, redis_errors.AuthenticationError | redis_errors.AuthorizationError):
        return StoreError(f"Redis refused our credentials: {error}")
    if isinstance(error, redis_errors.ResponseError):
        return from_reply(error)
    return StoreUnavailable(f"{type(error).__name__}: {error}", maybe_applied=True)
