"""The stored form of what was attempted and what happened: actions, actors, events, and the log entry of a version.

Compact msgpack, `[name, field, field ...]` a value; cards are their codes, enums their numbers. Fields are only ever
added at the end, with a default, so that an older entry stays readable.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple, get_args, get_type_hints

import msgspec

from services.rules import actions as game_actions
from services.rules.cards import Card, card_of_code
from services.rules.room import actions as room_actions
from services.rules.room.actions import Act, Actor, RoomAction
from services.rules.room.events import RoomEvent
from services.rules.room.settings import read_settings


class LogEntry(NamedTuple):
    """What a room's log says of one version, besides what the store adds (version, mark, time)."""

    actor: Actor
    action: RoomAction
    events: list[RoomEvent]


def _encode_card(value: Any) -> int:
    if isinstance(value, Card):
        return value.code
    raise TypeError(f"a {type(value).__name__} has no stored form")


def _decode_card(expected: type, value: Any) -> Any:
    if expected is Card:
        return card_of_code(value)
    if expected is object:
        return value
    raise TypeError(f"a {expected.__name__} has no stored form")


class _Family:
    """Classes of values that are stored under their names."""

    def __init__(self, classes: Sequence[type], inner: _Family | None = None) -> None:
        self.inner = inner
        self.classes = {cls.__name__: cls for cls in classes}
        self.twins: dict[type, type[msgspec.Struct]] = {cls: self._twin(cls) for cls in classes}

    def _twin(self, cls: type) -> type[msgspec.Struct]:
        """A class with the same fields that is stored as an array, its name first."""
        hints = get_type_hints(cls)
        fields: list[Any] = []
        for field in msgspec.structs.fields(cls):
            kind = Any if cls is Act else hints[field.name]
            if field.required:
                fields.append((field.name, kind))
            elif field.default is not msgspec.NODEFAULT:
                fields.append((field.name, kind, field.default))
            else:
                fields.append((field.name, kind, msgspec.field(default_factory=field.default_factory)))
        return msgspec.defstruct(cls.__name__, fields, array_like=True, tag=cls.__name__, frozen=True)

    def stored(self, value: Any) -> tuple[Any, ...]:
        """What is encoded as the twin of the value is."""
        if self.inner is not None and type(value) is Act:
            return (Act.__name__, self.inner.stored(value.action))
        return (type(value).__name__, *msgspec.structs.astuple(value))

    def value(self, raw: Any) -> Any:
        """The value of a decoded array."""
        cls = self.classes[raw[0]]
        twin = msgspec.convert(raw, self.twins[cls], dec_hook=_decode_card)
        fields = {name: getattr(twin, name) for name in twin.__struct_fields__}
        if self.inner is not None and cls is Act:
            fields["action"] = self.inner.value(fields["action"])
        if cls in (room_actions.CreateRoom, room_actions.ChangeOptions):
            fields["settings"] = read_settings(fields["settings"])
        return cls(**fields)


@functools.cache
def _actions() -> _Family:
    return _Family(get_args(room_actions.RoomAction), _Family(get_args(game_actions.Action)))


@functools.cache
def _events() -> _Family:
    return _Family(get_args(RoomEvent))


@functools.cache
def _actors() -> _Family:
    return _Family(get_args(room_actions.Actor))


_encoder = msgspec.msgpack.Encoder(enc_hook=_encode_card, order="deterministic")  # options come in any order
_decoder = msgspec.msgpack.Decoder()


def encode_action(action: RoomAction) -> bytes:
    """The stored form of an action; equal actions have equal forms."""
    return _encoder.encode(_actions().stored(action))


def decode_action(stored: bytes) -> RoomAction:
    """What `encode_action` wrote. Raises ValueError for anything else."""
    try:
        action: RoomAction = _actions().value(_decoder.decode(stored))
    except (msgspec.DecodeError, msgspec.ValidationError, KeyError, TypeError, IndexError) as error:
        raise ValueError("not an action") from error
    return action


def encode_entry(actor: Actor, action: RoomAction, events: Sequence[RoomEvent]) -> bytes:
    """The log entry of one version, with all cards: it never leaves the server as it is."""
    tell = _events().stored
    return _encoder.encode((_actors().stored(actor), _actions().stored(action), [tell(event) for event in events]))


def decode_entry(stored: bytes) -> LogEntry:
    """What `encode_entry` wrote. Raises ValueError for anything else."""
    try:
        actor, action, events = _decoder.decode(stored)
        return LogEntry(_actors().value(actor), _actions().value(action), [_events().value(event) for event in events])
    except (msgspec.DecodeError, msgspec.ValidationError, KeyError, TypeError, IndexError) as error:
        raise ValueError("not a log entry") from error
