"""The plain fields of requests, each checked in one place. All raise Refusal (INVALID_FIELD) with the field's path."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from services.wire.errors import invalid_field

REQUEST_ID_BYTES: Final = 16
SHORTEST_NAME: Final = 2
LONGEST_NAME: Final = 24
LONGEST_CHAT: Final = 300
LONGEST_REASON: Final = 200

_ROOM_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_LONGEST_PLAYER_ID: Final = 128
_LONGEST_PRESET: Final = 64
_NAME_EXPECTED: Final = (
    f"{SHORTEST_NAME} to {LONGEST_NAME} characters, none of them control, invisible or bidirectional, single spaces"
)
_BLANK: Final = frozenset("\u115f\u1160\u2800\u3164\uffa0")
"""Letters and symbols that look like nothing."""
_UNSEEN: Final = frozenset(
    (0x034F, 0x17B4, 0x17B5, 0x180B, 0x180C, 0x180D, 0x180F, *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))
)
"""Code points of marks that look like nothing: with them two names look like one."""
_EMOJI_FORMS: Final = frozenset("\ufe0e\ufe0f")
"""Of these marks, those that keyboards put behind a symbol."""


def request_id(value: bytes, field: str = "request_id") -> bytes:
    """The id of a request: 16 bytes."""
    if len(value) != REQUEST_ID_BYTES:
        raise invalid_field(field, value, f"{REQUEST_ID_BYTES} bytes")
    return value


def room_id(value: str, field: str = "room_id") -> str:
    """The id of a room: 1 to 64 of A-Z a-z 0-9 _ -."""
    if not _ROOM_ID.fullmatch(value):
        raise invalid_field(field, value, "1 to 64 of A-Z a-z 0-9 _ -")
    return value


def preset_name(value: str, field: str = "preset") -> str:
    """The name of a preset, known or not, or nothing: 0 to 64 printable characters."""
    if len(value) > _LONGEST_PRESET or not value.isprintable():
        raise invalid_field(field, value, f"0 to {_LONGEST_PRESET} printable characters")
    return value


def player_id(value: str, field: str = "player_id") -> str:
    """The id of a player: 1 to 128 printable characters, whatever the identity provider uses."""
    if not 1 <= len(value) <= _LONGEST_PLAYER_ID or not value.isprintable():
        raise invalid_field(field, value, f"1 to {_LONGEST_PLAYER_ID} printable characters")
    return value


def display_name(value: str, field: str = "display_name") -> str:
    """A display name in NFC: 2 to 24 characters that can be seen, with single spaces inside only. Control, format
    (zero-width, bidirectional) and unassigned characters are refused."""
    name = unicodedata.normalize("NFC", value) if len(value) <= 4 * LONGEST_NAME else value
    if not SHORTEST_NAME <= len(name) <= LONGEST_NAME or not _is_seen(name):
        raise invalid_field(field, value, _NAME_EXPECTED)
    return name


def _is_seen(name: str) -> bool:
    """Whether every character can be seen and none changes what stands before the name."""
    if name != name.strip(" ") or "  " in name:
        return False
    if unicodedata.category(name[0]).startswith("M"):
        return False
    return all(map(_is_seen_after, " " + name, name))


def _is_seen_after(before: str, character: str) -> bool:
    if character in _EMOJI_FORMS:
        return unicodedata.category(before) == "So"
    return character == " " or (_is_plain(character) and ord(character) not in _UNSEEN)


def _is_plain(character: str) -> bool:
    return unicodedata.category(character)[0] not in "CZ" and character not in _BLANK


def chat_text(value: str, field: str = "text") -> str:
    """A chat text in NFC, without spaces around it: 1 to 300 characters on one line, none of them control or
    bidirectional. Joiners stay, since scripts and emoji need them."""
    text = unicodedata.normalize("NFC", value).strip() if len(value) <= 4 * LONGEST_CHAT else value
    if not 1 <= len(text) <= LONGEST_CHAT or not all(_is_text(character) for character in text):
        raise invalid_field(field, value, f"1 to {LONGEST_CHAT} characters on one line, no control characters")
    return text


def operator_reason(value: str, field: str = "why", *, required: bool = False) -> str:
    """Why an operator does something, or what became of it: up to 200 characters on one line, at least 1 where it is
    `required`."""
    text = unicodedata.normalize("NFC", value).strip() if len(value) <= 4 * LONGEST_REASON else value
    if not int(required) <= len(text) <= LONGEST_REASON or not all(_is_text(character) for character in text):
        raise invalid_field(field, value, f"{int(required)} to {LONGEST_REASON} characters on one line")
    return text


def _is_text(character: str) -> bool:
    return character in " \u200c\u200d" or _is_plain(character)
