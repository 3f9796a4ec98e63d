"""Encoded messages are put together from encoded parts: what was encoded once is not encoded again.

The encoding of a message is that of its fields, one after the other, so parts may be joined in any order.
"""

from __future__ import annotations

from typing import Final

_SHORT: Final = tuple(bytes([value]) for value in range(0x80))
"""Most numbers are small."""


def field_bytes(number: int, content: bytes) -> bytes:
    """A field that holds an encoded message (or text, or bytes)."""
    return varint(number << 3 | 2) + varint(len(content)) + content


def varint(value: int) -> bytes:
    """A number from 0, seven bits a byte, lowest first."""
    if value < len(_SHORT):
        return _SHORT[value]
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)
