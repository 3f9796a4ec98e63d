"""Every action, actor and event that there is can be stored and read again, and older entries stay readable."""

from __future__ import annotations

import types
from collections.abc import Mapping
from enum import Enum
from typing import Any, Union, get_args, get_origin, get_type_hints

import msgspec
import pytest

from services.rules.actions import Action, Draw
from services.rules.cards import Card, parse_card
from services.rules.room import actions as a
from services.rules.room.events import RoomEvent
from services.rules.room.journal import decode_entry, encode_action, encode_entry


def sample(kind: Any) -> Any:
    """A value of this type with something in every field."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return sample(next(argument for argument in arguments if argument is not type(None)))
    if origin is tuple:
        return (sample(arguments[0]),) * 2 if arguments[-1] is ... else tuple(map(sample, arguments))
    if origin is dict:
        return {}
    if kind is Card:
        return parse_card("7S")
    if isinstance(kind, type) and issubclass(kind, Enum):
        return list(kind)[-1]
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return kind(**{name: sample(hint) for name, hint in get_type_hints(kind).items()})
    simple: Mapping[Any, Any] = {int: 3, bool: True, str: "ß", bytes: b"\x00\xff", Any: None, object: None}
    return simple[kind]


def names(kinds: tuple[type, ...]) -> list[Any]:
    return [pytest.param(kind, id=kind.__name__) for kind in kinds]


@pytest.mark.parametrize("kind", names(get_args(RoomEvent)))
def test_every_event_is_read_as_it_was_written(kind: type) -> None:
    event = sample(kind)
    assert decode_entry(encode_entry(a.Clock(), a.Start(), [event, event])).events == [event, event]


@pytest.mark.parametrize("kind", names(tuple(cls for cls in get_args(a.RoomAction) if cls is not a.Act)))
def test_every_action_is_read_as_it_was_written(kind: type) -> None:
    action = sample(kind)
    assert decode_entry(encode_entry(a.Clock(), action, [])).action == action


@pytest.mark.parametrize("kind", names(get_args(Action)))
def test_every_action_of_the_games_is_read_as_it_was_written(kind: type) -> None:
    action = a.Act(sample(kind))
    entry = decode_entry(encode_entry(a.Bot(1), action, []))
    assert entry.action == action
    assert hash(sample(kind)) == hash(entry.action.action)


@pytest.mark.parametrize("kind", names(get_args(a.Actor)))
def test_every_actor_is_read_as_it_was_written(kind: type) -> None:
    actor = sample(kind)
    assert decode_entry(encode_entry(actor, a.Start(), [])).actor == actor


def test_actions_that_differ_have_different_stored_forms() -> None:
    forms = [encode_action(sample(kind)) for kind in get_args(a.RoomAction) if kind is not a.Act]
    forms += [encode_action(a.Act(sample(kind))) for kind in get_args(Action)]
    assert len(set(forms)) == len(forms)


def test_an_entry_without_fields_that_came_later_is_readable() -> None:
    """`RemoveSeat` may once have had no `ban`."""
    stored = msgspec.msgpack.encode((["Player", "ann"], ["RemoveSeat", 2], []))
    assert decode_entry(stored).action == a.RemoveSeat(2, ban=False)


def test_no_card_shows_its_face_when_an_entry_is_printed() -> None:
    entry = decode_entry(encode_entry(a.Bot(0), a.Act(sample(get_args(Action)[0])), []))
    assert "7S" not in repr(entry)
    assert decode_entry(encode_entry(a.Bot(0), a.Act(Draw()), [])).action == a.Act(Draw())
