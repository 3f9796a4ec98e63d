"""Events on the wire. An event is given as its viewer may know it; what was hidden there has no way into a message."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final, get_args

from maumau.v1 import events_pb2

from services.rules import events as game
from services.rules.cards import Card
from services.rules.fairness import DealProof
from services.rules.room import events as room
from services.wire.cards import CARD, SUIT, WORD
from services.wire.encoding import field_bytes
from services.wire.forms import Form, Forms, enum_form, list_form, snake_case
from services.wire.rulesets import room_ruleset_message
from services.wire.settings import BOT_LEVEL, SETTINGS

_KEPT: Final = 16_384
"""Events of games whose encoded form is kept."""

_cards: Final = list_form(CARD).write


def _hand(cards: tuple[Card, ...]) -> dict[str, Any]:
    return {"cards": _cards(cards)}


def _move(move: tuple[int, int]) -> dict[str, int]:
    return {"from_seat": move[0], "to_seat": move[1]}


HAND: Final = Form(_hand)
ROUND_END_CAUSE: Final = enum_form(game.RoundEndCause, events_pb2.RoundEndCause.DESCRIPTOR)
MATCH_END_CAUSE: Final = enum_form(game.MatchEndCause, events_pb2.MatchEndCause.DESCRIPTOR)
CANASTA: Final = enum_form(("none", "dirty", "clean"), events_pb2.Canasta.DESCRIPTOR)
MELD: Final = Forms({"Card": CARD, "Canasta": CANASTA}).struct(game.Meld, events_pb2.Meld.DESCRIPTOR)
DEAL_PROOF: Final = Forms({}).struct(DealProof, events_pb2.DealProof.DESCRIPTOR)

_FORMS: Final = Forms(
    {
        "Card": CARD,
        "Suit": SUIT,
        "Word": WORD,
        "Hand": HAND,
        "HandMove": Form(_move),
        "Meld": MELD,
        "DrawCause": enum_form(game.DrawCause, events_pb2.DrawCause.DESCRIPTOR),
        "RoundEndCause": ROUND_END_CAUSE,
        "MatchEndCause": MATCH_END_CAUSE,
        "BotLevel": BOT_LEVEL,
        "Ruleset": Form(room_ruleset_message),
        "RoomSettings": SETTINGS,
        "DealProof": DEAL_PROOF,
    }
)
_OTHER_NAMES: Final = {"player": "player_id", "name": "display_name", "ms": "milliseconds"}


def _form(kind: type[Any]) -> tuple[str, Form]:
    field = snake_case(kind.__name__)
    return field, _FORMS.struct(kind, events_pb2.Event.DESCRIPTOR.fields_by_name[field].message_type, _OTHER_NAMES)


_BY_KIND: Final = {kind: _form(kind) for kind in (*get_args(game.Event), *get_args(room.RoomOnlyEvent))}
_OF_GAMES: Final = frozenset(get_args(game.Event))


def event_message(event: room.RoomEvent) -> events_pb2.Event:
    """The event as a message."""
    field, form = _BY_KIND[type(event)]
    return events_pb2.Event(**{field: form.write(event)})


def event_field(event: room.RoomEvent, number: int) -> bytes:
    """The event, encoded as the field with this number of another message. Equal events of games are encoded once,
    whoever views them."""
    if type(event) in _OF_GAMES:
        return _kept_field(event, number)
    return field_bytes(number, event_message(event).SerializeToString())


@lru_cache(_KEPT)
def _kept_field(event: game.Event, number: int) -> bytes:
    return field_bytes(number, event_message(event).SerializeToString())
