"""The stored form of a Tranca state: compact, binary, without the ruleset.

MessagePack of an array: schema number first, then the state's fields in order; a pile of cards is a string of their
codes, an enum its value. A reader refuses a schema that it does not know, and bytes that are none.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from services.rules.cards import Card, card_of_code
from services.rules.events import MatchEndCause, Meld, RoundEndCause
from services.rules.ruleset import Ruleset
from services.rules.tranca.options import options_of
from services.rules.tranca.state import TrancaState
from services.rules.views import LastRound, Phase

SCHEMA: Final = 1


class _StoredMeld(msgspec.Struct, frozen=True, array_like=True):
    id: str
    partnership: int
    cards: bytes
    canasta: str


class _StoredRound(msgspec.Struct, frozen=True, array_like=True):
    cause: int
    winner: int | None
    points: tuple[int, ...]
    hands: tuple[bytes, ...]


class _Stored(msgspec.Struct, frozen=True, array_like=True):
    schema: int
    seats: int
    round: int
    dealer: int
    turn: int
    turns: int
    phase: int
    hands: list[bytes]
    stock: bytes
    pile: bytes
    pozzetti: list[bytes]
    melds: list[_StoredMeld]
    melds_laid: int
    red_threes: list[bytes]
    taken: list[int | None]
    used: list[bool]
    scores: list[int]
    drew: int | None
    last_round: _StoredRound | None
    ended: int | None


_ENCODER: Final = msgspec.msgpack.Encoder()
_DECODER: Final = msgspec.msgpack.Decoder(_Stored)


def encode(state: TrancaState) -> bytes:
    """The stored form."""
    return _ENCODER.encode(
        _Stored(
            schema=SCHEMA,
            seats=state.seats,
            round=state.round,
            dealer=state.dealer,
            turn=state.turn,
            turns=state.turns,
            phase=state.phase.value,
            hands=[_codes(hand) for hand in state.hands],
            stock=_codes(state.stock),
            pile=_codes(state.pile),
            pozzetti=[_codes(pozzetto) for pozzetto in state.pozzetti],
            melds=[_StoredMeld(m.id, m.partnership, _codes(m.cards), m.canasta) for m in state.melds],
            melds_laid=state.melds_laid,
            red_threes=[_codes(laid) for laid in state.red_threes],
            taken=state.taken,
            used=state.used,
            scores=state.scores,
            drew=None if state.drew is None else state.drew.code,
            last_round=None if state.last_round is None else _store_round(state.last_round),
            ended=None if state.ended is None else state.ended.value,
        )
    )


def decode(ruleset: Ruleset, stored: bytes) -> TrancaState:
    """The state of a stored form. Raises ValueError for bytes that are none."""
    try:
        form = _DECODER.decode(stored)
        if form.schema != SCHEMA:
            raise ValueError(f"schema = {form.schema}; expected {SCHEMA}")
        return _state(ruleset, form)
    except (msgspec.MsgspecError, KeyError) as error:
        raise ValueError(f"not a stored Tranca state: {error}") from None


def _state(ruleset: Ruleset, form: _Stored) -> TrancaState:
    return TrancaState(
        ruleset=ruleset,
        options=options_of(ruleset),
        seats=form.seats,
        round=form.round,
        dealer=form.dealer,
        turn=form.turn,
        turns=form.turns,
        phase=Phase(form.phase),
        hands=[_cards(codes) for codes in form.hands],
        stock=_cards(form.stock),
        pile=_cards(form.pile),
        pozzetti=[_cards(codes) for codes in form.pozzetti],
        melds=[Meld(m.id, m.partnership, tuple(_cards(m.cards)), m.canasta) for m in form.melds],
        melds_laid=form.melds_laid,
        red_threes=[_cards(codes) for codes in form.red_threes],
        taken=form.taken,
        used=form.used,
        scores=form.scores,
        drew=None if form.drew is None else card_of_code(form.drew),
        last_round=None if form.last_round is None else _read_round(form.last_round),
        ended=None if form.ended is None else MatchEndCause(form.ended),
    )


def _store_round(last: LastRound) -> _StoredRound:
    return _StoredRound(last.cause.value, last.winner, last.points, tuple(_codes(hand) for hand in last.hands))


def _read_round(form: _StoredRound) -> LastRound:
    return LastRound(
        RoundEndCause(form.cause), form.winner, form.points, tuple(tuple(_cards(hand)) for hand in form.hands)
    )


def _codes(cards: Iterable[Card]) -> bytes:
    return bytes(c.code for c in cards)


def _cards(codes: bytes) -> list[Card]:
    return [card_of_code(code) for code in codes]
