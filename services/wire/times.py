"""Points in time on the wire: milliseconds since 1970 by the clock of Redis, and timestamps."""

from __future__ import annotations

import time

from google.protobuf.timestamp_pb2 import Timestamp


def timestamp(milliseconds: int) -> Timestamp:
    """The timestamp of a number of milliseconds since 1970."""
    return Timestamp(**timestamp_fields(milliseconds))


def timestamp_fields(milliseconds: int) -> dict[str, int]:
    """What makes that timestamp inside the constructor of another message, which is faster than a message."""
    seconds, rest = divmod(milliseconds, 1000)
    return {"seconds": seconds, "nanos": rest * 1_000_000}


def iso_text(milliseconds: int) -> str:
    """A point in time as metadata of refusals have it: `2026-11-30T17:04:05Z`."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(milliseconds / 1000))


def milliseconds_of(moment: Timestamp) -> int:
    """Milliseconds since 1970, rounded down."""
    return moment.seconds * 1000 + moment.nanos // 1_000_000
