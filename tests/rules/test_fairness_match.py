"""Whole matches: what was committed to is revealed, and who knows it deals every card again."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from services.rules import engine
from services.rules.bots.levels import BotLevel
from services.rules.cards import PACKS, Card
from services.rules.events import CardsDrawn, CardsPlayed, PileReshuffled, RoundStarted, StartCardReturned
from services.rules.fairness import DealProof, UnfairDeal, verify
from services.rules.room import actions as a
from services.rules.room.events import MatchFinished, MatchStarted, SeedCommitted
from tests.rules import independent_dealer
from tests.rules.recorded import finished
from tests.rules.rooms import BOB, Stage

OPERATOR = a.Operator()
PRESETS = ["mau-mau-32", "mau-mau-brasil", "uno", "uno-casa", "tranca"]


def test_the_commitment_is_published_before_anybody_can_be_ready_and_holds() -> None:
    stage = finished()
    kinds = [type(event).__name__ for event in stage.told]
    assert kinds.index("SeedCommitted") < kinds.index("ReadyChanged") < kinds.index("MatchStarted")
    committed = next(event for event in stage.told if isinstance(event, SeedCommitted))
    started = next(event for event in stage.told if isinstance(event, MatchStarted))
    revealed = next(event for event in stage.told if isinstance(event, MatchFinished))
    assert committed.commitment == started.proof.commitment == hashlib.sha256(revealed.seed).digest()
    assert committed.match_id == started.proof.match_id == revealed.match_id
    assert started.proof.contributions == (b"ann", b"bob", b"cid")


@pytest.mark.parametrize("preset", PRESETS)
def test_anybody_can_deal_the_match_again_from_what_was_revealed(preset: str) -> None:
    stage = finished(preset)
    started = next(event for event in stage.told if isinstance(event, MatchStarted))
    revealed = next(event for event in stage.told if isinstance(event, MatchFinished))
    dealt = next(event for event in stage.told if isinstance(event, RoundStarted))
    shuffler = verify(started.proof, revealed.seed)
    again = engine.new_match(stage.now.ruleset, started.proof.seats, started.proof.dealer, shuffler)
    assert again.events[0] == dealt
    with pytest.raises(UnfairDeal):
        verify(started.proof, bytes(32))


class IndependentStock:
    """The stock of Mau-Mau or UNO as a stranger keeps it, from seed, proof and public events alone."""

    def __init__(self, seed: bytes, proof: DealProof, pack: tuple[Card, ...]) -> None:
        self.seed, self.pack = seed, pack
        self.stated: dict[str, Any] = {
            "match_id": proof.match_id,
            "ruleset_hash": proof.ruleset_hash.hex(),
            "seats": proof.seats,
            "dealer": proof.dealer,
            "contributions": [contribution.hex() for contribution in proof.contributions],
        }
        self.round = self.shuffles = 0
        self.stock: list[Card] = []
        self.pile: list[Card] = []

    def shuffle(self, cards: list[Card]) -> list[Card]:
        order = independent_dealer.shuffled(self.seed, self.stated, len(cards), self.round, self.shuffles)
        self.shuffles += 1
        return [cards[place] for place in order]

    def deal(self, dealer: int, hand: int) -> list[list[Card]]:
        self.round, self.shuffles = self.round + 1, 0
        self.stock = self.shuffle(list(self.pack))[::-1]
        seats = self.stated["seats"]
        hands: list[list[Card]] = [[] for _ in range(seats)]
        for step in range(hand * seats):
            hands[(dealer + 1 + step) % seats].append(self.stock.pop())
        self.pile = [self.stock.pop()]
        return hands

    def put_start_card_back(self) -> Card:
        self.stock = self.shuffle([*self.stock, self.pile.pop()])
        self.pile = [self.stock.pop()]
        return self.pile[0]

    def draw(self) -> Card:
        if not self.stock:
            self.stock, self.pile = self.shuffle(self.pile[:-1]), self.pile[-1:]
        return self.stock.pop()


@pytest.mark.parametrize(("preset", "pack"), [("mau-mau-32", 1), ("mau-mau-brasil", 2), ("uno", 1), ("uno-casa", 1)])
def test_an_independent_dealer_knows_every_card_of_the_match(preset: str, pack: int) -> None:
    stage = finished(preset, bots=1, bot_level=BotLevel.RANDOM)
    ruleset = stage.now.ruleset
    cards = PACKS[str(ruleset.options["deck.pack"])] * pack
    table = IndependentStock(stage.match.seed, stage.match.proof, cards)
    hand = ruleset.options["deal.hand"]
    assert isinstance(hand, int)
    assert independent_dealer.dealer(stage.match.seed, table.stated) == stage.match.proof.dealer
    drawn = 0
    for event in stage.told:
        if isinstance(event, RoundStarted):
            dealt = table.deal(event.dealer, hand)
            assert [sorted(h, key=face) for h in event.hands] == [sorted(h, key=face) for h in dealt]
            assert event.top is table.pile[-1]
        elif isinstance(event, StartCardReturned):
            assert event.top is table.put_start_card_back()
        elif isinstance(event, CardsPlayed):
            table.pile.extend(event.cards)
        elif isinstance(event, CardsDrawn):
            assert event.cards == tuple(table.draw() for _ in event.cards)
            drawn += event.count
    assert drawn > 0
    reshuffled = [event for event in stage.told if isinstance(event, PileReshuffled)]
    assert reshuffled or preset != "mau-mau-32", "the case that matters did not come up"


def face(card: Card) -> int:
    return card.code


@pytest.mark.parametrize("cause", ["abort", "desert", "close"])
def test_a_match_that_is_cut_short_is_revealed_alike(cause: str) -> None:
    stage = Stage(people="ann bob").start()
    seed = stage.match.seed
    endings: dict[str, tuple[a.Actor, a.RoomAction]] = {
        "abort": (OPERATOR, a.AbortMatch()),
        "desert": (BOB, a.LeaveSeat()),
        "close": (OPERATOR, a.CloseRoom("maintenance")),
    }
    stage.do(*endings[cause])
    assert [event.seed for event in stage.events(MatchFinished)] == [seed]
