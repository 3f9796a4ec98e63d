"""Values of the rules, drawn by their types, and the question whether a message says the same."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from types import UnionType
from typing import Any, Union, get_args, get_origin

import msgspec
from google.protobuf.message import Message
from hypothesis import strategies as st

from services.rules.cards import PACKS, Card

CARDS = sorted({card for pack in PACKS.values() for card in pack}, key=lambda card: card.code)

OTHER_NAMES = {
    "meld": "meld_id",
    "player": "player_id",
    "name": "display_name",
    "ms": "milliseconds",
    "kind": "debt_kind",
    "drew": "drawn",
    "said": "calls",
}
"""Fields that the contract calls otherwise than the rules."""


def of(kind: Any) -> st.SearchStrategy[Any]:
    """Values of a type."""
    if kind is Card:
        return st.sampled_from(CARDS)
    if kind is int:
        return st.integers(0, 2**31 - 1)
    if kind in (bool, str, bytes):
        return {bool: st.booleans(), str: st.text(max_size=8), bytes: st.binary(max_size=32)}[kind]
    if get_origin(kind) in (Union, UnionType):
        return st.one_of([st.none() if part is type(None) else of(part) for part in get_args(kind)])
    if get_origin(kind) is tuple:
        return _tuples(get_args(kind))
    if issubclass(kind, Enum):
        return st.sampled_from(list(kind))
    return struct(kind)


def _tuples(parts: tuple[Any, ...]) -> st.SearchStrategy[tuple[Any, ...]]:
    if parts[-1] is Ellipsis:
        return st.lists(of(parts[0]), min_size=1, max_size=4).map(tuple)
    return st.tuples(*(of(part) for part in parts))


def struct(kind: type[msgspec.Struct], **known: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Values of a struct; the fields that are not `known` by their types."""
    fields = {field.name: field.type for field in msgspec.structs.fields(kind)}
    return st.builds(kind, **{name: known[name] if name in known else of(part) for name, part in fields.items()})


def says(message: Message, value: msgspec.Struct, special: dict[str, Callable[[Any, Any], bool]] | None = None) -> bool:
    """Whether every field of the value is in the message and nothing else is. `special` compares fields of certain
    names."""
    names = [field.name for field in msgspec.structs.fields(type(value))]
    fields = {name: name if name in message.DESCRIPTOR.fields_by_name else OTHER_NAMES[name] for name in names}
    if {field.name for field, _ in message.ListFields()} - set(fields.values()):
        return False
    for name, field in fields.items():
        content = getattr(value, name)
        if special and name in special:
            if not special[name](getattr(message, field), content):
                return False
        elif content is None and message.DESCRIPTOR.fields_by_name[field].has_presence:
            if message.HasField(field):
                return False
        elif not _same(getattr(message, field), content, message.DESCRIPTOR.fields_by_name[field].enum_type):
            return False
    return True


def _same(found: Any, value: Any, enum: Any) -> bool:
    if isinstance(value, Card):
        return bool((found.suit, found.rank) == (value.suit.value if value.suit else 0, value.rank.value))
    if isinstance(value, tuple):
        if hasattr(found, "from_seat"):
            return bool((found.from_seat, found.to_seat) == value)
        entries: Any = found.cards if hasattr(found, "cards") else found
        return len(entries) == len(value) and all(map(_same, entries, value, [enum] * len(value)))
    if isinstance(value, msgspec.Struct):
        return says(found, value)
    if enum is not None:
        number = enum.values_by_number[found].name
        return bool(number.endswith("_UNSPECIFIED" if value is None else "_" + _enum_name(value)))
    return bool(found == ("" if value is None else value))


def _enum_name(value: Any) -> str:
    return value.name if isinstance(value, Enum) else str(value).upper()
