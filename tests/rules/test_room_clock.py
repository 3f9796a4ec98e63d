"""What each version asks of the room's clock: whose time runs, who pays, what is due and what then happens."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from services.rules import engine
from services.rules.actions import Accuse, Call
from services.rules.bots.levels import BotLevel
from services.rules.events import LeftExposed
from services.rules.room import actions as a
from services.rules.room.clock import Charge, ClockChange, Origin, Pending, TimerKind
from services.rules.room.due import due
from services.rules.room.events import MatchStarted, RoomClosed, SeatHandedToBot, SeatRemoved, SeatTakenBack, TimedOut
from services.rules.room.settings import DEFAULT_TIMES, ServerTimes
from services.rules.room.state import RoomPhase
from services.rules.room.timers import pending
from services.rules.views import Phase
from tests.rules.rooms import ANN, BOB, CID, CLOCK, PEOPLE, Stage

NOBODY_AWAY: frozenset[int] = frozenset()


def playing(people: str = "ann bob cid", **more: Any) -> Stage:
    return Stage(people=people, **more).start()


def kinds(clock: ClockChange) -> list[TimerKind]:
    return [timer.kind for timer in clock.pending]


def until_turn_of(stage: Stage, player: a.Player) -> Stage:
    return stage.until(lambda room: room.phase is RoomPhase.PLAYING and stage.now.seat_of(player.id) == stage.turn)


# Turns of people.


def test_a_match_starts_with_full_banks_and_the_clock_of_the_first_turn() -> None:
    stage = playing(settings={"turn_seconds": 20, "bank_seconds": 90})
    seat = stage.turn
    assert stage.last.clock == ClockChange(
        pending=(Pending(TimerKind.TURN, Origin.TURN, 20_000, seat, seat),),
        charge=None,
        restart_turn=True,
        restart_window=False,
        banks=(90_000, 90_000, 90_000),
    )


def test_a_turn_that_ends_is_charged_and_the_next_one_starts() -> None:
    stage = playing()
    seat = stage.turn
    stage.until(lambda room: stage.turn != seat)
    clock = stage.last.clock
    assert clock.charge == Charge(seat, 30_000)
    assert clock.restart_turn
    assert clock.banks is None
    assert clock.pending[0] == Pending(TimerKind.TURN, Origin.TURN, 30_000, stage.turn, stage.turn)


def test_what_happens_besides_leaves_the_turn_running() -> None:
    stage = playing()
    before = stage.last.clock.pending
    for actor, action in ((ANN, a.Mute(1, True)), (ANN, a.RotateInvite()), (CLOCK, a.CreditTime(7))):
        clock = stage.do(actor, action).clock
        assert clock.pending == before
        assert clock.charge is None
        assert not clock.restart_turn


def test_drawing_does_not_lengthen_the_turn() -> None:
    stage = playing()
    seat = stage.turn
    clock = stage.do(stage.player(seat), a.Act(engine.default_action(stage.match.state, seat))).clock
    assert stage.turn == seat
    assert not clock.restart_turn
    assert clock.charge is None


def test_a_timeout_ends_the_turn_and_is_no_departure() -> None:
    stage = playing()
    seat = stage.turn
    step = stage.fire(TimerKind.TURN)
    assert stage.events(TimedOut) == [TimedOut(seat=seat, count=1)]
    assert stage.turn != seat
    assert step.clock.charge == Charge(seat, 30_000)
    assert len(stage.now.people()) == 3
    assert stage.now.phase is RoomPhase.PLAYING


def test_three_timeouts_in_a_row_count_as_away_and_acting_between_them_starts_anew() -> None:
    stage = playing("ann bob")
    for _ in range(2):
        until_turn_of(stage, ANN).fire(TimerKind.TURN)
    until_turn_of(stage, ANN).advance()
    for _ in range(2):
        until_turn_of(stage, ANN).fire(TimerKind.TURN)
    assert not stage.events(SeatHandedToBot)
    until_turn_of(stage, ANN).fire(TimerKind.TURN)
    assert stage.events(TimedOut)[0].count == 3
    assert stage.events(SeatHandedToBot) == [SeatHandedToBot(seat=0)]


# Absence.


def test_the_bot_plays_for_a_person_without_a_stream_after_the_grace() -> None:
    stage = playing()
    seat = stage.turn
    step = stage.do(ANN, a.RotateInvite(), absent=frozenset({seat}))
    assert Pending(TimerKind.AWAY, Origin.TURN, 15_000, seat) in step.clock.pending
    clock = stage.fire(TimerKind.AWAY, absent=frozenset({seat})).clock
    assert stage.events(SeatHandedToBot) == [SeatHandedToBot(seat=seat)]
    assert kinds(clock) == [TimerKind.BOT]
    assert clock.restart_turn
    stage.fire(TimerKind.BOT)
    assert stage.match.counts[seat].bot_turns == 1


def test_without_a_stream_a_turn_that_runs_out_goes_to_the_bot_and_not_to_the_default() -> None:
    stage = playing()
    seat = stage.turn
    hand = len(engine.view(stage.match.state, seat).hand)
    stage.fire(TimerKind.TURN, absent=frozenset({seat}))
    assert not stage.events(TimedOut)
    assert stage.turn == seat
    assert len(engine.view(stage.match.state, seat).hand) == hand


def test_the_person_takes_over_again_by_acting_with_a_whole_turn() -> None:
    stage = playing()
    seat = stage.turn
    stage.fire(TimerKind.TURN, absent=frozenset({seat}))
    hand = engine.view(stage.match.state, seat).hand
    clock = stage.do(stage.player(seat), a.Act(engine.default_action(stage.match.state, seat))).clock
    assert stage.events(SeatTakenBack) == [SeatTakenBack(seat=seat)]
    assert clock.restart_turn
    assert clock.charge is None
    assert set(hand) <= set(engine.view(stage.match.state, seat).hand)
    assert clock.pending[0].kind is TimerKind.TURN


@pytest.mark.parametrize("goes", ["leaves", "drops out"])
def test_who_goes_and_comes_back_again_and_again_gets_one_whole_turn_more_and_then_has_to_move(goes: str) -> None:
    stage = playing()
    seat = stage.turn
    player = stage.player(seat)

    def go() -> ClockChange:
        if goes == "leaves":
            return stage.do(player, a.LeaveSeat()).clock
        stage.fire(TimerKind.AWAY, absent=frozenset({seat}))
        return stage.last.clock

    def come_back() -> ClockChange:
        return stage.do(player, a.TakeSeat("Again") if goes == "leaves" else a.TakeBack()).clock

    first = [go(), come_back()]
    assert [clock.restart_turn for clock in first] == [True, True]
    stage.do(CLOCK, a.CreditTime(1))  # nothing that happens besides makes it forget
    for _ in range(3):
        for clock in (go(), come_back()):
            assert not clock.restart_turn
            assert {timer.origin for timer in clock.pending} == {Origin.TURN}
    stage.fire(TimerKind.TURN)
    until_turn_of(stage, player)
    assert [go().restart_turn, come_back().restart_turn] == [True, True], "another turn"


def test_a_turn_that_is_handed_to_the_bot_once_more_is_charged_all_the_same() -> None:
    stage = playing(settings={"turn_seconds": 20, "bank_seconds": 90})
    seat = stage.turn
    player = stage.player(seat)
    for _ in range(2):
        assert stage.do(player, a.LeaveSeat()).clock.charge == Charge(seat, 20_000)
        assert stage.do(player, a.TakeSeat("Again")).clock.charge is None


def test_a_person_may_take_the_seat_back_before_it_is_on_turn() -> None:
    stage = playing()
    seat = stage.turn
    stage.fire(TimerKind.TURN, absent=frozenset({seat}))
    while stage.turn == seat:
        stage.fire(TimerKind.BOT)
    stage.do(stage.player(seat), a.TakeBack())
    assert stage.events(SeatTakenBack) == [SeatTakenBack(seat=seat)]
    assert stage.done_already(stage.player(seat), a.TakeBack()) == stage.now.version


def test_another_player_does_not_get_the_seat_of_who_is_away() -> None:
    stage = playing()
    seat = stage.turn
    stage.fire(TimerKind.TURN, absent=frozenset({seat}))
    assert stage.refusal(a.Player("eve"), a.TakeSeat("Ann", seat, invite=1)) == "MATCH_RUNNING"


def test_while_nobody_is_here_the_match_waits_and_then_ends_without_a_result() -> None:
    stage = playing()
    everybody = frozenset({0, 1, 2})
    assert pending(stage.now, everybody, DEFAULT_TIMES) == (Pending(TimerKind.EMPTY, Origin.NOW, 300_000),)
    assert due(stage.now, TimerKind.TURN, everybody) is None
    version = stage.now.version
    assert pending(stage.now, frozenset({0, 2}), DEFAULT_TIMES)[0].kind is TimerKind.TURN
    stage.fire(TimerKind.EMPTY, absent=everybody)
    assert stage.now.version == version + 1
    assert stage.now.phase is RoomPhase.FINISHED
    assert stage.last.results[0].unrated


# Bots.


def test_a_bot_waits_before_it_moves_and_again_before_its_next_action() -> None:
    stage = Stage(people="ann", bots=2).start()
    stage.until(lambda room: stage.turn != 0)
    for _ in range(12):
        stage.until(lambda room: room.phase is RoomPhase.PLAYING and stage.turn != 0)
        (timer,) = [timer for timer in stage.last.clock.pending if timer.seat == stage.turn]
        assert timer.kind is TimerKind.BOT
        least = 2_600 if timer.origin is Origin.WINDOW else 600
        assert least <= timer.after_ms <= least + 1_200
        assert stage.last.clock.restart_turn
        stage.fire(TimerKind.BOT)


def test_bots_are_never_charged() -> None:
    stage = Stage(people="ann", bots=1).start()
    for _ in range(40):
        stage.advance()
        charge = stage.last.clock.charge
        assert charge is None or charge.seat == 0
        if stage.now.phase is not RoomPhase.PLAYING:
            break


def exposed_before_a_bot() -> Stage:
    """Ann has just gone to one card without a call, and a bot is next."""
    for salt in range(60):
        stage = Stage(people="ann", bots=2, salt=salt).start()
        while stage.now.phase is RoomPhase.PLAYING:
            seat = stage.turn
            if seat:
                stage.advance()
                continue
            plays = [x for x in engine.legal_actions(stage.match.state, 0) if not isinstance(x, Call | Accuse)]
            stage.do(ANN, a.Act(plays[0]))
            if stage.events(LeftExposed) and stage.turn:
                return stage
    raise AssertionError("Ann was never exposed")


def test_people_have_two_seconds_before_a_bot_accuses_or_moves_on() -> None:
    stage = exposed_before_a_bot()
    clock = stage.last.clock
    assert clock.restart_window
    bots = [timer for timer in clock.pending if timer.kind is TimerKind.BOT]
    assert {timer.seat for timer in bots} == {1, 2}
    assert all(timer.origin is Origin.WINDOW and timer.after_ms >= 2_600 for timer in bots)
    reached = due(stage.now, TimerKind.BOT)
    assert reached is not None
    assert isinstance(reached.action, a.Act)
    assert isinstance(reached.action.action, Accuse)


def test_slaps_wait_for_people_and_the_clock_slaps_for_who_is_silent() -> None:
    stage = Stage("uno-casa", people="ann bob", bots=2).start()
    stage.until(lambda room: room.phase is RoomPhase.PLAYING and engine.phase(stage.match.state) is Phase.REACT)
    clock = stage.last.clock
    assert clock.restart_window
    assert all(timer.origin is Origin.WINDOW for timer in clock.pending)
    assert all(timer.after_ms >= 2_600 for timer in clock.pending if timer.kind is TimerKind.BOT)
    (window,) = [timer for timer in clock.pending if timer.kind is TimerKind.WINDOW]
    assert window.after_ms == 10_000
    silent = {seat for seat in engine.must_act(stage.match.state) if stage.now.seats[seat].is_person}  # type: ignore[union-attr]
    stage.fire(TimerKind.WINDOW)
    assert {event.seat for event in stage.events(TimedOut)} <= silent
    assert all(event.count == 0 for event in stage.events(TimedOut))


def test_the_times_of_the_server_are_settings() -> None:
    stage = Stage(people="ann", bots=1).start()
    stage.until(lambda room: stage.turn == 1)
    quick = ServerTimes(bot_least=5, bot_most=5, window_least=7)
    assert pending(stage.now, NOBODY_AWAY, quick)[0].after_ms in (5, 12)


# Around the match.


def test_an_open_room_in_which_nothing_happens_is_closed() -> None:
    stage = Stage()
    assert stage.last.clock.pending == (Pending(TimerKind.IDLE, Origin.NOW, 600_000),)
    step = stage.fire(TimerKind.IDLE)
    assert stage.now.phase is RoomPhase.CLOSED
    assert stage.events(RoomClosed)
    assert step.clock.pending == ()


def test_a_finished_room_is_kept_for_half_an_hour_and_does_nothing() -> None:
    stage = Stage(people="ann", bots=2, options={"match.target": "single"}).start().until_phase(RoomPhase.FINISHED)
    assert stage.last.clock.pending == (Pending(TimerKind.FINISHED, Origin.TURN, 1_800_000),)
    for kind in TimerKind:
        assert (due(stage.now, kind) is None) == (kind is not TimerKind.FINISHED)
    stage.fire(TimerKind.FINISHED)
    assert stage.now.phase is RoomPhase.CLOSED


def test_the_next_round_comes_after_the_pause_whoever_is_ready() -> None:
    stage = playing(settings={"pause_seconds": 12}).until_phase(RoomPhase.PAUSE)
    pause = (Pending(TimerKind.NEXT_ROUND, Origin.TURN, 12_000),)
    assert stage.last.clock.pending == pause
    assert stage.last.clock.restart_turn
    clock = stage.do(ANN, a.ReadyForRound()).clock
    assert clock.pending == pause
    assert not clock.restart_turn
    stage.fire(TimerKind.NEXT_ROUND)
    assert stage.match.round == 2
    assert stage.now.phase is RoomPhase.PLAYING


def test_a_person_who_is_away_does_not_hold_up_the_next_round() -> None:
    stage = playing()
    stage.fire(TimerKind.TURN, absent=frozenset({stage.turn}))
    away = next(seat for seat, taken in stage.now.people() if taken.away)
    stage.until_phase(RoomPhase.PAUSE)
    for seat, taken in stage.now.people():
        if seat != away:
            stage.do(PEOPLE[taken.player], a.ReadyForRound())
    assert stage.match.round == 2


def test_a_ready_check_starts_the_match_with_the_last_ready() -> None:
    stage = Stage(quick_play=True, people="ann bob", bots=1)
    assert kinds(stage.last.clock) == [TimerKind.READY_CHECK]
    assert stage.last.clock.restart_turn
    stage.do(ANN, a.SetReady(True))
    assert not stage.last.clock.restart_turn
    stage.do(BOB, a.SetReady(True))
    assert stage.events(MatchStarted)
    assert stage.now.phase is RoomPhase.PLAYING


def test_who_misses_the_ready_check_is_left_out_and_the_others_find_the_room_open() -> None:
    stage = Stage(quick_play=True)
    stage.do(ANN, a.SetReady(True))
    stage.do(CID, a.SetReady(True))
    stage.fire(TimerKind.READY_CHECK)
    assert stage.events(SeatRemoved) == [SeatRemoved(seat=1, player="bob")]
    assert stage.now.phase is RoomPhase.OPEN
    assert [seat.player for _, seat in stage.now.people()] == ["ann", "cid"]
    stage.do(ANN, a.Start())
    assert stage.events(MatchStarted)


def test_too_few_after_the_ready_check_leave_an_open_room() -> None:
    stage = Stage("tranca", people="ann bob cid dan", quick_play=True)
    stage.do(BOB, a.SetReady(True))
    stage.fire(TimerKind.READY_CHECK)
    assert stage.now.phase is RoomPhase.OPEN
    assert stage.now.host == "bob"


def test_nobody_after_the_ready_check_closes_the_room() -> None:
    stage = Stage(quick_play=True)
    stage.fire(TimerKind.READY_CHECK)
    assert stage.now.phase is RoomPhase.CLOSED


def test_leaving_stops_the_ready_check() -> None:
    stage = Stage(quick_play=True)
    stage.do(ANN, a.SetReady(True))
    clock = stage.do(BOB, a.LeaveSeat()).clock
    assert kinds(clock) == [TimerKind.IDLE]
    stage.do(a.Player("dan"), a.TakeSeat("Dan", 1, invite=1))
    assert stage.now.phase is RoomPhase.OPEN


def test_time_is_given_back_without_touching_anything_else() -> None:
    stage = playing()
    before = stage.now
    stage.do(CLOCK, a.CreditTime(3_500))
    assert replace(before, version=before.version + 1) == stage.now
    assert stage.last.clock.credit_ms == 3_500
    assert stage.refusal(CLOCK, a.CreditTime(-1)) == "INVALID_FIELD"


def test_bots_of_all_levels_have_a_move() -> None:
    for level in BotLevel:
        stage = Stage(people="ann", bots=1, bot_level=level).start()
        stage.until(lambda room: stage.turn == 1)  # noqa: B023
        stage.fire(TimerKind.BOT)


def test_who_has_just_come_has_the_whole_ready_check() -> None:
    stage = Stage(quick_play=True, people="ann bob", settings={"seats": 3})
    stage.do(BOB, a.SetReady(True))
    assert not stage.last.clock.restart_turn
    clock = stage.do(CID, a.TakeSeat("Cid", invite=1)).clock
    assert clock.restart_turn
    assert kinds(clock) == [TimerKind.READY_CHECK]
