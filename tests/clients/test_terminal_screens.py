"""Every screen fits 80 by 24 and shows what a player needs, whatever the game and however full the table."""

from __future__ import annotations

import re
from collections import deque

import pytest
from maumau.terminal.choices import choices
from maumau.terminal.display import Painter
from maumau.terminal.faces import card_text, rank_sign
from maumau.terminal.labels import action_label
from maumau.terminal.layout import HEIGHT, WIDTH, Showing
from maumau.terminal.names import given_name
from maumau.terminal.rules_page import rules_lines
from maumau.terminal.screen import draw, rules_pages, rules_screen
from maumau.terminal.words import event_words
from maumau.v1 import actions_pb2, cards_pb2, events_pb2, room_pb2, rules_pb2
from rich.text import Text

from tests.clients.real_rooms import moments
from tests.clients.terminals import ScreenStream

Action = actions_pb2.Action
SILENT_EVENTS = {"turn_started", "seed_committed", "match_finished", "round_ready", "room_created", "host_changed"}


def card(text: str) -> cards_pb2.Card:
    """`7S`, `TD`, or UNO's `R5`, `G+2`, `W4`."""
    uno = {"R": cards_pb2.SUIT_RED, "Y": cards_pb2.SUIT_YELLOW, "G": cards_pb2.SUIT_GREEN, "B": cards_pb2.SUIT_BLUE}
    french = {"C": cards_pb2.SUIT_CLUBS, "D": cards_pb2.SUIT_DIAMONDS, "H": cards_pb2.SUIT_HEARTS}
    ranks = {rank_sign(rank): rank for rank in cards_pb2.Rank.values() if 2 <= rank <= cards_pb2.RANK_ACE}
    if text == "W4":
        return cards_pb2.Card(rank=cards_pb2.RANK_WILD_DRAW_FOUR)
    if text[0] in uno:
        rank = cards_pb2.RANK_DRAW_TWO if text[1:] == "+2" else cards_pb2.RANK_NUMBER_0 + int(text[1:])
        return cards_pb2.Card(suit=uno[text[0]], rank=cards_pb2.Rank.ValueType(rank))
    rank = ranks["10" if text[0] == "T" else text[0]]
    return cards_pb2.Card(suit=french.get(text[1], cards_pb2.SUIT_SPADES), rank=rank)


def full_table(preset: str, seats: int, hand: list[str]) -> room_pb2.RoomView:
    """A shedding round with long names, many cards, a debt and everything that can be on."""
    view = room_pb2.RoomView(room_id="r" * 26, version=99, state=room_pb2.ROOM_STATE_PLAYING, own_seat=1)
    view.ruleset.preset = view.ruleset.game = preset
    for number in range(seats):
        view.seats.add(kind=events_pb2.SEAT_KIND_PERSON, display_name=f"Someone with a name {number}")
    game = view.shedding
    game.phase, game.round, game.turn, game.direction, game.debt = room_pb2.PHASE_PLAY, 12, 1, -1, 6
    game.top.CopyFrom(card("JS" if preset.startswith("mau") else "R5"))
    game.suit = game.wish = cards_pb2.SUIT_DIAMONDS if preset.startswith("mau") else cards_pb2.SUIT_BLUE
    game.hand.extend(card(text) for text in hand)
    game.hand_sizes.extend([1, *[len(hand)] * (seats - 1)])
    game.calls.extend([cards_pb2.WORD_MAU, *[cards_pb2.WORD_UNSPECIFIED] * (seats - 1)])
    game.scores.extend(range(100, 100 + seats))
    game.stock_size, game.pile_size, game.exposed = 30, 11, 2
    for held in game.hand:
        view.legal.actions.add().play.card.CopyFrom(held)
    return view


def plain(lines: list[Text]) -> list[str]:
    assert len(lines) <= HEIGHT
    assert all(line.cell_len <= WIDTH for line in lines)
    return [line.plain.rstrip() for line in lines]


HANDS = {
    "mau-mau-32": [
        "7C",
        "8C",
        "9C",
        "TC",
        "JC",
        "QC",
        "KC",
        "AC",
        "7D",
        "8D",
        "9D",
        "TD",
        "JD",
        "QD",
        "7H",
        "8H",
        "9H",
    ],
    "mau-mau-brasil": ["2C", "3C", "4C", "5C", "6C", "7C", "8C", "9C", "TC", "JC", "QC", "KC", "AC", "2D", "3D", "4D"],
    "uno": ["R0", "R1", "R2", "R+2", "Y3", "Y4", "Y5", "Y+2", "G6", "G7", "G8", "G+2", "B9", "B0", "B+2", "W4", "W4"],
}


