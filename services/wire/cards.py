"""Cards, suits and words on the wire."""

from __future__ import annotations

from typing import Final

from maumau.v1 import cards_pb2

from services.rules.actions import Word
from services.rules.cards import PACKS, Card, Rank, Suit, card
from services.wire.errors import invalid_field
from services.wire.forms import Form, enum_form

SUIT: Final = enum_form(Suit, cards_pb2.Suit.DESCRIPTOR)
RANK: Final = enum_form(Rank, cards_pb2.Rank.DESCRIPTOR)
WORD: Final = enum_form(Word, cards_pb2.Word.DESCRIPTOR)

_EXPECTED: Final = "a card of a pack: a French suit with TWO to ACE, a colour with NUMBER_0 to DRAW_TWO, a wild alone"
_WRITTEN: Final = {
    face: {"suit": SUIT.write(face.suit), "rank": RANK.write(face.rank)} for pack in PACKS.values() for face in pack
}


def read_card(message: cards_pb2.Card, path: str) -> Card:
    """The card with this face. Raises Refusal (INVALID_FIELD) where no pack has it."""
    rank = RANK.read(message.rank, f"{path}.rank")
    suit = SUIT.read(message.suit, f"{path}.suit") if message.suit else None
    try:
        return card(suit, rank)
    except KeyError:
        raise invalid_field(path, f"{suit.name if suit else 'no suit'} {rank.name}", _EXPECTED) from None


def card_message(face: Card) -> cards_pb2.Card:
    """The card as a message."""
    return cards_pb2.Card(**_WRITTEN[face])


CARD: Final = Form(_WRITTEN.__getitem__, read_card)
