"""Deals and matches of Tranca from their beginning to their end: who begins, what is told, who has won."""

from __future__ import annotations

from typing import Any, Final

import pytest

from services.rules import engine
from services.rules.actions import Add, Discard, DrawStock, Keep, Meld, Play, Redraw, TakeDiscard
from services.rules.cards import Card, parse_card
from services.rules.events import (
    CardsDrawn,
    CardThrown,
    Discarded,
    DrawCause,
    Event,
    KeptLast,
    MatchEndCause,
    MatchEnded,
    MeldExtended,
    MeldLaid,
    PileTaken,
    PozzettoTaken,
    RedThreesLaid,
    RoundEndCause,
    RoundEnded,
    RoundStarted,
    StockDrawn,
    StockRenewed,
    TurnStarted,
)
from services.rules.reasons import IllegalAction, Reason
from services.rules.ruleset import make_ruleset
from services.rules.shuffler import SeededShuffler
from services.rules.tranca.state import TrancaState
from services.rules.views import Phase
from tests.scenarios.tranca import position

SHUFFLER: Final = SeededShuffler("matches")
HANDS: Final = [["4C", "9D"], ["5C", "6D"], ["7C", "8D"], ["TC", "JD"]]
CLEAN: Final = ["4H", "5H", "6H", "7H", "8H", "9H", "TH"]
POZZETTO: Final = ["4D", "5D", "6D", "7D", "8D", "9D", "TD", "KS", "KC", "QC", "JC"]


def cards(*texts: str) -> tuple[Card, ...]:
    return tuple(map(parse_card, texts))


def at(options: dict[str, Any] | None = None, **given: Any) -> TrancaState:
    return position(make_ruleset("tranca", options), {"hands": HANDS, **given})


def told(state: TrancaState, action: Any) -> list[type[Event]]:
    """The kinds of events that an action of the seat on turn causes, in order."""
    return [type(event) for event in engine.apply(state, state.turn, action, SHUFFLER).events]


def closing(options: dict[str, Any] | None = None, **given: Any) -> engine.Step:
    """Seat 0 discards its last card and closes the deal."""
    hands = given.pop("hands", [["KD"], [], [], []])
    state = at(options, turn=0, phase="meld", took=[0, 1], hands=hands, melds={"m1": [0, CLEAN]}, **given)
    return engine.apply(state, 0, Discard(parse_card("KD")), SHUFFLER)


@pytest.mark.parametrize(("players", "stock"), [(4, 38), (2, 60)])
def test_deal_leaves_hands_pozzetti_and_stock(players: int, stock: int) -> None:
    step = engine.new_match(make_ruleset("tranca", {"players": players}), players, 0, SHUFFLER)
    started = step.events[0]
    assert isinstance(started, RoundStarted)
    assert (started.round, started.dealer, started.top) == (1, 0, None)
    assert started.hand_sizes == (11,) * players
    assert started.stock_size == stock
    assert step.events[-1] == TurnStarted(seat=1)
    assert engine.view(step.state, None).last_round is None


def test_dealt_red_threes_are_laid_and_replaced_before_the_first_turn() -> None:
    for number in range(20):
        step = engine.new_match(make_ruleset("tranca"), 4, 3, SeededShuffler(f"reds/{number}"))
        laid = [event for event in step.events if isinstance(event, RedThreesLaid)]
        drawn = [event for event in step.events if isinstance(event, CardsDrawn)]
        assert sum(len(event.cards) for event in laid) == sum(event.count for event in drawn)
        assert [event.seat for event in laid] == sorted(event.seat for event in laid)
        assert {event.cause for event in drawn} <= {DrawCause.RED_THREE}
        assert {len(hand) for hand in step.state.hands} == {11}


def test_next_deal_is_dealt_by_the_next_seat_and_keeps_the_scores() -> None:
    over = closing({"match.target": 2000}, dealer=3).state
    step = engine.next_round(over, SHUFFLER)
    state = step.state
    assert (state.round, state.dealer, state.turn, state.phase) == (2, 0, 1, Phase.DRAW)
    view = engine.view(state, 0)
    assert view.scores == (350, 0)
    assert view.last_round is not None
    assert view.last_round.points == (350, 0)
    assert (state.melds, state.taken, state.used) == ([], [None, None], [False, False])
    assert state.turns > over.turns


