"""How a value of a caller is shown in a refusal: short and printable, whatever was sent."""

from __future__ import annotations

from typing import Final

LONGEST_SHOWN: Final = 100
"""Characters of a value in an error's metadata."""

_READ_AT_MOST: Final = 2 * LONGEST_SHOWN


def shown(value: object) -> str:
    """The value in at most 100 printable characters; bytes by their number alone, since they may be secret."""
    if isinstance(value, bytes):
        return "1 byte" if len(value) == 1 else f"{len(value)} bytes"
    text = value if isinstance(value, str) else str(value)
    start = text[:_READ_AT_MOST]
    printable = start if start.isprintable() else "".join(_printable(character) for character in start)
    if len(text) <= _READ_AT_MOST and len(printable) <= LONGEST_SHOWN:
        return printable
    return printable[: LONGEST_SHOWN - 1] + "…"


def _printable(character: str) -> str:
    """The character, or its code point where it would change how the line around it looks."""
    return character if character.isprintable() else f"\\u{ord(character):04x}"
