"""What happened, in the past tense: the events that `apply` returns, in order.

An event as the engine makes it is complete. `engine.view_event(event, viewer)` builds, field by field, what one
viewer may know: a field listed under "hidden" is then replaced by its public form. Counts are always public.
Hidden fields hold cards; everything else is public by the rules.
"""

from __future__ import annotations

from enum import Enum

import msgspec

from services.rules.actions import Word
from services.rules.cards import Card, Suit

Points = tuple[int, ...]
"""One number a seat, or a partnership in Tranca, in order."""


class DrawCause(Enum):
    """Why cards came to a hand. Values are stable and stored."""

    TURN = 1
    DEBT = 2
    CARD_EFFECT = 3  # a start card, the previous player's card, takeN
    CALL_MISSED = 4
    CALL_FALSE = 5
    ACCUSE_FALSE = 6
    CHALLENGE_LOST = 7
    CHALLENGE_WON_AGAINST = 8
    LAST_TO_REACT = 9
    SPOKE = 10
    ILLEGAL_PLAY = 11
    RED_THREE = 12
    FINISH_ANSWERED = 13


class RoundEndCause(Enum):
    """Why a round ended. Values are stable and stored."""

    HAND_EMPTY = 1
    BLOCKED = 2
    CLOSED = 3  # Tranca: a partnership closed the deal
    STOCK_OUT = 4  # Tranca: a card was due and there was none


class MatchEndCause(Enum):
    """Why a match ended. Values are stable and stored."""

    SINGLE_ROUND = 1
    TARGET_REACHED = 2
    ROUNDS_PLAYED = 3
    VERSION_LIMIT = 4  # the room's limit of versions; decided by the room
    ABORTED = 5  # decided by the room
    DESERTED = 6  # all people but one (or one partnership) left on purpose; decided by the room


class Meld(msgspec.Struct, frozen=True, gc=False):
    """A meld on the table. `id` is unique in the round, `canasta` is none, dirty or clean; a run stores its cards in
    order with the two in its present place, a set in the order of laying."""

    id: str
    partnership: int
    cards: tuple[Card, ...]
    canasta: str = "none"


