"""Points in time on the wire: milliseconds since 1970 by the clock of Redis, and timestamps."""

from __future__ import annotations

import time
from typing import Any, Final

from google.protobuf.timestamp_pb2 import Timestamp

from services.wire.errors import invalid_field

_LEAST_SECONDS: Final = -62_135_596_800
_MOST_SECONDS: Final = 253_402_300_799
"""The years 1 to 9999, of which timestamps are made."""


def timestamp(milliseconds: int) -> Timestamp:
    """The timestamp of a number of milliseconds since 1970."""
    moment = Timestamp()
    write_timestamp(moment, milliseconds)
    return moment


def write_timestamp(into: Timestamp, milliseconds: int) -> None:
    """Makes a part of another message that timestamp, which is faster than to give it to the constructor."""
    into.seconds, rest = divmod(milliseconds, 1000)
    into.nanos = rest * 1_000_000


def iso_text(milliseconds: int) -> str:
    """A point in time as metadata of refusals have it: `2026-11-30T17:04:05Z`."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(milliseconds / 1000))


def milliseconds_of(moment: Timestamp) -> int:
    """Milliseconds since 1970, rounded down."""
    return moment.seconds * 1000 + moment.nanos // 1_000_000


def read_span(request: Any) -> tuple[int, int]:
    """`ended_from` and `ended_until` of a request in milliseconds since 1970, 0 where they are absent. Raises
    INVALID_FIELD for one that is no point in time, and where the end does not come after the beginning."""
    begin, end = _moment(request, "ended_from"), _moment(request, "ended_until")
    if request.HasField("ended_until") and end <= begin:
        raise invalid_field("ended_until", request.ended_until.ToJsonString(), "a time after ended_from")
    return begin, end


def _moment(request: Any, field: str) -> int:
    moment = getattr(request, field)
    if not _LEAST_SECONDS <= moment.seconds <= _MOST_SECONDS or not 0 <= moment.nanos < 1_000_000_000:
        raise invalid_field(field, f"{moment.seconds} s and {moment.nanos} ns", "a time in the years 1 to 9999")
    return milliseconds_of(moment)
