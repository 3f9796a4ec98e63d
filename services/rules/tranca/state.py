"""What a Tranca match is made of at any moment.

Equipment: two packs of 52 without jokers, 104 cards. Four players sit in two partnerships, seats 0 and 2 against
seats 1 and 3; where two play, each is a partnership of one. Each partnership has melds, red threes, a pozzetto that
one of its players may take, and a score.

A state is changed in place by the other modules of this package; `copy_state` makes an independent one first where the
old one must stay. Cards and laid melds are values and are shared between copies.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from services.rules.cards import PACKS, Card, Rank, Suit
from services.rules.events import MatchEndCause, Meld
from services.rules.ruleset import Ruleset
from services.rules.tranca.options import Options
from services.rules.views import LastRound, Phase

if TYPE_CHECKING:
    from services.rules.tranca.combinations import Fitting

PACK: Final = PACKS["french52"] * 2
HAND_SIZE: Final = 11
"""Cards of a dealt hand, and of a pozzetto."""

TWOS: Final = frozenset(c for c in PACK if c.rank is Rank.TWO)
RED_THREES: Final = frozenset(c for c in PACK if c.rank is Rank.THREE and c.suit in (Suit.DIAMONDS, Suit.HEARTS))
BLACK_THREES: Final = frozenset(c for c in PACK if c.rank is Rank.THREE and c.suit in (Suit.CLUBS, Suit.SPADES))
THREES: Final = RED_THREES | BLACK_THREES

PLACE: Final = tuple(max((c.rank.value for c in PACK if c.code == code), default=0) for code in range(53))
"""The rank of each card as a number, by code: looked up more often than anything else here."""


class Findings:
    """What was found out about a state, kept since it is asked for with every list of actions and can be found again:
    by partnership, what fits its melds (None: not asked yet). Any two are equal, as states are compared by what they
    hold."""

    __slots__ = ("fitting",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self) -> None:
        self.fitting: list[Fitting | None] = [None, None]

    def copy(self) -> Findings:
        new = Findings()
        new.fitting = [fit and fit.copy() for fit in self.fitting]
        return new

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Findings)

    def __repr__(self) -> str:
        return "Findings()"


class TrancaState(msgspec.Struct):
    """`turns` counts the turns begun in the match, from 1. `stock` has the next card last, `pile` its top card last,
    `pozzetti` the next one to be taken first. `melds_laid` numbers the melds of the round. By partnership:
    `red_threes`, `taken` (the seat that took the pozzetto, or None), `used` (whether that seat has had a turn with
    it) and `scores` (sums of the rounds before this one; with this one once it is over). `drew` is the card drawn
    from the stock in this turn. `ended` is set once the match is decided. Whoever changes `melds` renews `findings`."""

    ruleset: Ruleset
    options: Options
    seats: int
    round: int
    dealer: int
    turn: int
    turns: int
    phase: Phase
    hands: list[list[Card]]
    stock: list[Card]
    pile: list[Card]
    pozzetti: list[list[Card]]
    melds: list[Meld]
    melds_laid: int
    red_threes: list[list[Card]]
    taken: list[int | None]
    used: list[bool]
    scores: list[int]
    drew: Card | None
    last_round: LastRound | None
    ended: MatchEndCause | None
    findings: Findings = msgspec.field(default_factory=Findings)


def partnership_of(seat: int) -> int:
    """0 for seats 0 and 2, 1 for seats 1 and 3."""
    return seat & 1


def copy_state(state: TrancaState) -> TrancaState:
    """An independent state: what is done to one is not seen in the other."""
    return TrancaState(
        state.ruleset,
        state.options,
        state.seats,
        state.round,
        state.dealer,
        state.turn,
        state.turns,
        state.phase,
        [hand[:] for hand in state.hands],
        state.stock[:],
        state.pile[:],
        [pozzetto[:] for pozzetto in state.pozzetti],
        state.melds[:],
        state.melds_laid,
        [laid[:] for laid in state.red_threes],
        state.taken[:],
        state.used[:],
        state.scores[:],
        state.drew,
        state.last_round,
        state.ended,
        state.findings.copy(),
    )
