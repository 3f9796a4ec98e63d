"""Repeated, late and early actions: each takes effect once, and never on what it was not decided for."""

from __future__ import annotations

from typing import Any

import pytest

from services.rules import engine
from services.rules.actions import Accuse, Call, Draw, Word
from services.rules.events import Accused, Called, CardsDrawn, DrawCause, LeftExposed
from services.rules.room import actions as a
from services.rules.room.apply import apply
from services.rules.room.clock import TimerKind
from services.rules.room.reasons import NotDue, RoomRefusal
from services.rules.room.settings import Visibility
from services.rules.room.state import RoomPhase
from services.rules.room.step import Context
from tests.rules.rooms import ANN, BOB, CID, CLOCK, PEOPLE, Stage


def request(number: int) -> bytes:
    return number.to_bytes(16, "big")


def playing(people: str = "ann bob cid", **more: Any) -> Stage:
    return Stage(people=people, **more).start()


# Repeats.


def test_a_repeat_is_answered_with_the_version_of_the_first_time() -> None:
    stage = playing()
    seat = stage.turn
    action = a.Act(Draw())
    first = stage.do(stage.player(seat), action, request_id=request(1)).room.version
    stage.do(CLOCK, a.Timeout(TimerKind.TURN, seat))
    assert stage.done_already(PEOPLE[stage.player(seat).id], action, request_id=request(1)) == first


def test_the_request_id_of_another_action_is_refused() -> None:
    stage = playing()
    player = stage.player(stage.turn)
    version = stage.do(player, a.Act(Draw()), request_id=request(1)).room.version
    assert stage.refusal(player, a.Act(Accuse()), request_id=request(1)) == "REQUEST_ID_REUSED"
    with pytest.raises(RoomRefusal) as refused:
        apply(stage.now, player, a.LeaveSeat(), Context(request_id=request(1)))
    assert refused.value.metadata == {"version": str(version)}


def test_a_refused_request_may_be_sent_again_and_is_then_judged_anew() -> None:
    stage = playing()
    early = stage.player((stage.turn + 1) % 3)
    assert stage.refusal(early, a.Act(Draw()), request_id=request(1)) == "NOT_YOUR_TURN"
    stage.until(lambda room: stage.player(stage.turn) == early)
    stage.do(early, a.Act(Draw()), request_id=request(1))


def test_a_request_id_belongs_to_one_player() -> None:
    stage = Stage()
    stage.do(ANN, a.SetReady(True), request_id=request(1))
    stage.do(BOB, a.SetReady(False), request_id=request(1))
    assert stage.now.version == 3


def test_the_last_eight_requests_of_a_player_are_known() -> None:
    stage = Stage()
    for number in range(9):
        stage.do(ANN, a.SetReady(number % 2 == 0), request_id=request(number))
        stage.do(BOB, a.SetReady(number % 2 == 0), request_id=request(100 + number))
    assert stage.done_already(ANN, a.SetReady(False), request_id=request(1)) == 4
    stage.do(ANN, a.SetReady(True), request_id=request(0))


def test_who_left_may_repeat_the_leaving() -> None:
    stage = Stage()
    version = stage.do(BOB, a.LeaveSeat(), request_id=request(1)).room.version
    stage.do(CID, a.LeaveSeat())
    assert stage.done_already(BOB, a.LeaveSeat(), request_id=request(1)) == version


def test_the_last_to_leave_may_repeat_it_although_the_room_is_closed() -> None:
    stage = Stage(people="ann")
    version = stage.do(ANN, a.LeaveSeat(), request_id=request(1)).room.version
    assert stage.now.phase is RoomPhase.CLOSED
    assert stage.done_already(ANN, a.LeaveSeat(), request_id=request(1)) == version


def test_an_outage_is_credited_once() -> None:
    stage = playing()
    version = stage.do(CLOCK, a.CreditTime(20_000), request_id=request(7)).room.version
    assert stage.last.clock.credit_ms == 20_000
    assert stage.done_already(CLOCK, a.CreditTime(20_000), request_id=request(7)) == version


