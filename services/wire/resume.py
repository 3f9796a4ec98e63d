"""Resume tokens: how far a client has come in the history of a room.

A token is opaque to clients: one byte that says how to read it, the version, the mark, and a checksum over these and
the room, so that a damaged token, or one of another room, is refused instead of misunderstood. It needs no signature:
it opens nothing that its bearer may not see without it.
"""

from __future__ import annotations

import base64
import struct
from hashlib import blake2b
from typing import Final, NamedTuple

from services.wire.errors import refusal

MARK_BYTES: Final = 8

_FORM: Final = 1
"""Raised when the bytes are laid out otherwise, so that old tokens are recognised."""

_BODY: Final = struct.Struct(f">BQ{MARK_BYTES}s")
_CHECKSUM_BYTES: Final = 4


class ResumePoint(NamedTuple):
    """The version received last, and its mark."""

    version: int
    mark: bytes


def resume_token(room_id: str, version: int, mark: bytes) -> bytes:
    """The token for whoever has this version of the room; `mark` has 8 bytes."""
    body = _BODY.pack(_FORM, version, mark)
    return body + _checksum(room_id, body)


def read_resume_token(token: bytes, room_id: str) -> ResumePoint:
    """What the token says. Raises Refusal (BAD_RESUME_TOKEN) for bytes that are no token of this room."""
    body, checksum = token[: _BODY.size], token[_BODY.size :]
    if len(body) != _BODY.size or checksum != _checksum(room_id, body):
        raise refusal("BAD_RESUME_TOKEN")
    form, version, mark = _BODY.unpack(body)
    if form != _FORM:
        raise refusal("BAD_RESUME_TOKEN")
    return ResumePoint(version, mark)


def token_text(token: bytes) -> str:
    """The token in the metadata of a refusal (TOKEN_EXPIRED, TOO_SLOW): URL-safe base64 without padding."""
    return base64.urlsafe_b64encode(token).decode().rstrip("=")


def _checksum(room_id: str, body: bytes) -> bytes:
    return blake2b(body + room_id.encode(), digest_size=_CHECKSUM_BYTES, person=b"maumau resume").digest()
