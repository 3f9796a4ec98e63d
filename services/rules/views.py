"""What one viewer may know of a state, built from nothing, field by field.

A viewer is a seat number, or None for a spectator, who sees public cards only.
"""

from __future__ import annotations

from enum import Enum

import msgspec

from services.rules.actions import Word
from services.rules.cards import Card, Suit
from services.rules.events import Meld, Points, RoundEndCause


class Phase(Enum):
    """The named part of a round; each has its own legal actions. Values are stable and stored."""

    __hash__ = object.__hash__

    PLAY = 1
    CHALLENGE = 2  # a Wild Draw Four has to be answered
    CHOOSE = 3  # a start wild waits for its suit
    REACT = 4  # a slap or shout is being collected
    CONTEST = 5  # a Jack finish can still be contested
    ANSWER = 6  # a last 7 may be answered (`finish.sevenAnswer`)
    DRAW = 7  # Tranca: the seat on turn has not drawn
    MELD = 8  # Tranca: the seat on turn has drawn
    ROUND_OVER = 9
    MATCH_OVER = 10


class LastRound(msgspec.Struct, frozen=True):
    """How the round before ended, or this one once it is over."""

    cause: RoundEndCause
    winner: int | None
    points: Points
    hands: tuple[tuple[Card, ...], ...]


class SheddingView(msgspec.Struct, frozen=True, kw_only=True):
    """A viewer's knowledge of a Mau-Mau or UNO round.

    `hand` is the own hand, sorted, empty for a spectator; `drew` the card drawn in this turn, only for its holder;
    `suit` is the suit in force, `wish` the named one; `kind` names the debt (`7`, `hard`, `+2`, `+4`, or `skip` for a
    skip that may be passed on, with a debt of 0); `said` has a call or None for each seat; `exposed` is the seat that
    may be accused; `waiting` the seats that still have to react, concede or choose; `last_round` shows its hands only
    until the next deal."""

    phase: Phase
    round: int
    dealer: int
    turn: int
    direction: int
    top: Card
    suit: Suit | None
    wish: Suit | None
    debt: int
    kind: str | None
    hand: tuple[Card, ...]
    hand_sizes: tuple[int, ...]
    stock_size: int
    pile_size: int
    has_drawn: bool
    drew: Card | None
    said: tuple[Word | None, ...]
    exposed: int | None
    waiting: tuple[int, ...]
    silence: bool
    scores: Points
    last_round: LastRound | None


class TrancaView(msgspec.Struct, frozen=True, kw_only=True):
    """A viewer's knowledge of a Tranca deal. `discard` has the whole pile, bottom first, only where the ruleset shows
    it; `discard_top` is always shown. `melds` are of both partnerships; `red_threes` and `pozzetto_taken` (the seat
    that took it) and `pozzetto_used` are by partnership; `pozzetti` counts those not taken."""

    phase: Phase
    round: int
    dealer: int
    turn: int
    hand: tuple[Card, ...]
    hand_sizes: tuple[int, ...]
    stock_size: int
    discard_top: Card | None
    discard_size: int
    discard: tuple[Card, ...]
    melds: tuple[Meld, ...]
    red_threes: tuple[tuple[Card, ...], ...]
    pozzetti: int
    pozzetto_taken: tuple[int | None, ...]
    pozzetto_used: tuple[bool, ...]
    scores: Points
    last_round: LastRound | None


View = SheddingView | TrancaView