@pytest.mark.parametrize("wrong", [b"", b"short", bytes(17)])
def test_a_request_id_has_16_bytes(wrong: bytes) -> None:
    assert Stage().refusal(ANN, a.SetReady(True), request_id=wrong) == "INVALID_FIELD"


def test_requests_of_many_who_come_and_go_do_not_pile_up() -> None:
    stage = Stage(people="ann", settings={"visibility": Visibility.PUBLIC})
    for number in range(60):
        guest = a.Player(f"guest {number}")
        stage.do(guest, a.TakeSeat("Guest"), request_id=request(1))
        stage.do(guest, a.LeaveSeat(), request_id=request(2))
    assert len(stage.now.requests) <= 32
    assert stage.done_already(guest, a.LeaveSeat(), request_id=request(2)) == stage.now.version


# Late ones.


def test_an_action_decided_before_the_turn_began_is_stale() -> None:
    stage = playing()
    stage.until(lambda room: stage.match.began["turn"].version == room.version and room.version > 8)
    began = stage.now.version
    player, action = stage.player(stage.turn), a.Act(stage.sensible(stage.turn))
    with pytest.raises(RoomRefusal) as refused:
        apply(stage.now, player, action, Context(version=began - 1))
    assert refused.value.reason.name == "STALE"
    assert refused.value.metadata == {"version": str(began - 1), "began": str(began), "subject": "turn"}
    stage.do(player, action, version=began)


def test_versions_that_do_not_touch_the_turn_make_nobody_stale() -> None:
    stage = playing()
    decided = stage.now.version
    stage.do(ANN, a.RotateInvite())
    stage.do(CLOCK, a.CreditTime(10))
    stage.do(ANN, a.Mute(1, True))
    stage.do(stage.player(stage.turn), a.Act(stage.sensible(stage.turn)), version=decided)


def test_a_history_that_the_room_does_not_have_is_stale() -> None:
    stage = playing()
    player = stage.player(stage.turn)
    assert stage.refusal(player, a.Act(Draw()), version=stage.now.version + 1) == "STALE"


def test_a_move_that_comes_after_its_timeout_is_not_played_in_the_next_turn() -> None:
    stage = playing("ann bob")
    seat, decided = stage.turn, stage.now.version
    stage.do(CLOCK, a.Timeout(TimerKind.TURN, seat))
    while stage.turn != seat:
        stage.advance()
    assert stage.refusal(stage.player(seat), a.Act(Draw()), version=decided) == "STALE"


def test_a_timeout_that_comes_after_the_move_does_nothing() -> None:
    stage = playing()
    seat = stage.turn
    stage.until(lambda room: stage.turn != seat)
    with pytest.raises(NotDue):
        apply(stage.now, CLOCK, a.Timeout(TimerKind.TURN, seat), Context())


def test_ready_for_the_round_before_is_not_ready_for_this_one() -> None:
    stage = playing().until_phase(RoomPhase.PAUSE)
    decided = stage.now.version
    for player in (ANN, BOB, CID):
        stage.do(player, a.ReadyForRound(), version=decided)
    assert stage.match.round == 2
    assert stage.refusal(ANN, a.ReadyForRound(), version=decided) == "NOT_BETWEEN_ROUNDS"
    stage.until_phase(RoomPhase.PAUSE)
    assert stage.refusal(ANN, a.ReadyForRound(), version=decided) == "STALE"


def test_five_ready_at_once_deal_one_round() -> None:
    stage = playing("ann bob").until_phase(RoomPhase.PAUSE)
    decided = stage.now.version
    stage.do(ANN, a.ReadyForRound(), version=decided, request_id=request(1))
    stage.do(BOB, a.ReadyForRound(), version=decided, request_id=request(1))
    for number in range(2, 5):
        assert stage.refusal(BOB, a.ReadyForRound(), version=decided, request_id=request(number))
    assert stage.match.round == 2


