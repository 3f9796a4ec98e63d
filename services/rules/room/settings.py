"""The settings of a room, each declared once with its bounds, and the times that the server sets for all rooms."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from enum import Enum
from typing import Any, NamedTuple

import msgspec

from services.rules.room.reasons import RoomReason, RoomRefusal

LONGEST_TITLE = 40


class Spectators(Enum):
    """Who may watch without a seat. Values are stable and stored."""

    OFF = 1
    ON = 2
    DELAYED = 3


class Visibility(Enum):
    """Who finds the room. Values are stable and stored."""

    PRIVATE = 1
    PUBLIC = 2


class RoomSettings(msgspec.Struct, frozen=True, array_like=True):
    """What a host chooses besides the ruleset; `SETTINGS` has units and bounds. `seats` 0 stands for the most that the
    ruleset allows, at most 4; a room always has the real number."""

    seats: int = 0
    turn_seconds: int = 30
    bank_seconds: int = 60
    pause_seconds: int = 8
    visibility: Visibility = Visibility.PRIVATE
    spectators: Spectators = Spectators.ON
    spectator_delay_seconds: int = 60
    chat: bool = True
    title: str = ""

    @property
    def is_watchable(self) -> bool:
        """Whether strangers may watch, at once or later."""
        return self.visibility is Visibility.PUBLIC and self.spectators is not Spectators.OFF

    @property
    def delay_seconds(self) -> int:
        """How far behind spectators are."""
        return self.spectator_delay_seconds if self.spectators is Spectators.DELAYED else 0


class Setting(NamedTuple):
    """One setting: bounds of a number (both included) or choices, and a sentence. The unit is in the name."""

    name: str
    low: int
    high: int
    choices: tuple[object, ...]
    sentence: str

    def allows(self, value: object) -> bool:
        if self.name == "title":
            return isinstance(value, str) and len(value) <= self.high and _is_plain(value)
        if self.choices:
            return any(type(value) is type(choice) and value == choice for choice in self.choices)
        return type(value) is int and self.low <= value <= self.high

    def expected(self) -> str:
        """What may be chosen, in words."""
        if self.name == "title":
            return f"at most {self.high} characters, no control characters"
        if not self.choices:
            return f"{self.low} to {self.high}"
        return "one of " + ", ".join(c.name if isinstance(c, Enum) else str(c).lower() for c in self.choices)


def _is_plain(text: str) -> bool:
    return not any(unicodedata.category(character) in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp") for character in text)


def _number(name: str, low: int, high: int, sentence: str) -> Setting:
    return Setting(name, low, high, (), sentence)


def _choice(name: str, choices: tuple[object, ...], sentence: str) -> Setting:
    return Setting(name, 0, 0, choices, sentence)


SETTINGS: dict[str, Setting] = {
    setting.name: setting
    for setting in (
        _number("seats", 0, 10, "Seats of the room, within the bounds of the ruleset; 0: the default."),
        _number("turn_seconds", 5, 300, "Time for a turn."),
        _number("bank_seconds", 0, 600, "Time in a match that a seat may think longer in all."),
        _number("pause_seconds", 0, 60, "Pause between two rounds, unless all people are ready before."),
        _choice("visibility", tuple(Visibility), "Who finds the room."),
        _choice("spectators", tuple(Spectators), "Who may watch without a seat."),
        _number("spectator_delay_seconds", 10, 600, "How far behind delayed spectators are."),
        _choice("chat", (False, True), "Whether chat is delivered."),
        _number("title", 0, LONGEST_TITLE, "A name for the room list."),
    )
}


def change_settings(settings: RoomSettings, chosen: Mapping[str, Any]) -> RoomSettings:
    """The settings with the chosen ones changed. Raises RoomRefusal (INVALID_FIELD), naming field, value and what
    would be right."""
    for name, value in chosen.items():
        setting = SETTINGS.get(name)
        if setting is None:
            raise RoomRefusal(RoomReason.INVALID_FIELD, field=f"settings.{name}", expected=", ".join(SETTINGS))
        if not setting.allows(value):
            raise RoomRefusal(
                RoomReason.INVALID_FIELD, field=f"settings.{name}", value=value, expected=setting.expected()
            )
    return msgspec.structs.replace(settings, **chosen)


def read_settings(stored: Mapping[str, Any]) -> dict[str, object]:
    """Chosen settings from their stored form, in which choices are numbers."""
    kinds = {"visibility": Visibility, "spectators": Spectators}
    return {name: kinds[name](value) if name in kinds else value for name, value in stored.items()}


class ServerTimes(msgspec.Struct, frozen=True):
    """Times that are the same for all rooms of a server, in milliseconds. A bot's move comes between `bot_least` and
    `bot_most` after its turn began. While a window is open in which people may accuse, slap or contest, no bot does
    so, or closes the window by its move, before `window_least`; after `window` the clock answers for people."""

    bot_least: int = 600
    bot_most: int = 1_800
    window_least: int = 2_000
    window: int = 10_000
    away_grace: int = 15_000
    empty: int = 300_000
    ready_check: int = 20_000
    rematch_offer: int = 60_000
    open_idle: int = 600_000
    finished: int = 1_800_000


DEFAULT_TIMES = ServerTimes()

TIMEOUTS_UNTIL_AWAY = 3
"""Timeouts in a row after which a seat counts as away."""

VERSION_LIMIT = 10_000
"""Versions of one match after which it ends by rule."""
