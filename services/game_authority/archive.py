"""The log of a match as it is archived: chunks of versions, each as the room's log has it, compressed.

Archives outlive releases: what an entry holds is read by the journal, which stays readable (`services.rules.room`).
"""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Final, NamedTuple

import msgspec

from services.store.records import LogEntry

CHUNK_VERSIONS: Final = 200
CHUNK_BYTES: Final = 48_000
"""Of a chunk before it is compressed; no single version has nearly as much. It fits a message however bad it packs."""


class KeptVersion(NamedTuple):
    """One version of an archived log. `time` in ms since 1970, `payload` as the journal wrote it."""

    version: int
    time: int
    payload: bytes


class Chunk(NamedTuple):
    """Some versions that follow one another."""

    first_version: int
    versions: int
    content: bytes


ReadLog = Callable[[int, int], Awaitable[list[LogEntry]]]
"""Entries of the versions above one, at most so many."""

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[KeptVersion]).decode


def pack(entries: Sequence[LogEntry]) -> Chunk:
    """The chunk of these entries, one at least."""
    kept = [KeptVersion(entry.version, entry.time, entry.payload) for entry in entries]
    return Chunk(kept[0].version, len(kept), zlib.compress(_encode(kept), 6))


def unpack(content: bytes) -> list[KeptVersion]:
    """What `pack` put in. Raises ValueError for anything else."""
    try:
        return _decode(zlib.decompress(content))
    except (zlib.error, msgspec.MsgspecError) as error:
        raise ValueError("not a chunk of a log") from error


async def chunks_of(log: ReadLog, first: int, last: int) -> AsyncIterator[Chunk]:
    """A log from version `first` to `last`, as far as it is there without a hole."""
    while first <= last:
        page = [entry for entry in await log(first - 1, CHUNK_VERSIONS) if entry.version <= last]
        page = _fitting([entry for number, entry in enumerate(page, first) if entry.version == number])
        if not page:
            return
        yield pack(page)
        first += len(page)


def _fitting(entries: list[LogEntry]) -> list[LogEntry]:
    """The first ones, one at least, that make no larger chunk than may be."""
    size, fitting = 0, list[LogEntry]()
    for entry in entries:
        size += len(entry.payload)
        if fitting and size > CHUNK_BYTES:
            break
        fitting.append(entry)
    return fitting
