"""The stored form of a state: MessagePack, an array in a fixed order, cards as bytes of their codes.

The first element is the schema number. A field is only ever added at the end, under a new number.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from services.rules.actions import Word
from services.rules.cards import Card, Suit, card_of_code
from services.rules.events import RoundEndCause
from services.rules.shedding.compiled import Rules
from services.rules.shedding.state import Debt, State
from services.rules.views import LastRound, Phase

SCHEMA: Final = 1
_ENCODER: Final = msgspec.msgpack.Encoder()

_KINDS: Final = (None, *Debt)
_WORDS: Final = (None, *Word)
_KIND_NUMBER: Final = {kind: number for number, kind in enumerate(_KINDS)}
_WORD_NUMBER: Final = {word: number for number, word in enumerate(_WORDS)}


def encode(s: State) -> bytes:
    """The stored form, without the ruleset."""
    flags = s.has_drawn | s.start_card << 1 | s.guilty << 2 | s.silence << 3
    return _ENCODER.encode(
        (
            SCHEMA,
            s.round,
            s.dealer,
            s.phase.value,
            s.turn,
            s.direction,
            s.top.code,
            _codes(s.pile),
            _codes(s.stock),
            [_codes(hand) for hand in s.hands],
            s.wish.value if s.wish else 0,
            s.debt,
            _KIND_NUMBER[s.kind],
            s.drew.code if s.drew else 0,
            bytes(_WORD_NUMBER[word] for word in s.said),
            s.exposed,
            s.last,
            s.idle,
            s.scores,
            s.shuffles,
            bytes(s.waiting),
            s.chooser,
            s.finisher,
            s.barred,
            s.caught,
            flags,
            _last_round(s.last_round),
            (s.turn_serial, s.exposed_serial, s.pile_serial, s.phase_serial),
        )
    )


def decode(rules: Rules, stored: bytes) -> State:
    """The state of a stored form. Raises ValueError for bytes that are none."""
    try:
        return _decoded(rules, msgspec.msgpack.decode(stored))
    except (msgspec.DecodeError, ValueError, KeyError, IndexError, TypeError) as error:
        raise ValueError("these bytes are no stored state of a shedding game") from error


def _decoded(rules: Rules, fields: list[Any]) -> State:
    if fields[0] != SCHEMA:
        raise ValueError(f"schema {fields[0]}; expected {SCHEMA}")
    s = State()
    s.rules = rules
    s.log = s.chance = None
    _, s.round, s.dealer, phase, s.turn, s.direction, top, pile, stock, hands, *fields = fields
    wish, s.debt, kind, drew, said, s.exposed, s.last, s.idle, s.scores, s.shuffles, *fields = fields
    waiting, s.chooser, s.finisher, s.barred, s.caught, flags, last_round, serials = fields
    s.seats = len(hands)
    s.phase = Phase(phase)
    s.top = card_of_code(top)
    s.pile, s.stock = _cards(pile), _cards(stock)
    s.hands = [_cards(hand) for hand in hands]
    s.wish = Suit(wish) if wish else None
    s.kind = _KINDS[kind]
    s.drew = card_of_code(drew) if drew else None
    s.said = [_WORDS[number] for number in said]
    s.waiting = list(waiting)
    s.has_drawn, s.start_card, s.guilty, s.silence = (bool(flags >> bit & 1) for bit in range(4))
    s.last_round = _last_round_of(last_round)
    s.turn_serial, s.exposed_serial, s.pile_serial, s.phase_serial = serials
    return s


def _codes(cards: Sequence[Card]) -> bytes:
    return bytes([card.code for card in cards])


def _cards(codes: bytes) -> list[Card]:
    return [card_of_code(code) for code in codes]


def _last_round(last: LastRound | None) -> tuple[Any, ...] | None:
    if last is None:
        return None
    return last.cause.value, last.winner, last.points, [_codes(hand) for hand in last.hands]


def _last_round_of(stored: list[Any] | None) -> LastRound | None:
    if stored is None:
        return None
    cause, winner, points, hands = stored
    shown = tuple(tuple(_cards(hand)) for hand in hands)
    return LastRound(cause=RoundEndCause(cause), winner=winner, points=tuple(points), hands=shown)
