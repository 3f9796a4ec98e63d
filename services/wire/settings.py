"""The settings of a room on the wire."""

from __future__ import annotations

from typing import Any, Final

from maumau.v1 import settings_pb2

from services.rules.bots.levels import BotLevel
from services.rules.room.settings import RoomSettings, Spectators, Visibility
from services.wire.forms import Form, Forms, enum_form

BOT_LEVEL: Final = enum_form(BotLevel, settings_pb2.BotLevel.DESCRIPTOR)

_ENUMS: Final[dict[str, Form]] = {
    "visibility": enum_form(Visibility, settings_pb2.Visibility.DESCRIPTOR),
    "spectators": enum_form(Spectators, settings_pb2.Spectators.DESCRIPTOR),
}

SETTINGS: Final = Forms({"Visibility": _ENUMS["visibility"], "Spectators": _ENUMS["spectators"]}).struct(
    RoomSettings, settings_pb2.RoomSettings.DESCRIPTOR
)


def read_settings(message: settings_pb2.RoomSettings, path: str = "settings") -> dict[str, Any]:
    """The settings that the message sets, by name, as `change_settings` takes them; bounds are the room's to check.
    Raises Refusal (INVALID_FIELD) for an enum number that means nothing."""
    chosen = {}
    for field, value in message.ListFields():
        form = _ENUMS.get(field.name)
        chosen[field.name] = form.read(value, f"{path}.{field.name}") if form else value
    return chosen


def settings_message(settings: RoomSettings) -> settings_pb2.RoomSettings:
    """Every setting of the room."""
    return settings_pb2.RoomSettings(**SETTINGS.write(settings))


def chosen_settings_message(chosen: dict[str, Any]) -> settings_pb2.RoomSettings:
    """The settings that were chosen, and no others."""
    written = {name: _ENUMS[name].write(value) if name in _ENUMS else value for name, value in chosen.items()}
    return settings_pb2.RoomSettings(**written)
