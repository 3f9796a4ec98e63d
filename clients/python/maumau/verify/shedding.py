"""A table of Mau-Mau or UNO as a stranger keeps it."""

from __future__ import annotations

from typing import Any

from maumau.v1 import events_pb2
from maumau.verify.fair import FairMatch
from maumau.verify.packs import PACKS, Card, face, faces
from maumau.verify.table import Table, drawn_by, expect


class SheddingTable(Table):
    """See the module. `pile` has the top card last."""

    def __init__(self, match: FairMatch, seats: int, dealer: int, options: dict[str, Any]) -> None:
        super().__init__(match, seats, dealer)
        self.pack = PACKS[options["deck.pack"]] * int(options["deck.copies"])
        self.hand_size = int(options["deal.hand"])
        self.pile: list[Card] = []
        self.counter = 0
        self.announced: list[int] = []

    def _shuffle(self, cards: list[Card]) -> list[Card]:
        order = self.match.shuffled(cards, self.round, self.counter)
        self.counter += 1
        self.shuffles += 1
        return order

    def on_round_started(self, event: events_pb2.Event.RoundStarted) -> None:
        """One by one from the dealer's left, then the start card."""
        self.begin(event)
        self.counter, self.announced = 0, []
        self.stock = self._shuffle(self.pack)[::-1]
        self.hands = [[] for _ in range(self.seats)]
        for place in range(self.hand_size * self.seats):
            self.hands[(event.dealer + 1 + place) % self.seats].append(self.stock.pop())
        self.pile = [self.stock.pop()]
        self.compare_deal(event)
        expect(face(event.top) == self.pile[0], "the start card is another one than the seed gives")

    def on_start_card_returned(self, event: events_pb2.Event.StartCardReturned) -> None:
        expect(face(event.returned) == self.pile[-1], "another card goes back than lies there")
        self.stock = self._shuffle([*self.stock, self.pile.pop()])
        self.pile = [self.stock.pop()]
        expect(face(event.top) == self.pile[0], "the next start card is another one than the seed gives")

    def on_pile_reshuffled(self, event: events_pb2.Event.PileReshuffled) -> None:
        self.announced.append(event.stock_size)

    def draw(self) -> Card:
        """The next card; where the stock is empty, the pile below its top card becomes the stock."""
        if not self.stock:
            expect(bool(self.announced), "the stock was made anew and nobody was told")
            expect(self.announced.pop(0) == len(self.pile) - 1, "the new stock has another size")
            self.stock, self.pile = self._shuffle(self.pile[:-1]), self.pile[-1:]
        return super().draw()

    def on_cards_drawn(self, event: events_pb2.Event.CardsDrawn) -> None:
        seat, cards = drawn_by(event)
        hand = self.hand(seat)
        hand += self.draw_these(cards, f"seat {seat}")
        expect(not self.announced, "the stock was said to be made anew and was not")

    def on_cards_played(self, event: events_pb2.Event.CardsPlayed) -> None:
        self.take_from_hand(event.seat, faces(event.cards))
        self.pile += faces(event.cards)
        expect(event.left == len(self.hand(event.seat)), f"seat {event.seat} has another number of cards left")

    def on_play_rejected(self, event: events_pb2.Event.PlayRejected) -> None:
        expect(face(event.card) in self.hand(event.seat), f"seat {event.seat} tried a card that it does not hold")

    def on_cards_given(self, event: events_pb2.Event.CardsGiven) -> None:
        seat, cards = drawn_by(event)
        self.take_from_hand(seat, cards)
        receiver = self.hand(event.target)
        receiver += cards

    def on_hands_moved(self, event: events_pb2.Event.HandsMoved) -> None:
        before, self.hands = self.hands, [list(hand) for hand in self.hands]
        for move in event.moves:
            expect(max(move.from_seat, move.to_seat) < self.seats, "a hand moves to no seat")
            self.hands[move.to_seat] = list(before[move.from_seat])
        shown = [sorted(faces(hand.cards)) for hand in event.hands]
        expect(shown == [sorted(hand) for hand in self.hands], "the hands that moved are not those that are shown")

    def on_challenged(self, event: events_pb2.Event.Challenged) -> None:
        shown = sorted(faces(event.hand))
        expect(shown == sorted(self.hand(event.target)), f"seat {event.target} shows other cards than it holds")