def test_there_is_no_next_deal_before_the_end_of_one_nor_after_the_match() -> None:
    for state in (at(turn=0), closing().state):
        with pytest.raises(ValueError, match="expected ROUND_OVER"):
            engine.next_round(state, SHUFFLER)


def test_single_deal_is_the_match() -> None:
    step = closing()
    outcome = engine.outcome(step.state)
    assert outcome is not None
    assert outcome.cause is MatchEndCause.SINGLE_ROUND
    assert (outcome.scores, outcome.places, outcome.winners) == ((350, 0), (1, 3, 1, 3), (0, 2))
    assert (outcome.rounds, outcome.partnerships) == (1, (0, 1, 0, 1))
    ended, over = step.events[-2:]
    assert isinstance(ended, RoundEnded)
    assert (ended.cause, ended.winner, ended.points) == (RoundEndCause.CLOSED, 0, (350, 0))
    assert over == MatchEnded(cause=outcome.cause, scores=(350, 0), places=(1, 3, 1, 3), winners=(0, 2))


def test_equal_points_share_the_first_place() -> None:
    state = at(turn=0, took=[2, 1], hands=[["9C"], ["6D"], ["7D"], ["8D"]], stock=[])
    step = engine.apply(state, 0, DrawStock(), SHUFFLER)
    outcome = engine.outcome(step.state)
    assert outcome is not None
    assert (outcome.places, outcome.winners) == ((1, 1, 1, 1), (0, 1, 2, 3))


def test_two_seats_have_places_of_their_own() -> None:
    state = at({"players": 2}, turn=0, took=[0, 1], hands=[["9C"], ["6D"]], stock=[])
    outcome = engine.outcome(engine.apply(state, 0, DrawStock(), SHUFFLER).state)
    assert outcome is not None
    assert (outcome.places, outcome.winners, outcome.partnerships) == ((2, 1), (1,), (0, 1))


def test_match_with_a_target_goes_on_until_it_is_reached() -> None:
    assert engine.outcome(closing({"match.target": 351}).state) is None
    outcome = engine.outcome(closing({"match.target": 350}).state)
    assert outcome is not None
    assert outcome.cause is MatchEndCause.TARGET_REACHED


def test_stock_out_has_no_winner_of_the_deal() -> None:
    step = engine.apply(at(turn=0, took=[0, 1], stock=[]), 0, DrawStock(), SHUFFLER)
    (ended,) = [event for event in step.events if isinstance(event, RoundEnded)]
    assert (ended.cause, ended.winner) == (RoundEndCause.STOCK_OUT, None)


def test_only_the_seat_on_turn_is_waited_for() -> None:
    state = at(turn=2)
    assert (engine.must_act(state), engine.may_act(state)) == ((2,), ())
    assert engine.penal_actions(state, 2) == []
    over = closing().state
    assert (engine.must_act(over), engine.legal_actions(over, 1)) == ((), [])


def test_each_turn_is_a_subject_of_its_own() -> None:
    state = at(turn=0, phase="meld", stock=["QS"])
    after = engine.apply(state, 0, Discard(parse_card("9D")), SHUFFLER).state
    before, now = (engine.subjects(s) for s in (state, after))
    assert now["turn"] == before["turn"] + 1
    assert now["round"] == before["round"] == 1
    drawn = engine.apply(after, 1, DrawStock(), SHUFFLER).state
    assert engine.subjects(drawn) == now
    assert engine.acts_on(state, DrawStock()) == "turn"


def test_action_of_another_game_is_unknown() -> None:
    with pytest.raises(IllegalAction) as refusal:
        engine.apply(at(turn=0), 0, Play(parse_card("9D")), SHUFFLER)
    assert refusal.value.reason is Reason.ACTION_UNKNOWN