@pytest.mark.parametrize("preset", HANDS)
@pytest.mark.parametrize("seats", [2, 4, 10])
def test_a_full_table_fits_and_shows_all_that_matters(preset: str, seats: int) -> None:
    view = full_table(preset, seats, [*HANDS[preset], *HANDS[preset][:3]])
    view.seats[0].display_name = "Bea"
    happened = [Text(f"event {number}") for number in range(20)]
    lines = plain(draw(view, Showing(happened=happened, seconds_left=23, typed="1")))
    text = "\n".join(lines)
    for number in range(1, seats):
        assert given_name(view, number) in text
    assert "Bea" in text
    assert "▶ Someone with a…" in text
    assert "Mau!" in text
    assert f"Top card {card_text(view.shedding.top).plain}" in text
    assert "Wish" in text
    assert "Owed 6 cards" in text
    assert "the other way" in text
    assert all(card_text(held).plain in text for held in view.shedding.hand)
    assert "event 19" in text
    assert "23 s" in text
    assert "  1 " in text
    assert lines[-1] == "> 1"


@pytest.mark.parametrize("name", ["卓越" * 12, "🂡🂱🃁🃑" * 6, "Ünïcödé-Nämé-dèr-längé", "ab"])
def test_names_of_any_width_fit(name: str) -> None:
    view = full_table("uno", 4, HANDS["uno"])
    for seat in view.seats:
        seat.display_name = name
    view.ClearField("own_seat")
    plain(draw(view, Showing(happened=[Text(name * 5)])))


def test_a_long_list_of_choices_has_pages_and_keeps_its_numbers() -> None:
    view = full_table("mau-mau-32", 10, HANDS["mau-mau-32"])
    view.legal.ClearField("actions")
    for suit in (cards_pb2.SUIT_CLUBS, cards_pb2.SUIT_DIAMONDS, cards_pb2.SUIT_HEARTS, cards_pb2.SUIT_SPADES):
        for rank in (7, 8, 9, 10, 11, 12, 13, 14):
            play = Action.Play(card=cards_pb2.Card(suit=suit, rank=cards_pb2.Rank.ValueType(rank)), wish=suit)
            view.legal.actions.add(play=play)
    first, second = (plain(draw(view, Showing(page=page))) for page in (0, 1))
    assert any("page 1 of" in line for line in first)
    assert any(line.lstrip().startswith("1 7♣ wish ♣ clubs") for line in first)
    assert any("page 2 of" in line for line in second)
    shown = "\n".join(first + second)
    assert all(f"{number:>3} " in shown for number in range(1, 12))


def test_tranca_shows_melds_of_both_pairs() -> None:
    view = room_pb2.RoomView(room_id="room", version=5, state=room_pb2.ROOM_STATE_PLAYING, own_seat=0)
    view.ruleset.preset = view.ruleset.game = "tranca"
    for name in ("Ana", "Bea", "Caio", "Davi"):
        view.seats.add(kind=events_pb2.SEAT_KIND_PERSON, display_name=name)
    game = view.tranca
    game.phase, game.round, game.turn, game.stock_size, game.discard_size = room_pb2.PHASE_MELD, 2, 0, 30, 12
    game.discard_top.CopyFrom(card("QS"))
    game.hand.extend(card(text) for text in HANDS["mau-mau-brasil"] + ["5D", "6D", "7D", "8D"])
    game.hand_sizes.extend([20, 11, 11, 11])
    game.pozzetti = 1
    game.partnerships.add(seats=[0, 2], score=1200, red_threes=[card("3H")])
    game.partnerships.add(seats=[1, 3], score=-75, pozzetto_seat=3)
    for number in range(24):
        game.melds.add(
            id=f"m{number + 1}",
            partnership=number % 2,
            cards=[card(text) for text in ("4H", "5H", "6H", "7H", "2C", "9H", "TH")],
            canasta=events_pb2.CANASTA_DIRTY,
        )
    text = "\n".join(plain(draw(view, Showing(happened=[Text("You drew 5♥")] * 9))))
    assert "Pair 1: you & Caio  1200 points  red threes 3♥" in text
    assert "Pair 2: Bea & Davi  -75 points" in text
    assert "m1 ♥4-10+2(7) ☆" in text
    assert "m2 ♥4-10+2(7) ☆" in text
    assert "top Q♠" in text
    assert "Your hand" in text
    assert "You drew 5♥" in text


