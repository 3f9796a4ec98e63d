"""Which cards a viewer may be told, judged from the whole truth; every other card in a message is a leak.

Two judgements that share nothing. By place: each field of the contract that can hold a card is listed here with who may
see it, and a card anywhere else is a leak. By face, in packs without doubles: a card that lies in the stock or in
another hand is named to nobody, but for the few events in which the rules show it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from google.protobuf.message import Message
from maumau.v1 import cards_pb2, room_pb2

from services.rules import engine
from services.rules.cards import PACKS, Card
from services.rules.room.state import Room
from services.wire.cards import CARD
from tests.e2e.recorder import Recording, Truth


class Named(NamedTuple):
    """A card in a message: its place by field names, the message around it, and which of several hands it is in."""

    place: str
    card: Card
    around: Message
    hand: int


def cards_in(message: Message, place: str = "", hand: int = -1) -> Iterator[Named]:
    """Every card in a message, however deep."""
    for field, value in message.ListFields():
        inner = f"{place}.{field.name}" if place else field.name
        if field.message_type is None:
            continue
        for number, part in enumerate(value if field.is_repeated else [value]):
            if isinstance(part, cards_pb2.Card):
                yield Named(inner, CARD.read(part, inner), message, hand)
            elif isinstance(part, Message):
                yield from cards_in(part, inner, number if field.name == "hands" else hand)


PUBLIC: Final = frozenset(
    (
        *("room.shedding.top", "room.shedding.last_round.hands.cards", "room.tranca.last_round.hands.cards"),
        *("room.tranca.discard_top", "room.tranca.melds.cards", "room.tranca.partnerships.red_threes"),
        *("events.round_started.top", "events.start_card_returned.returned", "events.start_card_returned.top"),
        *("events.cards_played.cards", "events.play_rejected.card", "events.round_ended.hands.cards"),
        *("events.red_threes_laid.cards", "events.card_thrown.card", "events.pile_taken.top", "events.discarded.card"),
        *("events.meld_laid.meld.cards", "events.meld_extended.meld.cards", "events.meld_extended.cards"),
    )
)
"""Lies open on the table, or is shown to all by the rules."""

TO_SEATS: Final = {
    "events.cards_drawn.cards": ("seat",),
    "events.stock_drawn.card": ("seat",),
    "events.pile_taken.rest": ("seat",),
    "events.pozzetto_taken.cards": ("seat",),
    "events.challenged.hand": ("seat", "target"),
    "events.cards_given.cards": ("seat", "target"),
}
"""Only for the seats that these fields of the event name."""

TO_OWN_HAND: Final = frozenset(("events.round_started.hands.cards", "events.hands_moved.hands.cards"))
"""A list of hands by seat, of which each seat gets its own."""

OWN: Final = frozenset(("room.shedding.hand", "room.tranca.hand", "room.shedding.drawn"))
"""Of the own hand as it is at that version, as is everything under `legal`."""

WHOLE_PILE: Final = frozenset(("room.tranca.discard", "events.pile_taken.rest"))
"""For all where the ruleset shows the pile."""

SHOWN_ALTHOUGH_HIDDEN: Final = frozenset(
    (
        *("room.shedding.last_round.hands.cards", "events.round_ended.hands.cards"),
        *("events.start_card_returned.returned", "events.play_rejected.card"),
        *("events.challenged.hand", "events.cards_given.cards"),
    )
)
"""Events in which the rules show a card that lies in a hand or the stock."""

NO_DOUBLES: Final = ("mau-mau-32",)
"""Presets whose pack has each face once."""


def leaks(recording: Recording, truth: Truth) -> list[str]:
    """Every card that this viewer was told and may not know."""
    found, seat = [], recording.seat
    tables = {version: _Table(room) for version, room in truth.rooms.items() if room.match is not None}
    for version, message in recording.messages:
        table = tables.get(version)
        if table is None:
            continue
        for named in cards_in(message):
            if not _may_be_here(named, seat, table) or _lies_hidden(named, seat, table):
                found.append(f"version {version}: {named.place} to {seat}")
        if isinstance(message, room_pb2.Snapshot) and not _hand_is_own(message.room, seat, table):
            found.append(f"version {version}: a hand that is not the own to {seat}")
    return found


def places(recording: Recording) -> Counter[str]:
    """How many cards were told, by place."""
    return Counter(named.place for _, message in recording.messages for named in cards_in(message))


class _Table:
    """Where the cards lie at one version."""

    def __init__(self, room: Room) -> None:
        assert room.match is not None
        self.hands = [list(engine.view(room.match.state, seat).hand) for seat in range(room.match.proof.seats)]
        self.stock = list(room.match.state.stock)
        self.shows_pile = room.ruleset.options.get("discard.visible") == "all"
        self.has_doubles = room.preset not in NO_DOUBLES

    def hand(self, seat: int | None) -> list[Card]:
        return [] if seat is None else self.hands[seat]


def _may_be_here(named: Named, seat: int | None, table: _Table) -> bool:
    place = named.place
    if place in WHOLE_PILE and table.shows_pile:
        return True
    if place in PUBLIC:
        return True
    if seat is None:
        return False
    if place in TO_SEATS:
        return seat in [_number(named.around, name) for name in TO_SEATS[place]]
    if place in TO_OWN_HAND:
        return named.hand == seat
    if place in OWN or place.startswith(("legal.", "room.legal.")):
        return named.card in table.hand(seat)
    return False


def _number(message: Message, name: str) -> int:
    number: Any = getattr(message, name)
    return int(number)


def _lies_hidden(named: Named, seat: int | None, table: _Table) -> bool:
    """Whether the one card with this face is where this viewer cannot see it."""
    if table.has_doubles or named.place in SHOWN_ALTHOUGH_HIDDEN:
        return False
    others = (hand for number, hand in enumerate(table.hands) if number != seat)
    return named.card in table.stock or any(named.card in hand for hand in others)


def _hand_is_own(view: room_pb2.RoomView, seat: int | None, table: _Table) -> bool:
    game = view.tranca if view.HasField("tranca") else view.shedding
    shown = sorted(CARD.read(card, "hand").code for card in game.hand)
    return shown == sorted(card.code for card in table.hand(seat))


_FACES: Final = sorted({card.text() for pack in PACKS.values() for card in pack}, key=len, reverse=True)
_TOLD: Final = re.compile(
    rf"(?<![\w+])(?:{'|'.join(map(re.escape, _FACES))})(?![\w+])"  # 7S, R+2
    r"|SUIT_[A-Z]|RANK_[A-Z]|Rank\.[A-Z]|Suit\.[A-Z]"
    r"|\b(?:CLUBS|DIAMONDS|HEARTS|SPADES|RED|YELLOW|GREEN|BLUE) (?:[A-Z]+)\b"
    r"|\[\d+(?:,\s*\d+){2,}\]"  # codes
)
"""How a card could stand in a text."""


def faces_in(text: str) -> list[str]:
    """Every place of a text in which a card seems to be named."""
    return [found.group() for found in _TOLD.finditer(text)]
