"""The stored form of a room: compact msgpack, the schema number first, then the engine revision."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from services.rules import engine
from services.rules.room.state import SCHEMA, Room

READABLE_SCHEMAS = (SCHEMA,)


class UnknownSchemaError(ValueError):
    """The room was stored by a newer release; this one must leave it alone."""

    def __init__(self, schema: int) -> None:
        super().__init__(f"schema {schema}; this release reads {', '.join(map(str, READABLE_SCHEMAS))}")
        self.schema = schema


class _Head(msgspec.Struct, array_like=True):
    schema: int


_encoder = msgspec.msgpack.Encoder()
_head_decoder = msgspec.msgpack.Decoder(_Head)
_room_decoder = msgspec.msgpack.Decoder(Room)


def encode(room: Room) -> bytes:
    """The bytes to store. They hold all hands and the seed."""
    if room.match is not None:
        room = replace(room, match=replace(room.match, state=engine.encode(room.match.state)))
    return _encoder.encode(room)


def decode(stored: bytes) -> Room:
    """The room again. Raises UnknownSchemaError for a newer form, ValueError for bytes that are no room."""
    try:
        schema = _head_decoder.decode(stored).schema
        if schema not in READABLE_SCHEMAS:
            raise UnknownSchemaError(schema)
        room = _room_decoder.decode(stored)
    except msgspec.DecodeError as error:
        raise ValueError("not a room") from error
    if room.match is None:
        return room
    state = engine.decode(room.ruleset, room.match.state)
    return replace(room, match=replace(room.match, state=state))
