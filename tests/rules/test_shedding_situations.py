"""Situations of Mau-Mau and UNO that broke other servers, each test named after the fault it pins."""

from __future__ import annotations

from typing import Any

import pytest

from services.rules import engine
from services.rules.actions import Accept, Accuse, Call, Challenge, Choose, Draw, JumpIn, Pass, Play, React, Word
from services.rules.cards import Rank, Suit, parse_card
from services.rules.events import (
    CardsDrawn,
    CardsPlayed,
    Challenged,
    DirectionReversed,
    DrawCause,
    SeatSkipped,
    StartCardReturned,
    TurnStarted,
)
from services.rules.reasons import Reason
from services.rules.ruleset import make_ruleset
from services.rules.shedding.state import State
from services.rules.shuffler import SeededShuffler
from services.rules.views import Phase, SheddingView
from tests.rules.shedding_play import play
from tests.rules.shedding_tables import StackedShuffler, Table

STACKING = {"stack.cumulative": True}


def card(text: str, wish: Suit | None = None) -> Play:
    return Play(parse_card(text), wish)


# rule interaction


def test_a_reverse_at_a_two_seat_table_skips_the_opponent_and_says_so() -> None:
    table = Table("uno-mattel", turn=0, top="R4", hands=[["Rr", "R9", "B2"], ["R1", "Y1"]])
    table.do(0, card("Rr"))
    assert table.state.turn == 0
    assert table.refusal(1, card("R1")) is Reason.NOT_YOUR_TURN
    assert SeatSkipped(seat=1) in table.events


def test_the_named_colour_survives_the_recycling_of_the_pile() -> None:
    pile = ["W", "W", *["R1", "R2", "R3", "R4", "R5", "R6"] * 3]
    table = Table("uno", turn=0, top="R9", hands=[["W4", "B1", "Y1"], ["Y2"], ["Y3"]], stock=["G1"], pile=pile)
    table.do(0, card("W4", Suit.BLUE))
    table.do(1, Accept())
    assert table.state.wish is Suit.BLUE
    assert table.state.top.rank is Rank.WILD_DRAW_FOUR
    assert all(c.suit is None for c in engine.cards(table.state) if c.rank in (Rank.WILD, Rank.WILD_DRAW_FOUR))


def test_a_second_wild_draw_four_is_judged_by_the_colour_in_force() -> None:
    table = Table("uno", turn=2, top="W4", wish="G", hands=[["Y1"], ["Y2"], ["W4", "W", "R3", "B7"], ["Y5"]])
    table.state.stock = [parse_card("Y6")] * 8
    table.do(2, card("W4", Suit.RED))
    table.do(3, Challenge())
    assert table.size(3) == 7
    assert table.state.turn == 0


def test_a_challenge_is_not_judged_by_the_newly_named_colour() -> None:
    table = Table("uno", turn=0, top="Y4", hands=[["W4", "Rs"], ["G1"], ["G2"]], stock=["G1"] * 6)
    table.do(0, card("W4", Suit.RED))
    table.do(1, Challenge())
    assert table.size(1) == 7


@pytest.mark.parametrize(("preset", "drawn"), [("uno-mattel", {0: 0, 1: 6}), ("uno", {0: 4, 1: 0})])
def test_whether_an_equal_number_forbids_a_wild_draw_four_is_the_presets(preset: str, drawn: dict[int, int]) -> None:
    table = Table(preset, turn=0, top="Y4", hands=[["W4", "G4", "B4", "W"], ["G1"], ["G2"]], stock=["G1"] * 8)
    table.do(0, card("W4", Suit.BLUE))
    table.do(1, Challenge())
    assert {0: table.size(0) - 3, 1: table.size(1) - 1} == drawn
    assert table.state.wish is Suit.BLUE


def test_a_taken_penalty_is_counted_once() -> None:
    table = Table("uno", STACKING, turn=0, top="R9", hands=[["W4", "B1", "B2"], ["G1"] * 5, ["G2"]], stock=["Y1"] * 9)
    table.do(0, card("W4", Suit.GREEN))
    table.do(1, Accept())
    assert (table.size(1), table.state.debt, table.state.turn) == (9, 0, 2)


def test_a_plain_wild_is_no_way_out_of_a_debt() -> None:
    table = Table("uno", STACKING, turn=1, top="G+2", pend=4, hands=[["Y1"], ["W", "B+2", "G9"], ["Y2"]])
    assert table.refusal(1, card("W", Suit.BLUE)) is Reason.MUST_TAKE_OR_STACK
    assert table.refusal(1, card("G9")) is Reason.MUST_TAKE_OR_STACK
    assert table.listed(1) == [card("B+2"), Draw()]