def test_events_of_each_action_in_order() -> None:
    melds = {"m1": [0, ["6C", "7C", "8C"]]}
    hands = [["9C", "9D", "KD", "QD"], *HANDS[1:]]
    assert told(at(turn=0, stock=["QH", "3H"][::-1]), DrawStock()) == [RedThreesLaid, StockDrawn]
    assert told(at(turn=0, stock=[], pozzetti=[POZZETTO]), DrawStock()) == [StockRenewed, StockDrawn]
    assert told(at(turn=0, hands=hands, discard=["9S"]), TakeDiscard(cards=cards("9C", "9D"))) == [PileTaken, MeldLaid]
    assert told(at(turn=0, hands=hands, discard=["9C"], melds=melds), TakeDiscard(meld="m1")) == [
        PileTaken,
        MeldExtended,
    ]
    assert told(at(turn=0, phase="meld", hands=hands, melds=melds), Add("m1", cards("9C"))) == [MeldExtended]
    assert told(
        at(turn=0, phase="meld", hands=[["9C", "9D", "9S"], *HANDS[1:]], pozzetti=[POZZETTO]),
        Meld(cards("9C", "9D", "9S")),
    ) == [MeldLaid, PozzettoTaken]
    assert told(at(turn=0, phase="meld", hands=hands), Discard(parse_card("KD"))) == [Discarded, TurnStarted]
    assert told(at(turn=0, phase="meld", hands=[["KD"], *HANDS[1:]]), Discard(parse_card("KD"))) == [
        Discarded,
        PozzettoTaken,
        TurnStarted,
    ]
    assert told(at(turn=0, phase="meld", took=[0, 1], hands=[["KD"], *HANDS[1:]]), Keep()) == [KeptLast, TurnStarted]
    assert [type(event) for event in closing().events] == [Discarded, RoundEnded, MatchEnded]


def test_thrown_first_card_is_told_to_all() -> None:
    state = at({"first.redraw": True}, turn=0, stock=["KS", "QH"])
    drawn = engine.apply(state, 0, DrawStock(), SHUFFLER).state
    step = engine.apply(drawn, 0, Redraw(), SHUFFLER)
    assert step.events == [CardThrown(seat=0, card=parse_card("KS")), StockDrawn(seat=0, card=parse_card("QH"))]


def test_run_lies_in_order_with_its_two_in_place() -> None:
    state = at(turn=0, phase="meld", hands=[["8C", "2D", "6C", "KD", "QD"], *HANDS[1:]])
    after = engine.apply(state, 0, Meld(cards("8C", "2D", "6C")), SHUFFLER).state
    assert [c.text() for c in after.melds[0].cards] == ["6C", "2D", "8C"]


def test_melds_are_numbered_through_the_deal() -> None:
    state = at(turn=0, phase="meld", hands=[["9C", "9D", "9S", "KD", "KC", "KS", "QD", "4S"], *HANDS[1:]])
    for group in (cards("9C", "9D", "9S"), cards("KD", "KC", "KS")):
        state = engine.apply(state, 0, Meld(group), SHUFFLER).state
    assert [laid.id for laid in state.melds] == ["m1", "m2"]


@pytest.mark.parametrize("stored", [b"", b"\x90", b"\x91\x63", b"nonsense", bytes(100)])
def test_bytes_that_are_no_state_are_refused(stored: bytes) -> None:
    with pytest.raises(ValueError, match="Tranca"):
        engine.decode(make_ruleset("tranca"), stored)


def test_unknown_schema_is_refused() -> None:
    stored = engine.encode(at(turn=0))
    assert stored[3] == 1  # after the header of an array of twenty: the schema number
    with pytest.raises(ValueError, match="schema = 2"):
        engine.decode(make_ruleset("tranca"), stored[:3] + b"\x02" + stored[4:])


def test_no_refusal_names_a_card() -> None:
    with pytest.raises(IllegalAction) as refusal:
        engine.apply(at(turn=0, phase="meld"), 0, Discard(parse_card("KD")), SHUFFLER)
    assert "KD" not in repr(refusal.value)
    assert refusal.value.metadata == {}
