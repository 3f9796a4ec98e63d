"""Single decisions of the heuristic bot that a person at the table would understand."""

from __future__ import annotations

import random
from typing import Any

from services.rules.actions import (
    Accept,
    Accuse,
    Action,
    Add,
    Call,
    Challenge,
    Concede,
    Discard,
    Draw,
    DrawStock,
    Meld,
    Pass,
    Play,
    React,
    Speak,
    TakeDiscard,
    Word,
)
from services.rules.bots import BotLevel, choose
from services.rules.cards import Card, Suit, parse_card
from services.rules.events import Meld as MeldOnTable
from services.rules.ruleset import make_ruleset
from services.rules.views import Phase, SheddingView, TrancaView


def cards(text: str) -> tuple[Card, ...]:
    return tuple(parse_card(face) for face in text.split())


def table(hand: str, top: str, sizes: tuple[int, ...] = (), **more: Any) -> SheddingView:
    """Seat 0 is on turn; two others hold five cards each unless stated."""
    held = cards(hand)
    known: dict[str, Any] = {
        "phase": Phase.PLAY,
        "round": 1,
        "dealer": 2,
        "turn": 0,
        "direction": 1,
        "top": parse_card(top),
        "suit": parse_card(top).suit,
        "wish": None,
        "debt": 0,
        "kind": None,
        "hand": held,
        "hand_sizes": (len(held), *(sizes or (5, 5))),
        "stock_size": 10,
        "pile_size": 3,
        "has_drawn": False,
        "drew": None,
        "said": (None, None, None),
        "exposed": None,
        "waiting": (),
        "silence": False,
        "scores": (0, 0, 0),
        "last_round": None,
    }
    return SheddingView(**{**known, **more})


def decide(view: SheddingView | TrancaView, legal: list[Action], preset: str = "mau-mau-32") -> Action:
    """The choice, which must not depend on chance here."""
    ruleset = make_ruleset(preset)
    choices = {choose(BotLevel.HEURISTIC, view, legal, 0, ruleset, random.Random(n)) for n in range(5)}
    (choice,) = choices
    return choice


def plays(text: str) -> list[Action]:
    return [Play(card) for card in cards(text)]


def wishes(face: str) -> list[Action]:
    return [Play(parse_card(face), suit) for suit in (Suit.CLUBS, Suit.DIAMONDS, Suit.HEARTS, Suit.SPADES)]


def test_it_accuses_before_anything_else() -> None:
    view = table("7S 9S", "TS", exposed=1)
    assert decide(view, [*plays("7S 9S"), Accuse(1), Draw()]) == Accuse(1)


def test_it_slaps_and_does_not_talk() -> None:
    assert decide(table("R5 R6", "R9"), [Speak(), React()], "uno") == React()
    assert decide(table("R5 R6", "R9"), [Speak(), Draw()], "uno") == Draw()


def test_it_contests_a_finish_that_was_not_called() -> None:
    assert decide(table("7S 9S", "JS"), [Concede(), Accuse(1)]) == Accuse(1)


def test_it_gets_rid_of_the_dear_card_first() -> None:
    assert decide(table("9S KS 7H 7D", "TS"), plays("9S KS")) == Play(parse_card("KS"))


def test_it_keeps_the_jack_while_another_card_fits() -> None:
    view = table("JH 9S 8D 8C", "TS")
    assert decide(view, [*wishes("JH"), *plays("9S"), Draw()]) == Play(parse_card("9S"))


def test_it_wishes_the_suit_of_which_it_holds_most() -> None:
    view = table("JH 9D 8D KC QD", "TS")
    assert decide(view, [*wishes("JH"), Draw()]) == Play(parse_card("JH"), Suit.DIAMONDS)


def test_it_plays_a_seven_on_who_is_about_to_finish() -> None:
    assert decide(table("7S KS QH 8H", "TS", sizes=(1, 5)), plays("7S KS")) == Play(parse_card("7S"))
    assert decide(table("JH KS QH 8H", "TS", sizes=(5, 5)), [*wishes("JH"), *plays("KS")]) == Play(parse_card("KS"))


def test_it_answers_a_debt_rather_than_take_it() -> None:
    assert decide(table("7H KS 9D 9H", "7S", debt=2, kind="7"), [Draw(), *plays("7H")]) == Play(parse_card("7H"))


def test_it_plays_its_last_card_whatever_it_is() -> None:
    view = table("JH", "TS", said=(Word.MAUMAU, None, None))
    assert isinstance(decide(view, [Draw(), Play(parse_card("JH"))]), Play)