def test_nobody_peeks_at_one_card_before_deciding_to_stack() -> None:
    table = Table("uno", STACKING, turn=1, top="G+2", pend=4, hands=[["Y1"], ["B1"] * 6, ["Y2"]], stock=["R1"] * 9)
    table.do(1, Draw())
    assert (table.size(1), table.state.debt, table.state.turn) == (10, 0, 2)
    assert [event.count for event in table.events if isinstance(event, CardsDrawn)] == [4]


def test_cards_drawn_as_a_penalty_never_have_to_be_played() -> None:
    options = {"draw.voluntary": False, "draw.mode": "until_playable"}
    table = Table("uno", options, turn=0, top="R3", hands=[["R+2", "B1", "B2"], ["G1"], ["Y9"]], stock=["R5", "G1"])
    table.do(0, card("R+2"))
    assert table.state.turn == 2
    assert table.refusal(1, card("R5")) is Reason.NOT_YOUR_TURN


def test_with_both_piles_empty_a_seat_draws_nothing_and_passes() -> None:
    table = Table("uno", turn=3, top="R1", hands=[["B2"], ["B3"], ["B4"], ["B5"], ["B6"]])
    table.do(3, Draw())
    assert table.size(3) == 1
    assert table.listed(3) == [Pass()]
    table.do(3, Pass())
    assert table.state.turn == 4


def test_after_drawing_neither_another_card_nor_another_draw() -> None:
    table = Table("uno", turn=0, top="G2", hands=[["G7", "B1"], ["B2"]], stock=["Y1", "Y2"])
    table.do(0, Draw())
    assert table.refusal(0, card("G7")) is Reason.ONLY_DRAWN_CARD
    assert table.refusal(0, Draw()) is Reason.ALREADY_DREW
    table.do(0, Pass())
    assert table.state.turn == 1


def test_a_wild_draw_four_turned_up_goes_back_and_no_card_is_lost() -> None:
    ruleset = make_ruleset("uno")
    step = engine.new_match(ruleset, 3, 0, StackedShuffler(21, "W4", "W4", "R3"))
    assert step.state.top is parse_card("R3")
    assert [type(event) for event in step.events].count(StartCardReturned) == 2
    assert step.state.stock.count(parse_card("W4")) + sum(h.count(parse_card("W4")) for h in step.state.hands) == 4
    assert len(engine.cards(step.state)) == 108


def test_a_seven_as_the_last_card_needs_no_target() -> None:
    table = Table("uno-casa", turn=0, top="G2", hands=[["G7"], ["B1"], ["B2"]], said={0: "uno"})
    assert table.refusal(0, Play(parse_card("G7"), target=1)) is None
    table.do(0, card("G7"))
    assert table.state.phase is Phase.ROUND_OVER
    assert table.hand(1) == ["B1"]


def test_the_last_stock_card_drawn_in_vain_leaves_exactly_one_way_on() -> None:
    table = Table("uno", turn=0, top="R4", hands=[["G8"], ["Y1"]], stock=["B9"])
    table.do(0, Draw())
    assert table.listed(0) == [Pass()]
    table.do(0, Pass())
    assert table.state.turn == 1


def test_nothing_of_a_round_is_carried_into_the_next() -> None:
    table = Table("mau-mau-32", turn=0, dir=-1, top="9S", hands=[["JS"], ["KH", "8H"], ["7C"]], said={0: "maumau"})
    table.do(0, card("JS", Suit.HEARTS))
    assert table.state.phase is Phase.ROUND_OVER
    after = engine.next_round(table.state, SeededShuffler(5)).state
    assert isinstance(after, State)
    assert (after.wish, after.debt, after.kind, after.exposed, after.direction) == (None, 0, None, None, 1)
    assert after.said == [None, None, None]
    assert after.scores == table.state.scores


def test_no_suit_is_asked_for_with_a_last_wild() -> None:
    table = Table("uno", turn=0, top="R4", hands=[["W"], ["Y1"]], said={0: "uno"})
    assert table.listed(0)[0] == card("W")
    table.do(0, card("W"))
    assert table.state.phase is Phase.ROUND_OVER


def test_the_turn_ends_the_same_way_whether_or_not_the_stock_ran_dry() -> None:
    for stock in (["9H"], ["9H", "8H"]):
        table = Table("mau-mau-32", turn=0, top="QC", hands=[["8D"], ["8S"]], stock=stock)
        table.do(0, Draw())
        table.do(0, Pass())
        assert table.state.turn == 1