def test_ready_for_other_options_is_stale() -> None:
    stage = Stage()
    decided = stage.now.version
    stage.do(ANN, a.ChangeOptions(options={}, settings={"turn_seconds": 5}))
    assert stage.refusal(BOB, a.SetReady(True), version=decided) == "STALE"
    stage.do(BOB, a.SetReady(True), version=decided + 1)


def test_two_moves_at_once_leave_one() -> None:
    stage = playing()
    seat, decided = stage.turn, stage.now.version
    legal = engine.legal_actions(stage.match.state, seat)
    stage.do(stage.player(seat), a.Act(legal[0]), version=decided)
    if stage.turn == seat:
        stage.do(stage.player(seat), a.Act(stage.sensible(seat)), version=stage.now.version)
    assert stage.refusal(stage.player(seat), a.Act(legal[0]), version=decided) in ("NOT_YOUR_TURN", "STALE")


# A call and an accusation at once: the order of the server decides, and there is one outcome.


def exposed() -> tuple[Stage, int]:
    """Somebody has just gone to one card without a call."""
    for salt in range(50):
        stage = Stage(salt=salt).start()
        while stage.now.phase is RoomPhase.PLAYING:
            seat = stage.turn
            plays = [x for x in engine.legal_actions(stage.match.state, seat) if not isinstance(x, Call | Accuse)]
            stage.do(stage.player(seat), a.Act(plays[0]))
            if stage.events(LeftExposed):
                return stage, seat
    raise AssertionError("nobody was ever exposed")


def test_who_calls_first_cannot_be_accused() -> None:
    stage, seat = exposed()
    decided = stage.now.version
    legal = engine.legal_actions(stage.match.state, seat)
    call = next(action for action in legal if isinstance(action, Call))
    stage.do(stage.player(seat), a.Act(call), version=decided)
    assert stage.events(Called)
    accuser = stage.player((seat + 1) % 3)
    assert stage.refusal(accuser, a.Act(Accuse(seat)), version=decided) in ("NOTHING_TO_ACCUSE", "STALE")


def test_who_is_accused_first_cannot_call_any_more() -> None:
    stage, seat = exposed()
    decided = stage.now.version
    stage.do(stage.player((seat + 1) % 3), a.Act(Accuse(seat)), version=decided)
    assert [(event.target, event.upheld) for event in stage.events(Accused)] == [(seat, True)]
    assert [event.cause for event in stage.events(CardsDrawn)] == [DrawCause.CALL_MISSED]
    assert stage.refusal(stage.player(seat), a.Act(Call(Word.MAU)), version=decided)
    assert stage.match.counts[seat].calls_missed == 1
    assert stage.match.counts[(seat + 1) % 3].accusations_right == 1


def test_an_accusation_decided_before_the_window_opened_is_stale() -> None:
    stage, seat = exposed()
    accuser = stage.player((seat + 1) % 3)
    assert stage.refusal(accuser, a.Act(Accuse(seat)), version=stage.now.version - 1) == "STALE"


def test_equal_options_are_the_same_request_in_whatever_order_they_come() -> None:
    """They come as a map, which has none."""
    options = {"seven.stack": "off", "seven.amount": 3, "match.target": "single"}
    turned = dict(reversed(options.items()))
    stage = Stage()
    stage.do(ANN, a.ChangeOptions("mau-mau-32", options), request_id=request(1))
    assert stage.done_already(ANN, a.ChangeOptions("mau-mau-32", turned), request_id=request(1)) == stage.now.version


def test_who_is_ready_for_the_round_need_not_say_so_again() -> None:
    stage = playing().until_phase(RoomPhase.PAUSE)
    stage.do(ANN, a.ReadyForRound())
    assert stage.done_already(ANN, a.ReadyForRound()) == stage.now.version
