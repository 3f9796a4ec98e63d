"""Every action in every phase of a room, by whoever: what is allowed, and with which reason the rest is refused."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import NamedTuple

import pytest

from services.rules.actions import Draw
from services.rules.bots.levels import BotLevel
from services.rules.reasons import IllegalAction
from services.rules.room import actions as a
from services.rules.room.clock import TimerKind
from services.rules.room.reasons import AlreadyDone, NotDue, RoomRefusal
from services.rules.room.state import Room, RoomPhase
from tests.rules.rooms import ANN, BOB, CLOCK, DAN, SERVER, Stage

OPERATOR = a.Operator()


@functools.cache
def room_in(phase: RoomPhase) -> Room:
    """A room of Ann (host), Bob and Cid with a fourth seat free, in this phase."""
    if phase is RoomPhase.OPEN:
        return Stage().now
    if phase is RoomPhase.READY_CHECK:
        return Stage(quick_play=True).now
    if phase is RoomPhase.CLOSED:
        stage = Stage()
        stage.do(OPERATOR, a.CloseRoom("maintenance"))
        return stage.now
    stage = Stage().start()
    if phase is RoomPhase.FINISHED:
        stage.do(OPERATOR, a.AbortMatch())
    elif phase is RoomPhase.PAUSE:
        stage.until_phase(RoomPhase.PAUSE)
    return stage.now


class Row(NamedTuple):
    """An attempt, and what comes of it in the phases OPEN, READY_CHECK, PLAYING, PAUSE, FINISHED, CLOSED: `ok`,
    `done` (nothing to do), `late` (a timer that does not run) or a reason."""

    name: str
    attempt: Callable[[Stage], tuple[a.Actor, a.RoomAction]]
    outcomes: str


def by(actor: a.Actor, action: a.RoomAction) -> Callable[[Stage], tuple[a.Actor, a.RoomAction]]:
    return lambda stage: (actor, action)


def on_turn(stage: Stage) -> tuple[a.Actor, a.RoomAction]:
    if stage.now.phase is RoomPhase.PLAYING:
        return stage.player(stage.turn), a.Act(stage.sensible(stage.turn))
    return ANN, a.Act(Draw())


def turn_timer(stage: Stage) -> tuple[a.Actor, a.RoomAction]:
    seat = stage.turn if stage.now.phase is RoomPhase.PLAYING else 0
    return CLOCK, a.Timeout(TimerKind.TURN, seat)


RUNNING = "MATCH_RUNNING MATCH_RUNNING MATCH_OVER ROOM_CLOSED"
TABLE = [
    Row("create again", by(SERVER, a.CreateRoom("room-1", "uno", ())), "done done done done done done"),
    Row("take own seat", by(BOB, a.TakeSeat("Bob", 1)), "done done done done done ROOM_CLOSED"),
    Row("take a seat", by(DAN, a.TakeSeat("Dan", invite=1)), f"ok ok {RUNNING}"),
    Row("move", by(BOB, a.TakeSeat("Bob", 3)), f"ok ok {RUNNING}"),
    Row(
        "take a seat uninvited",
        by(DAN, a.TakeSeat("Dan")),
        "ROOM_NOT_FOUND ROOM_NOT_FOUND ROOM_NOT_FOUND ROOM_NOT_FOUND ROOM_NOT_FOUND ROOM_CLOSED",
    ),
    Row("leave", by(BOB, a.LeaveSeat()), "ok ok ok ok ok ROOM_CLOSED"),
    Row("be ready", by(BOB, a.SetReady(True)), f"ok ok {RUNNING}"),
    Row("add a bot", by(ANN, a.AddBot(BotLevel.RANDOM)), f"ok NOT_HOST {RUNNING}"),
    Row("remove a seat", by(ANN, a.RemoveSeat(1)), f"ok NOT_HOST {RUNNING}"),
    Row("change options", by(ANN, a.ChangeOptions(settings={"turn_seconds": 20})), f"ok NOT_HOST {RUNNING}"),
    Row("rotate the invite", by(ANN, a.RotateInvite()), "ok ok ok ok ok ROOM_CLOSED"),
    Row("start", by(ANN, a.Start()), f"NOT_READY NOT_READY {RUNNING}"),
    Row("mute", by(ANN, a.Mute(1, True)), "ok ok ok ok ok ROOM_CLOSED"),
    Row("act", on_turn, "MATCH_NOT_RUNNING MATCH_NOT_RUNNING ok ROUND_OVER MATCH_OVER ROOM_CLOSED"),
    Row(
        "be ready for the round",
        by(BOB, a.ReadyForRound()),
        "NOT_BETWEEN_ROUNDS NOT_BETWEEN_ROUNDS NOT_BETWEEN_ROUNDS ok NOT_BETWEEN_ROUNDS ROOM_CLOSED",
    ),
    Row("take back", by(BOB, a.TakeBack()), "MATCH_NOT_RUNNING MATCH_NOT_RUNNING done done MATCH_OVER ROOM_CLOSED"),
    Row(
        "rematch",
        by(BOB, a.Rematch()),
        "MATCH_NOT_FINISHED MATCH_NOT_FINISHED MATCH_NOT_FINISHED MATCH_NOT_FINISHED ok ROOM_CLOSED",
    ),
    Row(
        "abort",
        by(OPERATOR, a.AbortMatch()),
        "MATCH_NOT_RUNNING MATCH_NOT_RUNNING ok ok MATCH_OVER ROOM_CLOSED",
    ),
    Row("close by the operator", by(OPERATOR, a.CloseRoom("so")), "ok ok ok ok ok ROOM_CLOSED"),
    Row("close by the matchmaker", by(SERVER, a.CloseRoom("so")), f"ok ok {RUNNING}"),
    Row("credit time", by(CLOCK, a.CreditTime(5_000)), "ok ok ok ok ok late"),
    Row("turn over", turn_timer, "late late ok late late late"),
    Row("ready check over", by(CLOCK, a.Timeout(TimerKind.READY_CHECK)), "late ok late late late late"),
    Row("pause over", by(CLOCK, a.Timeout(TimerKind.NEXT_ROUND)), "late late late ok late late"),
    Row("idle", by(CLOCK, a.Timeout(TimerKind.IDLE)), "ok late late late late late"),
    Row("finished for long", by(CLOCK, a.Timeout(TimerKind.FINISHED)), "late late late late ok late"),
    Row("window over", by(CLOCK, a.Timeout(TimerKind.WINDOW, 0)), "late late late late late late"),
    Row("away", by(CLOCK, a.Timeout(TimerKind.AWAY, 0)), "late late late late late late"),
    Row("empty", by(CLOCK, a.Timeout(TimerKind.EMPTY)), "late late late late late late"),
    Row("rematch offer over", by(CLOCK, a.Timeout(TimerKind.REMATCH)), "late late late late late late"),
    Row("a bot's timer as such", by(CLOCK, a.Timeout(TimerKind.BOT, 0)), "late late late late late late"),
]

CASES = [
    pytest.param(row, phase, outcome, id=f"{row.name}, {phase.name}")
    for row in TABLE
    for phase, outcome in zip(RoomPhase, row.outcomes.split(), strict=True)
]


def outcome_of(stage: Stage, actor: a.Actor, action: a.RoomAction) -> str:
    try:
        stage.do(actor, action)
    except (RoomRefusal, IllegalAction) as refused:
        return refused.reason.name
    except AlreadyDone as done:
        return "done" if done.version == stage.now.version else "done at another version"
    except NotDue:
        return "late"
    return "ok"


@pytest.mark.parametrize(("row", "phase", "outcome"), CASES)
def test_every_action_in_every_phase_is_allowed_or_refused_with_its_reason(
    row: Row, phase: RoomPhase, outcome: str
) -> None:
    stage = Stage.of(room_in(phase))
    actor, action = row.attempt(stage)
    assert outcome_of(stage, actor, action) == outcome
    assert (stage.now is room_in(phase)) == (outcome != "ok")


def test_the_table_knows_every_action() -> None:
    stage = Stage.of(room_in(RoomPhase.PLAYING))
    known = {type(row.attempt(stage)[1]) for row in TABLE}
    assert known == set(a.RoomAction.__args__)


HOST_ONLY = (a.AddBot, a.RemoveSeat, a.ChangeOptions, a.RotateInvite, a.Start, a.Mute)
FOR_PEOPLE = [row for row in TABLE if isinstance(row.attempt(Stage.of(room_in(RoomPhase.PLAYING)))[0], a.Player)]
FOR_OTHERS = [row for row in TABLE if row not in FOR_PEOPLE]


@pytest.mark.parametrize("row", FOR_PEOPLE, ids=lambda row: row.name)
@pytest.mark.parametrize("phase", [phase for phase in RoomPhase if phase is not RoomPhase.CLOSED])
def test_a_stranger_does_nothing_in_a_room(row: Row, phase: RoomPhase) -> None:
    stage = Stage.of(room_in(phase))
    action = row.attempt(stage)[1]
    expected = "ROOM_NOT_FOUND" if isinstance(action, a.TakeSeat) else "NOT_SEATED"
    if isinstance(action, a.TakeSeat):
        action = a.TakeSeat("Eve", action.seat, invite=None)
    assert stage.refusal(a.Player("eve"), action) == expected


@pytest.mark.parametrize("row", FOR_PEOPLE, ids=lambda row: row.name)
def test_what_is_the_hosts_is_refused_to_others(row: Row) -> None:
    stage = Stage.of(room_in(RoomPhase.OPEN))
    action = row.attempt(stage)[1]
    if isinstance(action, HOST_ONLY):
        assert stage.refusal(BOB, action) == "NOT_HOST"


@pytest.mark.parametrize("row", FOR_OTHERS, ids=lambda row: row.name)
def test_nobody_acts_as_the_server(row: Row) -> None:
    for phase in (RoomPhase.OPEN, RoomPhase.PLAYING):
        stage = Stage.of(room_in(phase))
        action = row.attempt(stage)[1]
        if isinstance(action, a.CreateRoom):
            continue
        for actor in (ANN, a.Bot(0)):
            assert stage.refusal(actor, action) == "NOT_ALLOWED"


def test_no_bot_plays_for_a_person_who_is_there() -> None:
    stage = Stage.of(room_in(RoomPhase.PLAYING))
    assert stage.refusal(a.Bot(stage.turn), a.Act(stage.sensible(stage.turn))) == "NOT_ALLOWED"
    assert stage.refusal(a.Bot(9), a.Act(Draw())) == "NO_SUCH_SEAT"
    assert stage.refusal(a.Bot(3), a.Act(Draw())) == "SEAT_IS_FREE"