def test_an_option_decides_about_a_jack_on_a_jack_of_the_named_suit() -> None:
    given: dict[str, Any] = {"turn": 1, "top": "JH", "wish": "S", "hands": [["8D"], ["JS", "7C"]]}
    play_it = card("JS", Suit.CLUBS)
    assert Table("mau-mau-32", {"wild.onWild": "forbidden"}, **given).refusal(1, play_it) is Reason.JACK_ON_JACK
    table = Table("mau-mau-32", **given)
    table.do(1, play_it)
    assert table.state.wish is Suit.CLUBS


def test_an_option_decides_whether_the_sevens_victim_plays_on() -> None:
    for after_take, refusal in (("lose_turn", Reason.NOT_YOUR_TURN), ("may_play", None)):
        hands = [["7H", "8D", "8C"], ["9H", "TC"], ["8S"]]
        options = {"seven.afterTake": after_take}
        table = Table("mau-mau-32", options, turn=0, top="KH", hands=hands, stock=["QC", "QD"])
        table.do(0, card("7H"))
        table.do(1, Draw())
        assert table.refusal(1, card("9H")) is refusal


def test_a_card_that_may_not_be_the_last_leaves_the_draw() -> None:
    options = {"finish.onWild": "forbidden", "draw.voluntary": False}
    table = Table("mau-mau-32", options, turn=0, top="9S", hands=[["JS"], ["8D"]], stock=["TD"], said={0: "maumau"})
    assert table.refusal(0, card("JS")) is Reason.FINISH_FORBIDDEN
    assert table.listed(0) == [Draw()]
    table.do(0, Draw())
    assert table.size(0) == 2


def test_a_call_that_a_won_challenge_leaves_without_a_fitting_card_is_no_dead_end() -> None:
    """The Draw Two answers the Wild Draw Four, but is no card to play on it: it would be action on action."""
    hands = [["W4", "G1", "G2"], ["R+2", "B5"], ["Y1", "Y2"]]
    options = {"call.timing": "before_play"}
    table = Table("uno-casa", options, turn=0, top="G5", hands=hands, stock=["Y9"] * 9)
    table.do(0, card("W4", Suit.RED))
    table.do(1, Call(Word.UNO))
    table.do(1, Challenge())
    assert table.listed(1) == [Draw()]
    assert engine.default_action(table.state, 1) == Draw()
    table.do(1, Draw())
    assert table.listed(1) == [Pass()]


def test_who_has_pressed_may_not_let_a_skip_pass_that_it_can_pass_on() -> None:
    hands = [["AS", "2C", "3C"], ["AC", "2D"], ["3D", "4D"], ["6D", "8D"]]
    table = Table("mau-mau-brasil", {"skip.counter": True}, turn=0, top="5S", hands=hands)
    table.do(0, card("AS"))
    assert table.refusal(1, Pass()) is None
    table.do(1, Call(Word.MAU))
    assert table.refusal(1, Pass()) is Reason.MUST_PLAY_AFTER_CALL
    assert table.listed(1) == [card("AC")]


@pytest.mark.parametrize("end", ["played", "blocked"])
def test_nothing_of_the_last_turn_is_left_when_the_round_is_over(end: str) -> None:
    table = Table("mau-mau-32", turn=0, top="9S", hands=[["KS"], ["7H", "8H"]], idle=1, said={0: "mau"})
    table.do(0, Draw())
    table.do(0, card("KS") if end == "played" else Pass())
    assert table.state.phase is Phase.ROUND_OVER
    view = engine.view(table.state, 0)
    assert isinstance(view, SheddingView)
    assert (view.has_drawn, view.drew) == (False, None)


# turn order


def test_a_reverse_takes_effect_at_once() -> None:
    table = Table("uno", turn=0, top="R4", hands=[["Rr", "B1", "B2"], ["Y1"], ["Y2"], ["Y3"]])
    table.do(0, card("Rr"))
    assert table.state.turn == 3
    assert table.events[1:] == [DirectionReversed(direction=-1), TurnStarted(seat=3)]


def test_the_seat_left_of_the_dealer_names_the_opening_colour_and_then_plays() -> None:
    ruleset = make_ruleset("uno")
    state = engine.new_match(ruleset, 4, 3, StackedShuffler(28, "W")).state
    assert engine.phase(state) is Phase.CHOOSE
    assert engine.must_act(state) == (0,)
    with pytest.raises(engine.IllegalAction) as refused:
        engine.apply(state, 3, Choose(Suit.RED), SeededShuffler(1))
    assert refused.value.reason is Reason.NOT_YOUR_TURN
    after = engine.apply(state, 0, Choose(Suit.BLUE), SeededShuffler(1)).state
    assert (after.turn, after.wish, after.phase) == (0, Suit.BLUE, Phase.PLAY)