def test_the_call_comes_with_the_play_that_leaves_one_card() -> None:
    assert decide(table("9S KD", "TS"), [*plays("9S"), Draw()]) == Play(parse_card("9S"), call=Word.MAU)
    assert decide(table("9S JD", "TS"), [*plays("9S"), Draw()]) == Play(parse_card("9S"), call=Word.MAUMAU)
    assert decide(table("R5 G7", "R9"), [*plays("R5"), Draw()], "uno") == Play(parse_card("R5"), call=Word.UNO)


def test_it_calls_with_a_swap_that_brings_it_one_card() -> None:
    view = table("G7 R5 R6 R8", "G2", sizes=(1, 6))
    seven = parse_card("G7")
    legal: list[Action] = [Play(seven, target=1), Play(seven, call=Word.UNO, target=1), Play(seven, target=2)]
    assert decide(view, legal, "uno-casa") == Play(seven, call=Word.UNO, target=1)


def test_where_the_call_comes_before_the_play_it_calls_first() -> None:
    view = table("9S KD", "TS")
    legal: list[Action] = [*plays("9S"), Call(Word.MAU), Draw()]
    assert decide(view, legal, "mau-mau-brasil") == Call(Word.MAU)


def test_it_doubts_a_wild_draw_four_of_a_full_hand_only() -> None:
    legal: list[Action] = [Accept(), Challenge()]
    assert decide(table("R5 R6", "W4", sizes=(5, 7), phase=Phase.CHALLENGE), legal, "uno") == Challenge()
    assert decide(table("R5 R6", "W4", sizes=(5, 2), phase=Phase.CHALLENGE), legal, "uno") == Accept()


def test_it_swaps_with_the_smallest_hand() -> None:
    view = table("G7 R5 R6 R8", "G2", sizes=(2, 6))
    legal: list[Action] = [Play(parse_card("G7"), target=1), Play(parse_card("G7"), target=2)]
    assert decide(view, legal, "uno-casa") == Play(parse_card("G7"), target=1)


def test_it_draws_before_it_passes() -> None:
    assert decide(table("9H KD", "TS"), [Pass(), Draw()]) == Draw()


# Tranca.


def deal(hand: str, pile: int = 1, melds: tuple[MeldOnTable, ...] = ()) -> TrancaView:
    held = cards(hand)
    return TrancaView(
        phase=Phase.MELD,
        round=1,
        dealer=3,
        turn=0,
        hand=held,
        hand_sizes=(len(held), 11, 11, 11),
        stock_size=30,
        discard_top=parse_card("9C"),
        discard_size=pile,
        discard=(),
        melds=melds,
        red_threes=((), ()),
        pozzetti=2,
        pozzetto_taken=(None, None),
        pozzetto_used=(False, False),
        scores=(0, 0),
        last_round=None,
    )


def test_it_takes_a_pile_that_is_worth_it() -> None:
    take = TakeDiscard(cards=cards("TC JC"))
    assert decide(deal("TC JC 4H", pile=8), [DrawStock(), take], "tranca") == take
    assert decide(deal("TC JC 4H", pile=1), [DrawStock(), take], "tranca") == DrawStock()


def test_it_melds_naturals_and_keeps_its_twos() -> None:
    natural, wild = Meld(cards("4H 5H 6H")), Meld(cards("8S 9S 2D"))
    legal: list[Action] = [natural, wild, Discard(parse_card("KC"))]
    assert decide(deal("4H 5H 6H 8S 9S 2D KC"), legal, "tranca") == natural


def test_it_spends_a_two_to_complete_a_canasta() -> None:
    run = MeldOnTable(id="a", partnership=0, cards=cards("4H 5H 6H 7H 8H 9H"))
    add = Add("a", cards("2D"))
    assert decide(deal("2D KC QS", melds=(run,)), [add, Discard(parse_card("KC"))], "tranca") == add
    short = MeldOnTable(id="a", partnership=0, cards=cards("4H 5H 6H"))
    assert isinstance(decide(deal("2D KC QS", melds=(short,)), [add, Discard(parse_card("KC"))], "tranca"), Discard)


def test_it_discards_what_helps_nobody() -> None:
    theirs = MeldOnTable(id="b", partnership=1, cards=cards("8C 9C TC"))
    view = deal("4H 5H JC KS 2D", melds=(theirs,))
    legal: list[Action] = [Discard(card) for card in cards("4H 5H JC KS 2D")]
    assert decide(view, legal, "tranca") == Discard(parse_card("KS"))


def test_it_locks_the_pile_with_a_black_three() -> None:
    legal: list[Action] = [Discard(card) for card in cards("3S KS 2D")]
    assert decide(deal("3S KS 2D"), legal, "tranca") == Discard(parse_card("3S"))
