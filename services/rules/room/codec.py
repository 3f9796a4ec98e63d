"""The stored forms of a room: compact msgpack, the schema number first, then the engine revision.

A room keeps the schema and the revision that it was made with: whoever changes it writes it back in the same form, so
that processes of two releases serve the same rooms. A new schema is a new entry of `FORMS`, a new revision one of
`REVISIONS`; the old ones stay for as long as there are rooms of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

import msgspec
from msgspec.structs import replace

from services.rules import engine
from services.rules.room.state import ENGINE_REVISION, SCHEMA, Room


class UnknownReleaseError(ValueError):
    """The room is of a newer release; this one must leave it alone."""


class UnknownSchemaError(UnknownReleaseError):
    """It is stored in a form that this release does not read."""

    def __init__(self, schema: int) -> None:
        super().__init__(f"schema {schema}; this release reads {', '.join(map(str, sorted(FORMS)))}")
        self.schema = schema


class UnknownRevisionError(UnknownReleaseError):
    """It is played by an engine that this release does not have."""

    def __init__(self, revision: int) -> None:
        super().__init__(f"engine revision {revision}; this release has {', '.join(map(str, sorted(REVISIONS)))}")
        self.revision = revision


class Form(NamedTuple):
    """One stored form. `decode` raises msgspec.DecodeError or ValueError for bytes that are no room."""

    encode: Callable[[Room], bytes]
    decode: Callable[[bytes], Room]


class _Head(msgspec.Struct, array_like=True):
    schema: int
    revision: int = ENGINE_REVISION


_encoder = msgspec.msgpack.Encoder()
_head_decoder = msgspec.msgpack.Decoder(_Head)
_room_decoder = msgspec.msgpack.Decoder(Room)

FORMS: Final[dict[int, Form]] = {SCHEMA: Form(_encoder.encode, _room_decoder.decode)}
"""By schema: every form that this release reads and writes."""

REVISIONS: Final[set[int]] = {ENGINE_REVISION}
"""Every engine revision that this release plays by."""


def encode(room: Room) -> bytes:
    """The bytes to store, in the room's own schema. They hold all hands and the seed."""
    form = FORMS[room.schema]
    if room.match is not None:
        room = replace(room, match=replace(room.match, state=engine.encode(room.match.state)))
    return form.encode(room)


def decode(stored: bytes) -> Room:
    """The room again. Raises UnknownReleaseError for a room of a newer release, ValueError for bytes that are no
    room."""
    try:
        head = _head_decoder.decode(stored)
        if head.schema not in FORMS:
            raise UnknownSchemaError(head.schema)
        if head.revision not in REVISIONS:
            raise UnknownRevisionError(head.revision)
        room = FORMS[head.schema].decode(stored)
    except msgspec.DecodeError as error:
        raise ValueError("not a room") from error
    if room.match is None:
        return room
    state = engine.decode(room.match_ruleset, room.match.state)
    return replace(room, match=replace(room.match, state=state))
