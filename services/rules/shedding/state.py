"""The state of a match of Mau-Mau or UNO, as rules.md 1.2 has it, and the small changes that everything is made of.

A state is copied, then changed in place, then never changed again; the functions that change it are the ones of this
package that are reached from `game.advance`. Hands, stock and pile are lists: the next card of the stock is its last,
and so is the card right below the top card of the pile.
"""

from __future__ import annotations

from enum import Enum

from services.rules.actions import Word
from services.rules.cards import Card, Suit
from services.rules.events import CardsDrawn, DrawCause, Event, PileReshuffled, SeatSkipped, TurnStarted
from services.rules.shedding.compiled import Rules
from services.rules.shuffler import Shuffler
from services.rules.views import LastRound, Phase


class Debt(Enum):
    """The kind of cards that are owed, which says what may answer. Values are stable, stored and shown."""

    __hash__ = object.__hash__

    SEVEN = "7"
    HARD = "hard"
    DRAW_TWO = "+2"
    WILD_DRAW_FOUR = "+4"
    SKIP = "skip"
    """No cards: the seat on turn is left out unless it passes the skip on (`skip.counter`)."""


class State:
    """Everything about a match. `rules`, `log` and `chance` are not part of its value: the compiled ruleset, and while
    an action is being done the list for its events (None: nobody reads them) and the shuffler."""

    __slots__ = (
        "barred",
        "caught",
        "chance",
        "chooser",
        "dealer",
        "debt",
        "direction",
        "drew",
        "exposed",
        "exposed_serial",
        "finisher",
        "guilty",
        "hands",
        "has_drawn",
        "idle",
        "kind",
        "last",
        "last_round",
        "log",
        "phase",
        "phase_serial",
        "pile",
        "pile_serial",
        "round",
        "rules",
        "said",
        "scores",
        "seats",
        "shuffles",
        "silence",
        "start_card",
        "stock",
        "top",
        "turn",
        "turn_serial",
        "waiting",
        "wish",
    )

    rules: Rules
    seats: int
    round: int
    dealer: int
    phase: Phase
    turn: int
    direction: int
    top: Card
    pile: list[Card]
    """The cards below the top card, bottom first."""
    stock: list[Card]
    """Last card is drawn next."""
    hands: list[list[Card]]
    wish: Suit | None
    debt: int
    kind: Debt | None
    """None if and only if nothing is owed."""
    has_drawn: bool
    """The seat on turn has drawn of its own will; `drew` is the (last) card, None if there was nothing to draw."""
    drew: Card | None
    said: list[Word | None]
    exposed: int | None
    last: int | None
    """The seat that played last."""
    start_card: bool
    """The top card is the start card."""
    idle: int
    scores: list[int]
    shuffles: int
    """Shuffles of this round so far."""
    waiting: list[int]
    """Seats that still have to react or concede."""
    chooser: int | None
    finisher: int | None
    """The seat whose finish is contested or may be answered."""
    guilty: bool
    """The Wild Draw Four that waits for its answer broke its rule."""
    barred: int | None
    """The seat that drew a copy of the top card because of it and may not jump in with it."""
    caught: int | None
    """The seat that was rightly accused since the last play, draw or pass."""
    silence: bool
    last_round: LastRound | None
    turn_serial: int
    exposed_serial: int
    pile_serial: int
    phase_serial: int
    log: list[Event] | None
    chance: Shuffler | None


def copy(s: State) -> State:
    """A state of its own."""
    c = State.__new__(State)
    c.rules = s.rules
    c.seats = s.seats
    c.round = s.round
    c.dealer = s.dealer
    c.phase = s.phase
    c.turn = s.turn
    c.direction = s.direction
    c.top = s.top
    c.pile = s.pile[:]
    c.stock = s.stock[:]
    c.hands = [hand[:] for hand in s.hands]
    c.wish = s.wish
    c.debt = s.debt
    c.kind = s.kind
    c.has_drawn = s.has_drawn
    c.drew = s.drew
    c.said = s.said[:]
    c.exposed = s.exposed
    c.last = s.last
    c.start_card = s.start_card
    c.idle = s.idle
    c.scores = s.scores[:]
    c.shuffles = s.shuffles
    c.waiting = s.waiting[:]
    c.chooser = s.chooser
    c.finisher = s.finisher
    c.guilty = s.guilty
    c.barred = s.barred
    c.caught = s.caught
    c.silence = s.silence
    c.last_round = s.last_round
    c.turn_serial = s.turn_serial
    c.exposed_serial = s.exposed_serial
    c.pile_serial = s.pile_serial
    c.phase_serial = s.phase_serial
    c.log = None
    c.chance = None
    return c


def seat_after(s: State, seat: int, steps: int = 1) -> int:
    """The seat that many steps on in the direction of play."""
    return (seat + steps * s.direction) % s.seats


def seats_from(s: State, seat: int) -> list[int]:
    """All other seats in the order of play."""
    return [seat_after(s, seat, steps) for steps in range(1, s.seats)]


def enter(s: State, phase: Phase) -> None:
    """Begin a phase."""
    s.phase = phase
    s.phase_serial += 1


def clear_debt(s: State) -> None:
    """Nothing is owed any more."""
    s.debt = 0
    s.kind = None


def shuffled(s: State, cards: list[Card]) -> list[Card]:
    """The cards in the next order of this round."""
    assert s.chance is not None
    order = s.chance.shuffle(cards, s.round, s.shuffles)
    s.shuffles += 1
    return order


def draw_card(s: State) -> Card | None:
    """The next card of the stock, made of the pile below the top card where it is empty; None if there is none."""
    if not s.stock:
        if not s.pile:
            return None
        s.stock = shuffled(s, s.pile)
        s.pile = []
        if s.log is not None:
            s.log.append(PileReshuffled(stock_size=len(s.stock)))
    return s.stock.pop()


def take(s: State, seat: int, count: int, cause: DrawCause) -> list[Card]:
    """Give the seat that many cards, or as many as there are."""
    cards: list[Card] = []
    while len(cards) < count:
        card = draw_card(s)
        if card is None:
            break
        cards.append(card)
    receive(s, seat, cards, cause)
    return cards


def receive(s: State, seat: int, cards: list[Card], cause: DrawCause) -> None:
    """Cards of the stock come to a hand."""
    if cards:
        s.hands[seat].extend(cards)
        hand_grew(s, seat)
    if s.log is not None:
        s.log.append(CardsDrawn(seat=seat, count=len(cards), cards=tuple(cards), cause=cause))


def hand_grew(s: State, seat: int) -> None:
    """A call in force is lost, and nobody can be accused who holds more cards now."""
    s.said[seat] = None
    if s.exposed == seat:
        s.exposed = None


def hand_over(s: State, seat: int, steps: int = 1) -> None:
    """End the present turn; the seat that many steps from `seat` is on turn now. A call made before the play lapses
    with the turn of its seat."""
    ended = s.turn
    if s.said[ended] is not None and len(s.hands[ended]) > 1:
        s.said[ended] = None
    s.has_drawn = False
    s.drew = None
    s.turn = (seat + steps * s.direction) % s.seats
    if s.log is not None:
        s.log.extend(SeatSkipped(seat=seat_after(s, seat, step)) for step in range(1, steps))


def announce_turn(s: State) -> None:
    """A turn begins, once it is settled whose it is and nothing else has to be waited for."""
    if s.phase is Phase.PLAY or s.phase is Phase.CHALLENGE:
        s.turn_serial += 1
        if s.log is not None:
            s.log.append(TurnStarted(seat=s.turn, debt=s.debt))