@pytest.mark.parametrize(
    ("preset", "seats"), [("mau-mau-32", 4), ("mau-mau-brasil", 6), ("uno-casa", 8), ("uno-mattel", 3), ("tranca", 4)]
)
def test_whole_matches_of_the_real_rules_are_drawn_and_told(preset: str, seats: int) -> None:
    happened: deque[Text] = deque(maxlen=12)
    for moment in moments(preset, seats, 5, viewers=["p0"]):
        for event in moment.update.events:
            words = event_words(moment.after, event)
            if words is None:
                assert event.WhichOneof("event") in SILENT_EVENTS
            else:
                happened.append(words)
        lines = plain(draw(moment.after, Showing(happened=list(happened), seconds_left=9)))
        assert lines[-1] == ">"
        offered = len(choices(moment.after))
        assert not offered or any(line.startswith("  1 ") for line in lines)


def test_the_score_table_names_rounds_sums_and_the_winner() -> None:
    last = None
    for moment in moments("mau-mau-32", 3, 2, viewers=["p0"], limit=4000):
        if moment.after.HasField("outcome") and moment.after.state == room_pb2.ROOM_STATE_FINISHED:
            last = moment.after
    assert last is not None
    lines = plain(draw(last, Showing()))
    text = "\n".join(lines)
    assert "The match is over." in text
    winner = given_name(last, last.outcome.winners[0])
    assert "You won!" in text or f"{winner} won." in text
    for number in range(3):
        assert any(str(last.shedding.scores[number]) in line for line in lines)
        assert f"place {last.outcome.places[number]}" in text
    assert f"round {last.rounds[-1].round}" in text
    assert "play again" in text


@pytest.mark.parametrize(("target", "rounds"), [("rounds:4", [1, 2, 3, 4]), ("rounds:9", [6, 7, 8, 9])])
def test_however_many_rounds_a_match_had_its_end_shows_every_place(target: str, rounds: list[int]) -> None:
    *_, (_, _, _, last) = (
        moment
        for moment in moments("mau-mau-32", 3, 2, viewers=["p0"], options={"match.target": target}, limit=9_000)
        if moment.after.state == room_pb2.ROOM_STATE_FINISHED
    )
    lines = plain(draw(last, Showing()))
    for number, place in enumerate(last.outcome.places):
        assert any(line.endswith(f"{last.shedding.scores[number]}  place {place}") for line in lines), lines
    assert re.findall(r"round (\d+)", "\n".join(lines[1:])) == [str(number) for number in rounds]


def test_the_rules_of_a_room_take_pages_of_24_lines() -> None:
    preset = rules_pb2.Preset(ruleset=rules_pb2.Ruleset(preset="mau-mau-32"), title="Mau-Mau")
    for number in range(40):
        option = preset.options.add(key=f"option.{number}", sentence="What it does. " * 12)
        option.preset_value.choice = "as printed"
    view = room_pb2.RoomView()
    view.ruleset.options["option.3"].choice = "changed"
    showing = Showing(rules=rules_lines(preset, view))
    pages = [plain(rules_screen(showing, page)) for page in range(rules_pages(showing))]
    text = "\n".join(line for page in pages for line in page)
    assert all(f"option.{number} = " in text for number in range(40))
    assert "option.3 = changed" in text
    assert f"page 1 of {len(pages)}" in pages[0][0]


@pytest.mark.parametrize("kind", [field.name for field in Action.DESCRIPTOR.oneofs_by_name["action"].fields])
def test_every_action_has_a_label(kind: str) -> None:
    action = Action()
    getattr(action, kind).SetInParent()
    action.play_many.cards.add(rank=cards_pb2.RANK_WILD) if kind == "play_many" else None
    label = action_label(full_table("uno", 2, ["R5"]), action).plain
    assert label
    assert "_" not in label


def test_colours_are_left_out_when_the_person_does_not_want_them(monkeypatch: pytest.MonkeyPatch) -> None:
    red = card_text(card("7H"))
    assert "31m" in Painter(ScreenStream(), styled=True).paint(red)  # type: ignore[arg-type]
    monkeypatch.setenv("NO_COLOR", "1")
    assert "31m" not in Painter(ScreenStream(), styled=True).paint(red)  # type: ignore[arg-type]


def test_suits_are_letters_where_the_encoding_has_no_signs() -> None:
    stream = ScreenStream()
    stream.encoding = "ascii"
    assert Painter(stream, styled=False).paint(card_text(card("7H"))) == "7h"  # type: ignore[arg-type]