@pytest.mark.parametrize(
    ("top", "turn", "size_of_seat_0", "direction"), [("Rs", 1, 7, 1), ("R+2", 1, 9, 1), ("Rr", 3, 7, -1)]
)
def test_opening_action_cards_work_on_the_right_seat(top: str, turn: int, size_of_seat_0: int, direction: int) -> None:
    state = engine.new_match(make_ruleset("uno-mattel"), 4, 3, StackedShuffler(28, top)).state
    assert (state.turn, len(state.hands[0]), state.direction) == (turn, size_of_seat_0, direction)


def test_the_deal_moves_on_whatever_the_direction_was() -> None:
    dealers: list[int] = []
    for moment in play(make_ruleset("mau-mau-32", {"match.target": "rounds:4"}), "dealers", rounds=4):
        if not dealers or dealers[-1] != moment.state.dealer:
            dealers.append(moment.state.dealer)
        seats = moment.state.seats
    assert dealers == [(dealers[0] + step) % seats for step in range(4)]


@pytest.mark.parametrize(("rotation", "dealer"), [("left", 2), ("winner", 0), ("loser", 2)])
def test_an_option_decides_who_deals_next(rotation: str, dealer: int) -> None:
    options = {"deal.rotation": rotation}
    hands = [["KS"], ["7H", "8H"], ["JD"]]
    table = Table("mau-mau-32", options, turn=0, dealer=1, top="9S", hands=hands, said={0: "mau"})
    table.do(0, card("KS"))
    assert engine.next_round(table.state, SeededShuffler(1)).state.dealer == dealer


# hidden information


def test_hands_shown_at_the_end_of_a_round_are_not_in_the_views_of_the_next() -> None:
    table = Table("mau-mau-32", turn=0, top="9S", hands=[["KS"], ["7H", "8H"], ["7C"]], said={0: "mau"})
    table.do(0, card("KS"))
    shown = engine.view(table.state, 2).last_round
    assert shown is not None
    assert [len(hand) for hand in shown.hands] == [0, 2, 1]
    later = engine.view(engine.next_round(table.state, SeededShuffler(1)).state, 2).last_round
    assert later is not None
    assert later.hands == ()


def test_every_cause_of_drawing_is_hidden_alike() -> None:
    """The drawn cards of all causes come as the same event, with the count for everybody and the faces for one."""
    causes = set()
    options = {"call.false": 2, "accuse.false": 1, "rule9": "slap", "rule7": "silence", "illegalPlay": "penalty"}
    for number in range(12):
        for moment in play(make_ruleset("uno", options), f"causes/{number}", rounds=2):
            step = engine.apply(moment.state, moment.seat, moment.action, moment.shuffler)
            for event in step.events:
                if isinstance(event, CardsDrawn) and event.count:
                    causes.add(event.cause)
                    stranger = engine.view_event(step.state, event, (event.seat + 1) % moment.state.seats)
                    assert stranger == CardsDrawn(seat=event.seat, count=event.count, cards=(), cause=event.cause)
    assert causes == {
        DrawCause.TURN,
        DrawCause.DEBT,
        DrawCause.CARD_EFFECT,
        DrawCause.CALL_MISSED,
        DrawCause.CALL_FALSE,
        DrawCause.ACCUSE_FALSE,
        DrawCause.CHALLENGE_LOST,
        DrawCause.CHALLENGE_WON_AGAINST,
        DrawCause.LAST_TO_REACT,
        DrawCause.SPOKE,
        DrawCause.ILLEGAL_PLAY,
    }


def test_the_challenged_hand_is_shown_to_the_challenger_only() -> None:
    table = Table("uno", turn=0, top="Y4", hands=[["W4", "Y1", "R3"], ["G1"], ["G2"]], stock=["G1"] * 6)
    table.do(0, card("W4", Suit.RED))
    table.do(1, Challenge())
    (challenged,) = [event for event in table.events if isinstance(event, Challenged)]
    for viewer, cards in ((1, 2), (2, 0), (None, 0)):
        seen = engine.view_event(table.state, challenged, viewer)
        assert isinstance(seen, Challenged)
        assert len(seen.hand) == cards


def test_what_others_can_do_is_not_in_a_view() -> None:
    """Two tables that differ only in whether the other seat could play or jump in look alike."""
    tables = [
        Table("uno-casa", turn=0, top="R5", last=2, hands=[["R1", "B1"], hand, ["Y1"]])
        for hand in (["R5", "R6"], ["Y2", "B9"])
    ]
    for viewer in (0, 2, None):
        assert engine.view(tables[0].state, viewer) == engine.view(tables[1].state, viewer)
    assert [engine.may_act(table.state) for table in tables] == [(1,), ()]