class _Event(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    # As with actions: never part of a reference cycle.
    pass


class RoundStarted(_Event, frozen=True):
    """Cards were dealt. Round from 1; `hands` is hidden but the viewer's own; pozzetti are never shown."""

    round: int
    dealer: int
    hands: tuple[tuple[Card, ...], ...]
    hand_sizes: tuple[int, ...]
    stock_size: int
    top: Card | None


class StartCardReturned(_Event, frozen=True):
    """The card turned up first went back into the stock, which was shuffled; another was turned up."""

    returned: Card
    top: Card


class TurnStarted(_Event, frozen=True):
    """This seat is on turn (again). `debt` cards are owed."""

    seat: int
    debt: int = 0


class CardsPlayed(_Event, frozen=True):
    """One card, or a group in order; the last is the new top card. `left` cards remain in the hand."""

    seat: int
    cards: tuple[Card, ...]
    wish: Suit | None = None
    jumped_in: bool = False
    left: int = 0


class SuitChosen(_Event, frozen=True):
    """The suit of a start wild was named."""

    seat: int
    suit: Suit


class CardsDrawn(_Event, frozen=True):
    """Cards came to a hand from the stock. `cards` is hidden from all other seats; `count` may be 0."""

    seat: int
    count: int
    cards: tuple[Card, ...]
    cause: DrawCause


class DebtRaised(_Event, frozen=True):
    """The next seat owes this many cards in all."""

    seat: int
    amount: int


class DebtLapsed(_Event, frozen=True):
    """What was owed is owed no more (jump-in)."""


class TurnPassed(_Event, frozen=True):
    """The seat ended its turn without a play after drawing."""

    seat: int


class SeatSkipped(_Event, frozen=True):
    """The seat was left out."""

    seat: int


class DirectionReversed(_Event, frozen=True):
    """Play now runs in this direction: 1 clockwise, -1 the other way."""

    direction: int


class PileReshuffled(_Event, frozen=True):
    """The pile below the top card became the stock."""

    stock_size: int


class Called(_Event, frozen=True):
    """A call that is in force now."""

    seat: int
    word: Word


class CalledFalsely(_Event, frozen=True):
    """A call without cause, which costs cards (they follow as `CardsDrawn`)."""

    seat: int
    word: Word


class LeftExposed(_Event, frozen=True):
    """The seat went to one card without a call; who accuses first is right."""

    seat: int


class Accused(_Event, frozen=True):
    """An accusation; `target` is the seat found guilty, None when nobody was."""

    seat: int
    target: int | None
    upheld: bool


class Challenged(_Event, frozen=True):
    """A Wild Draw Four was doubted. `hand` is what its player held: hidden from all but the challenger and him."""

    seat: int
    target: int
    upheld: bool
    hand: tuple[Card, ...]


class Accepted(_Event, frozen=True):
    """A Wild Draw Four was taken."""

    seat: int


class ContestOpened(_Event, frozen=True):
    """The seat finished and the finish may be contested or answered."""

    seat: int


class Conceded(_Event, frozen=True):
    """The seat does not contest the finish."""

    seat: int


class ReactionOpened(_Event, frozen=True):
    """Everybody must slap or shout."""

    seat: int


class Reacted(_Event, frozen=True):
    """The seat slapped or shouted."""

    seat: int


class Spoke(_Event, frozen=True):
    """The seat talked under the silence rule; the cards it costs follow as `CardsDrawn`."""

    seat: int


class SilenceBegan(_Event, frozen=True):
    """Who talks takes cards from now on."""

    seat: int


class SilenceEnded(_Event, frozen=True):
    """Talking is free again."""


class HandsMoved(_Event, frozen=True):
    """Hands were swapped or rotated. `moves` are (from seat, to seat); `hands` (by seat, after) is hidden but the
    viewer's own."""

    moves: tuple[tuple[int, int], ...]
    hands: tuple[tuple[Card, ...], ...]
    hand_sizes: tuple[int, ...]


class CardsGiven(_Event, frozen=True):
    """Cards went from one hand to another. `cards` is hidden from all but the two."""

    seat: int
    target: int
    count: int
    cards: tuple[Card, ...]


class PlayRejected(_Event, frozen=True):
    """`illegalPlay: penalty`: a card that did not fit was shown, taken back, and costs cards."""

    seat: int
    card: Card


class RedThreesLaid(_Event, frozen=True):
    """Tranca: red threes went to the table."""

    seat: int
    cards: tuple[Card, ...]


class StockDrawn(_Event, frozen=True):
    """Tranca: one card from the stock, red threes replaced before. `card` is hidden from all other seats."""

    seat: int
    card: Card | None


class CardThrown(_Event, frozen=True):
    """Tranca, `first.redraw`: the first card drawn was thrown on the pile."""

    seat: int
    card: Card


class PileTaken(_Event, frozen=True):
    """Tranca: the pile was taken. `top` is public; `rest` (below it, to the hand) is hidden unless the ruleset shows
    the whole pile: only the taker sees it. `count` is the whole pile."""

    seat: int
    top: Card
    count: int
    rest: tuple[Card, ...]


class MeldLaid(_Event, frozen=True):
    """Tranca: a new meld."""

    seat: int
    meld: Meld


class MeldExtended(_Event, frozen=True):
    """Tranca: `cards` were added; `meld` is the meld after that."""

    seat: int
    meld: Meld
    cards: tuple[Card, ...]


class Discarded(_Event, frozen=True):
    """Tranca: the seat ended its turn with this card. `left` cards remain."""

    seat: int
    card: Card
    left: int


class KeptLast(_Event, frozen=True):
    """Tranca: the turn ended without a discard."""

    seat: int


class PozzettoTaken(_Event, frozen=True):
    """Tranca: the seat took a pozzetto for its partnership. `cards` is hidden from all others."""

    seat: int
    direct: bool
    count: int
    cards: tuple[Card, ...]


class StockRenewed(_Event, frozen=True):
    """Tranca: an untaken pozzetto became the stock."""

    stock_size: int


class RoundEnded(_Event, frozen=True):
    """The round is over; all hands are shown. `points` is what the round gave, `scores` the sums, `winner` the seat
    or partnership that ended it (None: nobody)."""

    round: int
    cause: RoundEndCause
    winner: int | None
    hands: tuple[tuple[Card, ...], ...]
    points: Points
    scores: Points


class MatchEnded(_Event, frozen=True):
    """The match is over. Places from 1, equal places shared; `winners` holds every first place (seats)."""

    cause: MatchEndCause
    scores: Points
    places: tuple[int, ...]
    winners: tuple[int, ...]


Event = (
    RoundStarted
    | StartCardReturned
    | TurnStarted
    | CardsPlayed
    | SuitChosen
    | CardsDrawn
    | DebtRaised
    | DebtLapsed
    | TurnPassed
    | SeatSkipped
    | DirectionReversed
    | PileReshuffled
    | Called
    | CalledFalsely
    | LeftExposed
    | Accused
    | Challenged
    | Accepted
    | ContestOpened
    | Conceded
    | ReactionOpened
    | Reacted
    | Spoke
    | SilenceBegan
    | SilenceEnded
    | HandsMoved
    | CardsGiven
    | PlayRejected
    | RedThreesLaid
    | StockDrawn
    | CardThrown
    | PileTaken
    | MeldLaid
    | MeldExtended
    | Discarded
    | KeptLast
    | PozzettoTaken
    | StockRenewed
    | RoundEnded
    | MatchEnded
)
