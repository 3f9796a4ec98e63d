"""A table of Tranca as a stranger keeps it."""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

from maumau.v1 import events_pb2
from maumau.verify.fair import FairMatch
from maumau.verify.packs import PACKS, RED_THREES, Card, face, faces
from maumau.verify.table import Table, drawn_by, expect

HAND: Final = 11
POZZETTI: Final = 2


class TrancaTable(Table):
    """See the module. `pile` has the top card last; `melds` by their ids."""

    def __init__(self, match: FairMatch, seats: int, dealer: int, options: dict[str, Any]) -> None:
        super().__init__(match, seats, dealer)
        self.pile: list[Card] = []
        self.pozzetti: list[list[Card]] = []
        self.melds: dict[str, Counter[Card]] = {}

    def on_round_started(self, event: events_pb2.Event.RoundStarted) -> None:
        """One by one from the dealer's left, then two pozzetti; the rest is the stock."""
        self.begin(event)
        cards = self.match.shuffled(PACKS["french52"] * 2, self.round, 0)
        self.shuffles += 1
        dealt = HAND * self.seats
        self.hands = [[] for _ in range(self.seats)]
        for place in range(self.seats):
            self.hands[(event.dealer + 1 + place) % self.seats] = cards[place : dealt : self.seats]
        self.pozzetti = [cards[dealt + HAND * number : dealt + HAND * (number + 1)] for number in range(POZZETTI)]
        self.stock = cards[dealt + HAND * POZZETTI :][::-1]
        self.pile, self.melds = [], {}
        self.compare_deal(event)
        expect(not event.HasField("top"), "Tranca has no start card")

    def on_red_threes_laid(self, event: events_pb2.Event.RedThreesLaid) -> None:
        """From the hand where it was dealt them, else straight from the stock."""
        cards = faces(event.cards)
        expect(all(card in RED_THREES for card in cards), "a card is laid down as a red three that is none")
        if any(card in RED_THREES for card in self.hand(event.seat)):
            self.take_from_hand(event.seat, cards)
        else:
            self.draw_these(cards, f"seat {event.seat}")

    def on_cards_drawn(self, event: events_pb2.Event.CardsDrawn) -> None:
        seat, cards = drawn_by(event)
        hand = self.hand(seat)
        hand += self.draw_these(cards, f"seat {seat}")

    def on_stock_drawn(self, event: events_pb2.Event.StockDrawn) -> None:
        if event.HasField("card"):
            hand = self.hand(event.seat)
            hand += self.draw_these([face(event.card)], f"seat {event.seat}")

    def on_stock_renewed(self, event: events_pb2.Event.StockRenewed) -> None:
        expect(not self.stock and bool(self.pozzetti), "a pozzetto becomes the stock where it may not")
        self.stock = self.pozzetti.pop(0)[::-1]
        expect(event.stock_size == len(self.stock), "the new stock has another size")

    def on_card_thrown(self, event: events_pb2.Event.CardThrown) -> None:
        self.take_from_hand(event.seat, [face(event.card)])
        self.pile.append(face(event.card))

    def on_discarded(self, event: events_pb2.Event.Discarded) -> None:
        self.take_from_hand(event.seat, [face(event.card)])
        self.pile.append(face(event.card))
        expect(event.left == len(self.hand(event.seat)), f"seat {event.seat} has another number of cards left")

    def on_pile_taken(self, event: events_pb2.Event.PileTaken) -> None:
        taken = [*faces(event.rest), face(event.top)]
        expect(
            taken == self.pile and event.count == len(taken), "the pile that was taken is not the one that lay there"
        )
        hand = self.hand(event.seat)
        hand += taken
        self.pile = []

    def on_pozzetto_taken(self, event: events_pb2.Event.PozzettoTaken) -> None:
        seat, cards = drawn_by(event)
        hand = self.hand(seat)
        expect(not hand and bool(self.pozzetti), f"seat {seat} takes a pozzetto where it may not")
        expect(self.pozzetti.pop(0) == cards, f"the pozzetto of seat {seat} is another one than the seed gives")
        hand += cards

    def on_meld_laid(self, event: events_pb2.Event.MeldLaid) -> None:
        expect(event.meld.id not in self.melds, "a meld has the name of another one")
        self.take_from_hand(event.seat, faces(event.meld.cards))
        self.melds[event.meld.id] = Counter(faces(event.meld.cards))

    def on_meld_extended(self, event: events_pb2.Event.MeldExtended) -> None:
        expect(event.meld.id in self.melds, "cards are added to a meld that is not there")
        self.take_from_hand(event.seat, faces(event.cards))
        self.melds[event.meld.id] += Counter(faces(event.cards))
        expect(self.melds[event.meld.id] == Counter(faces(event.meld.cards)), "a meld has other cards than were laid")