def test_a_card_names_itself_neither_in_a_state_nor_in_a_refusal() -> None:
    table = Table("uno", turn=0, top="R5", hands=[["G1", "B1"], ["Y2"]])
    assert "Card" in repr(card("G1"))
    assert "GREEN" not in repr(card("G1"))
    with pytest.raises(engine.IllegalAction) as refused:
        engine.apply(table.state, 0, card("G1"), SeededShuffler(1))
    assert str(refused.value) == "CARD_DOES_NOT_MATCH"
    assert refused.value.metadata == {}


# scoring, and the interface


def test_a_finish_with_a_jack_doubles_what_the_others_hold() -> None:
    table = Table(
        "mau-mau-32",
        {"score.jackFinish": 2, "score.values": {"K": 4}},
        turn=0,
        top="9S",
        hands=[["JH"], ["KC", "9H"]],
        said={0: "maumau"},
    )
    table.do(0, card("JH"))
    assert table.state.scores == [26, 0]


def test_equal_points_share_a_place_and_the_next_place_is_left_out() -> None:
    hands = [["5S"], ["TC", "TD", "TH"], ["TS", "TC", "AC"], ["KS", "QC", "AH"], ["8S", "7C"]]
    table = Table("mau-mau-brasil", turn=0, top="4S", hands=hands, said={0: "mau"})
    table.do(0, card("5S"))
    outcome = engine.outcome(table.state)
    assert outcome is not None
    assert outcome.places == (1, 5, 3, 3, 2)
    assert outcome.winners == (0,)


def test_a_suit_of_another_game_is_no_colour() -> None:
    table = Table("uno", turn=0, top="R5", hands=[["W", "B1"], ["Y2"]])
    assert table.refusal(0, card("W", Suit.HEARTS)) is Reason.WISH_REQUIRED
    assert table.refusal(0, card("W")) is Reason.WISH_REQUIRED


def test_every_wild_played_names_its_suit_and_every_draw_its_count() -> None:
    for number in range(20):
        for moment in play(make_ruleset("uno-mattel"), f"fields/{number}", rounds=1):
            step = engine.apply(moment.state, moment.seat, moment.action, moment.shuffler)
            for event in step.events:
                if isinstance(event, CardsPlayed) and event.cards[-1].suit is None and event.left:
                    assert event.wish is not None
                if isinstance(event, CardsDrawn):
                    assert event.count == len(event.cards)


def test_a_wrong_card_out_of_turn_is_refused_and_not_punished() -> None:
    table = Table("uno", {"illegalPlay": "penalty"}, turn=1, top="R5", hands=[["B1"], ["B2"], ["G3", "G4"]])
    assert table.refusal(2, card("G3")) is Reason.NOT_YOUR_TURN
    assert table.refusal(1, card("B2")) is None


def test_a_seat_that_is_none_has_no_actions_and_gets_a_spectators_view() -> None:
    table = Table("uno", turn=0, top="R5", hands=[["G1", "B1"], ["Y2"]])
    assert engine.legal_actions(table.state, 7) == []
    assert engine.penal_actions(table.state, -1) == []
    assert engine.view(table.state, 7) == engine.view(table.state, None)


@pytest.mark.parametrize("seat", [-1, 2, 99])
def test_a_seat_that_is_none_is_refused(seat: int) -> None:
    table = Table("uno-casa", turn=0, top="R5", last=1, hands=[["R5", "B1"], ["Y2"]], exposed=1)
    for action in (card("R5"), Draw(), Accuse(1), JumpIn(parse_card("R5")), React()):
        assert table.refusal(seat, action) is not None


def test_gifts_are_listed_up_to_a_bound_and_some_of_each_card_s_stay() -> None:
    big = ["R2", "B2", "G2", "Y2", *(f"{colour}{number}" for colour in "RGBY" for number in (3, 4, 5, 6))]
    table = Table("uno", {"rule2": "give"}, top="R9", turn=0, hands=[big, ["B1", "B4"], ["Y1", "Y3"], ["G1", "G4"]])
    listed = table.listed(0)
    assert len(listed) <= 200
    given = [action for action in listed if isinstance(action, Play) and action.give]
    assert {action.card.text() for action in given} == {"R2"}
    assert {action.target for action in given} == {1, 2, 3}
    for action in listed:
        assert table.refusal(0, action) is None
