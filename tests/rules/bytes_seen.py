"""Views and events as bytes, so that nothing in them escapes a comparison."""

from __future__ import annotations

import msgspec

from services.rules.cards import Card


def as_bytes(value: object) -> bytes:
    """A view or events, every field and every card in them, as bytes to compare."""
    return msgspec.msgpack.encode(value, enc_hook=_code_of)


def _code_of(value: object) -> int:
    assert isinstance(value, Card)
    return value.code
