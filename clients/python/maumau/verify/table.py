"""What both kinds of table have in common: hands, a stock in its order, and checks that name what is wrong."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from maumau.v1 import cards_pb2, events_pb2
from maumau.verify.fair import FairMatch
from maumau.verify.packs import Card, faces
from maumau.verify.report import Wrong


class Table:
    """The cards of a round. `stock` has the next card last. A subclass has a method for each event that moves cards,
    by the event's name in the contract; other events are not looked at."""

    def __init__(self, match: FairMatch, seats: int, dealer: int) -> None:
        self.match = match
        self.seats = seats
        self.round = 0
        self.running = False
        self.first_dealer = dealer
        self.hands: list[list[Card]] = []
        self.stock: list[Card] = []
        self.scores: list[int] = []
        self.dealt = self.drawn = self.shuffles = 0

    def follow(self, event: events_pb2.Event) -> None:
        """Takes in the next event. Raises Wrong."""
        kind = event.WhichOneof("event")
        handler = getattr(self, f"on_{kind}", None)
        if handler is not None:
            if not self.running and kind != "round_started":
                raise Wrong(f"{kind} outside a round")
            handler(getattr(event, str(kind)))

    # Rounds.

    def begin(self, event: events_pb2.Event.RoundStarted) -> None:
        """The next round begins; its dealer is the one that was announced, in the first round that of the proof."""
        expect(not self.running, "a round begins before the one before has ended")
        self.round += 1
        expect(event.round == self.round, f"round {event.round} comes where round {self.round} should")
        expect(self.round > 1 or event.dealer == self.first_dealer, "the first dealer is not the one of the proof")
        self.running = True

    def compare_deal(self, event: events_pb2.Event.RoundStarted) -> None:
        """The hands and counts of the deal are those that the seed gives."""
        expect(len(event.hands) == self.seats, "the deal does not show all hands")
        for seat, hand in enumerate(event.hands):
            expect(faces(hand.cards) == self.hands[seat], f"seat {seat} was dealt other cards than the seed gives")
        expect(list(event.hand_sizes) == [len(hand) for hand in self.hands], "the hands have other sizes")
        expect(event.stock_size == len(self.stock), "the stock has another size")
        self.dealt += sum(len(hand) for hand in self.hands)

    def on_round_ended(self, event: events_pb2.Event.RoundEnded) -> None:
        """All hands are shown, and the scores grow by the points."""
        expect(event.round == self.round, f"round {event.round} ends where round {self.round} should")
        for seat in range(self.seats):
            shown = faces(event.hands[seat].cards) if seat < len(event.hands) else []
            expect(sorted(shown) == sorted(self.hands[seat]), f"seat {seat} shows other cards than it holds")
        before = self.scores or [0] * len(event.points)
        self.scores = [score + points for score, points in zip(before, event.points, strict=True)]
        expect(list(event.scores) == self.scores, "the scores are not the sums of the points")
        self.running = False

    # Cards.

    def draw(self) -> Card:
        """The next card of the stock."""
        expect(bool(self.stock), "a card is drawn where there is none")
        self.drawn += 1
        return self.stock.pop()

    def draw_these(self, cards: Iterable[Card], whose: str) -> list[Card]:
        """The next cards of the stock, which have to be these."""
        drawn = []
        for card in cards:
            expect(self.draw() == card, f"{whose} drew another card than the seed gives")
            drawn.append(card)
        return drawn

    def take_from_hand(self, seat: int, cards: Sequence[Card]) -> None:
        """Cards leave a hand, in which they have to be."""
        hand = self.hand(seat)
        for card in cards:
            expect(card in hand, f"seat {seat} lays down a card that it does not hold")
            hand.remove(card)

    def hand(self, seat: int) -> list[Card]:
        expect(0 <= seat < len(self.hands), f"there is no seat {seat}")
        return self.hands[seat]


def expect(holds: bool, sentence: str) -> None:
    """Raises Wrong with this sentence unless it holds."""
    if not holds:
        raise Wrong(sentence)


def drawn_by(event: Any) -> tuple[int, list[Card]]:
    """Seat and cards of an event that shows all its cards."""
    cards: Iterable[cards_pb2.Card] = event.cards
    shown = faces(cards)
    expect(event.count == len(shown), f"the event shows {len(shown)} of {event.count} cards")
    return event.seat, shown
