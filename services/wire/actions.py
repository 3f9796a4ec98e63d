"""Actions on the wire: what a client attempts, read; what a seat may do, written.

The same legal actions come again and again, so each is written once and kept. What is kept is shared: whoever gets a
message puts it into another one and never changes it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final, get_args

from maumau.v1 import actions_pb2

from services.rules import actions as game
from services.rules.room import actions as room
from services.wire.cards import CARD, SUIT, WORD
from services.wire.encoding import field_bytes
from services.wire.errors import invalid_field
from services.wire.forms import SEAT, Form, Forms
from services.wire.rulesets import choice_message, read_ruleset
from services.wire.settings import BOT_LEVEL, chosen_settings_message, read_settings

_KEPT: Final = 16_384
"""Actions whose written form is kept: far more than all plays of one card with every wish, call and target."""

_LONGEST_KEPT: Final = 64
"""Bytes of an action from a client whose reading is kept: a play of one card has up to 20."""

_FORMS: Final = Forms({"Card": CARD, "Suit": SUIT, "Word": WORD, "BotLevel": BOT_LEVEL})
_FIELDS: Final = actions_pb2.Action.DESCRIPTOR.fields_by_name
_ALIKE: Final = (
    room.LeaveSeat,
    room.SetReady,
    room.AddBot,
    room.RemoveSeat,
    room.RotateInvite,
    room.Start,
    room.Mute,
    room.ReadyForRound,
    room.TakeBack,
    room.Rematch,
)
"""Actions of the room that have the same fields here and there."""


def _form(kind: type[Any]) -> Form:
    return _FORMS.struct(kind, _FIELDS[game.action_name(kind)].message_type, {"meld": "meld_id"})


_GAME_FORMS: Final = {game.action_name(kind): _form(kind) for kind in get_args(game.Action)}
_ROOM_FORMS: Final = {game.action_name(kind): _form(kind) for kind in _ALIKE}


def read_action(message: actions_pb2.Action, display_name: str = "", path: str = "action") -> room.RoomAction:
    """What the message attempts; an action of a game travels inside `Act`. `display_name` is how the caller is called
    on the seat that it takes. Raises Refusal (INVALID_FIELD) with the field's path for what makes no action."""
    field = message.WhichOneof("action")
    if field is None:
        raise invalid_field(path, "", "one of " + ", ".join(sorted(_FIELDS)))
    part, where = getattr(message, field), f"{path}.{field}"
    if field in _GAME_FORMS:
        return _read_game_action(message, field, where)
    if field == "take_seat":
        return room.TakeSeat(display_name, SEAT.read(part.seat, f"{where}.seat") if part.HasField("seat") else None)
    if field == "change_options":
        return _read_change_options(part, where)
    action: room.RoomAction = _ROOM_FORMS[field].read(part, where)
    return action


def _read_game_action(message: actions_pb2.Action, field: str, path: str) -> room.Act:
    encoded = message.SerializeToString()
    if len(encoded) <= _LONGEST_KEPT:
        return _kept_reading(encoded, path)
    return room.Act(_GAME_FORMS[field].read(getattr(message, field), path))


@lru_cache(_KEPT)
def _kept_reading(encoded: bytes, path: str) -> room.Act:
    message = actions_pb2.Action.FromString(encoded)
    field = message.WhichOneof("action")
    assert field is not None
    return room.Act(_GAME_FORMS[field].read(getattr(message, field), path))


def _read_change_options(message: actions_pb2.Action.ChangeOptions, path: str) -> room.ChangeOptions:
    settings = read_settings(message.settings, f"{path}.settings")
    if not message.HasField("ruleset"):
        return room.ChangeOptions(settings=settings)
    preset, options = read_ruleset(message.ruleset, f"{path}.ruleset")
    return room.ChangeOptions(preset, options, settings)


@lru_cache(_KEPT)
def action_message(action: game.Action) -> actions_pb2.Action:
    """The action of a game as a message, shared."""
    field = game.action_name(type(action))
    return actions_pb2.Action(**{field: _GAME_FORMS[field].write(action)})


@lru_cache(_KEPT)
def action_field(action: game.Action, number: int) -> bytes:
    """The action of a game, encoded as the field with this number of another message."""
    return field_bytes(number, action_message(action).SerializeToString())


def room_action_message(action: room.RoomAction) -> actions_pb2.Action | None:
    """The action of a room as a message, for replays; None for what only the server does, which has no public form."""
    if isinstance(action, room.Act):
        return action_message(action.action)
    if isinstance(action, room.TakeSeat):
        return actions_pb2.Action(take_seat=actions_pb2.Action.TakeSeat(seat=action.seat))
    if isinstance(action, room.ChangeOptions):
        return actions_pb2.Action(change_options=_write_change_options(action))
    field = game.action_name(type(action))
    if field not in _ROOM_FORMS:
        return None
    return actions_pb2.Action(**{field: _ROOM_FORMS[field].write(action)})


def _write_change_options(action: room.ChangeOptions) -> actions_pb2.Action.ChangeOptions:
    written = actions_pb2.Action.ChangeOptions()
    if action.preset is not None:
        written.ruleset.CopyFrom(choice_message(action.preset, action.options))
    if action.settings:
        written.settings.CopyFrom(chosen_settings_message(action.settings))
    return written
