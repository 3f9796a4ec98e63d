"""People leave on purpose, before a match and in it: nobody waits for ever, and nobody gains a fresh hand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from services.rules import engine
from services.rules.bots.levels import BotLevel
from services.rules.events import MatchEndCause, MatchEnded
from services.rules.room import actions as a
from services.rules.room.clock import TimerKind
from services.rules.room.events import (
    HostChanged,
    MatchFinished,
    RoomClosed,
    SeatHandedToBot,
    SeatLeft,
    SeatTaken,
    SeatTakenBack,
)
from services.rules.room.settings import Visibility
from services.rules.room.state import RoomPhase
from tests.rules.rooms import ANN, BOB, CID, CLOCK, DAN, Stage


def playing(people: str = "ann bob cid dan", preset: str = "mau-mau-32", **more: Any) -> Stage:
    return Stage(preset, people, **more).start()


def everybody_had_a_turn(stage: Stage) -> Stage:
    return stage.until(lambda room: all(counts.turns for counts in stage.match.counts))


# Before a match.


def test_leaving_before_the_start_frees_the_seat() -> None:
    stage = Stage()
    stage.do(BOB, a.LeaveSeat())
    assert stage.events(SeatLeft) == [SeatLeft(seat=1, player="bob", deserted=False)]
    assert stage.now.seats[1] is None
    stage.do(DAN, a.TakeSeat("Dan", invite=1))
    assert stage.now.seat_of("dan") == 1


def test_the_rights_of_the_host_pass_to_whoever_came_next_and_work() -> None:
    stage = Stage()
    stage.do(CID, a.TakeSeat("Cid", 3))
    stage.do(ANN, a.LeaveSeat())
    assert stage.events(HostChanged) == [HostChanged(player="bob")]
    stage.do(BOB, a.ChangeOptions(settings={"turn_seconds": 10}))
    stage.do(CID, a.SetReady(True))
    stage.do(BOB, a.Start())
    assert stage.now.phase is RoomPhase.PLAYING


def test_the_host_stays_when_another_leaves() -> None:
    stage = Stage()
    stage.do(CID, a.LeaveSeat())
    assert stage.now.host == "ann"
    assert not stage.events(HostChanged)


def test_a_room_of_bots_alone_is_closed() -> None:
    stage = Stage(people="ann", bots=2)
    stage.do(ANN, a.LeaveSeat())
    assert stage.now.phase is RoomPhase.CLOSED
    assert stage.events(RoomClosed)


# In a match.


def test_the_turn_stays_where_it_is_when_an_earlier_seat_leaves() -> None:
    stage = playing()
    stage.until(lambda room: stage.turn == 2)
    before = stage.last.clock.pending
    clock = stage.do(ANN, a.LeaveSeat()).clock
    assert stage.turn == 2
    assert clock.pending == before
    assert not clock.restart_turn
    assert clock.charge is None


def test_a_bot_plays_on_at_once_for_who_leaves_on_turn() -> None:
    stage = playing()
    seat = stage.turn
    hand = engine.view(stage.match.state, seat).hand
    clock = stage.do(stage.player(seat), a.LeaveSeat()).clock
    assert stage.events(SeatLeft)[0].deserted
    assert [(timer.kind, timer.seat) for timer in clock.pending] == [(TimerKind.BOT, seat)]
    assert engine.view(stage.match.state, seat).hand == hand
    stage.fire(TimerKind.BOT)


def test_who_left_cannot_act_until_the_seat_is_taken_again_with_the_same_hand() -> None:
    stage = playing()
    hand = engine.view(stage.match.state, 1).hand
    stage.do(BOB, a.LeaveSeat())
    for action in (a.LeaveSeat(), a.TakeBack(), a.Act(stage.sensible(stage.turn))):
        assert stage.refusal(BOB, action) == "NOT_SEATED"
    stage.do(BOB, a.TakeSeat("Bob"))
    assert stage.events(SeatTaken) == [SeatTaken(seat=1, player="bob", name="Bob")]
    assert stage.events(SeatTakenBack) == [SeatTakenBack(seat=1)]
    assert engine.view(stage.match.state, 1).hand == hand


def test_nobody_gets_another_seat_in_a_running_match() -> None:
    stage = playing("ann bob cid", settings={"visibility": Visibility.PUBLIC})
    assert stage.refusal(DAN, a.TakeSeat("Dan")) == "MATCH_RUNNING"
    stage.do(BOB, a.LeaveSeat())
    assert stage.refusal(BOB, a.TakeSeat("Bob", 3)) == "MATCH_RUNNING"
    assert stage.refusal(DAN, a.TakeSeat("Dan", 1)) == "MATCH_RUNNING"


def test_the_last_one_standing_wins_by_default_once() -> None:
    stage = everybody_had_a_turn(playing("ann bob cid"))
    stage.do(BOB, a.LeaveSeat())
    assert not stage.last.results
    stage.do(CID, a.LeaveSeat())
    (ended,) = stage.events(MatchEnded)
    assert (ended.cause, ended.winners, ended.places) == (MatchEndCause.DESERTED, (0,), (1, 2, 2))
    (result,) = stage.last.results
    assert [seat.deserted for seat in result.seats] == [False, True, True]
    assert [seat.winner for seat in result.seats] == [True, False, False]
    assert not result.unrated
    stage.do(ANN, a.LeaveSeat())
    assert stage.now.phase is RoomPhase.CLOSED
    assert not stage.last.results


def test_the_winner_by_default_gets_what_the_others_hold_and_not_the_own_cards() -> None:
    stage = everybody_had_a_turn(playing("ann bob"))
    held = engine.view(stage.match.state, 1).hand
    values = stage.now.ruleset.options["score.values"]
    assert isinstance(values, Mapping)
    stage.do(BOB, a.LeaveSeat())
    assert stage.match.scores == (sum(int(values[card.rank.letter]) for card in held), 0)
    assert stage.match.points == (stage.match.scores,)


def test_a_win_by_default_before_everybody_had_a_turn_does_not_count() -> None:
    stage = playing("ann bob")
    stage.do(BOB, a.LeaveSeat())
    (finished,) = stage.events(MatchFinished)
    assert finished.unrated
    assert stage.last.results[0].unrated


def test_three_play_on_when_one_of_four_leaves() -> None:
    stage = everybody_had_a_turn(playing())
    stage.do(CID, a.LeaveSeat())
    stage.until_phase(RoomPhase.FINISHED)
    (result,) = stage.last.results
    assert result.cause is MatchEndCause.TARGET_REACHED
    assert [seat.deserted for seat in result.seats] == [False, False, True, False]
    assert result.seats[2].counts.bot_turns > 0


def test_a_match_that_one_left_before_everybody_had_a_turn_is_played_on_and_does_not_count() -> None:
    stage = playing()
    assert 0 in [counts.turns for counts in stage.match.counts]
    stage.do(BOB, a.LeaveSeat())
    assert stage.match.unrated
    stage.until_phase(RoomPhase.FINISHED)
    (result,) = stage.last.results
    assert result.cause is MatchEndCause.TARGET_REACHED
    assert result.unrated


def test_control_a_match_that_one_leaves_later_counts() -> None:
    stage = everybody_had_a_turn(playing())
    stage.do(BOB, a.LeaveSeat())
    assert not stage.match.unrated
    stage.until_phase(RoomPhase.FINISHED)
    assert not stage.last.results[0].unrated


def test_a_match_without_people_is_stopped_and_its_room_closed() -> None:
    stage = playing("ann", bots=2)
    stage.do(ANN, a.LeaveSeat())
    assert [type(event) for event in stage.last.events][-3:] == [MatchEnded, MatchFinished, RoomClosed]
    assert stage.events(MatchEnded)[0].cause is MatchEndCause.ABORTED
    assert stage.events(MatchEnded)[0].winners == ()
    assert stage.last.results[0].unrated
    assert stage.last.clock.pending == ()


def test_a_partner_who_stays_alone_plays_on_and_wins_when_the_others_go() -> None:
    stage = everybody_had_a_turn(playing(preset="tranca"))
    stage.do(ANN, a.LeaveSeat())
    assert stage.now.phase is RoomPhase.PLAYING
    stage.do(BOB, a.LeaveSeat())
    assert stage.now.phase is RoomPhase.PLAYING
    stage.do(DAN, a.LeaveSeat())
    (ended,) = stage.events(MatchEnded)
    assert ended.winners == (0, 2)
    assert ended.places == (1, 3, 1, 3)
    assert len(ended.scores) == 2


def test_a_person_against_bots_alone_does_not_win_because_the_partner_leaves() -> None:
    stage = Stage("tranca", "ann")
    stage.do(BOB, a.TakeSeat("Bob", 2, invite=1))
    for _ in range(2):
        stage.do(ANN, a.AddBot(BotLevel.RANDOM))
    stage.start()
    stage.do(BOB, a.LeaveSeat())
    assert stage.now.phase is RoomPhase.PLAYING


def test_the_pause_ends_when_the_only_one_who_was_not_ready_leaves() -> None:
    stage = playing("ann bob cid").until_phase(RoomPhase.PAUSE)
    stage.do(ANN, a.ReadyForRound())
    stage.do(BOB, a.ReadyForRound())
    stage.do(CID, a.LeaveSeat())
    assert stage.now.phase is RoomPhase.PLAYING
    assert stage.match.round == 2


def test_leaving_in_the_pause_may_end_the_match() -> None:
    stage = playing("ann bob").until_phase(RoomPhase.PAUSE)
    stage.do(ANN, a.LeaveSeat())
    assert stage.now.phase is RoomPhase.FINISHED
    assert stage.now.host == "bob"
    assert stage.match.outcome is not None
    assert stage.match.outcome.winners == (1,)


def test_away_is_not_left() -> None:
    stage = playing("ann bob")
    for _ in range(3):
        stage.until(lambda room: room.phase is RoomPhase.PLAYING and stage.turn == 1)
        stage.fire(TimerKind.TURN)
    assert stage.events(SeatHandedToBot)
    stage.until(lambda room: room.match is not None and room.match.round > 1, 2_000)
    assert stage.now.phase is not RoomPhase.FINISHED
    assert stage.now.host == "ann"
    assert [seat.player for _, seat in stage.now.people()] == ["ann", "bob"]


def test_who_left_after_the_match_has_no_seat_in_the_rematch() -> None:
    stage = playing("ann bob cid")
    stage.do(a.Operator(), a.AbortMatch())
    stage.do(ANN, a.LeaveSeat())
    assert stage.now.host == "bob"
    stage.do(BOB, a.Rematch())
    assert [seat.player for _, seat in stage.now.people()] == ["bob", "cid"]
    assert stage.now.seats[0] is None
    stage.do(CLOCK, a.CreditTime(1))
