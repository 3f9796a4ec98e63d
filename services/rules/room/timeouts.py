"""A timer came due."""

from __future__ import annotations

from collections.abc import Callable

from services.rules.room.absence import hand_to_bot
from services.rules.room.actions import Timeout
from services.rules.room.clock import TimerKind
from services.rules.room.draft import Draft
from services.rules.room.ending import abort_match, close
from services.rules.room.lobby import close_or_pass_on
from services.rules.room.playing import deal_next_round, time_out_turn, time_out_window
from services.rules.room.reasons import NotDue
from services.rules.room.seating import stop_ready_check, unseat
from services.rules.room.timers import pending


def time_out(draft: Draft, action: Timeout) -> None:
    """Do what the timer was for. Raises NotDue where it does not run: its cause is over, the seat was named wrongly,
    or it is a bot's, whose move is an action of the bot."""
    running = pending(draft.room, draft.ctx.absent, draft.ctx.times)
    if not any(timer.kind is action.kind and timer.seat == action.seat for timer in running):
        raise NotDue
    if action.kind not in _DUE:
        raise NotDue
    _DUE[action.kind](draft, action)


def _turn(draft: Draft, action: Timeout) -> None:
    assert action.seat is not None
    time_out_turn(draft, action.seat, absent=action.absent)


def _away(draft: Draft, action: Timeout) -> None:
    assert action.seat is not None
    hand_to_bot(draft, action.seat)


def _window(draft: Draft, action: Timeout) -> None:
    time_out_window(draft)


def _next_round(draft: Draft, action: Timeout) -> None:
    deal_next_round(draft)


def _ready_check(draft: Draft, action: Timeout) -> None:
    """Who is not ready loses the seat, and there is no match: the others find the room open until the matchmaker closes
    it and lets them wait again, or the host starts without those who did not come."""
    _free_unready(draft)
    stop_ready_check(draft)


def _rematch(draft: Draft, action: Timeout) -> None:
    """Who has not confirmed gives up the seat."""
    draft.change(rematch=False)
    _free_unready(draft)


def _free_unready(draft: Draft) -> None:
    for number, seat in draft.room.people():
        if not seat.ready:
            unseat(draft, number)
    close_or_pass_on(draft)


def _close(why: str) -> Callable[[Draft, Timeout], None]:
    return lambda draft, action: close(draft, why)


def _empty(draft: Draft, action: Timeout) -> None:
    abort_match(draft)


_DUE: dict[TimerKind, Callable[[Draft, Timeout], None]] = {
    TimerKind.TURN: _turn,
    TimerKind.AWAY: _away,
    TimerKind.WINDOW: _window,
    TimerKind.NEXT_ROUND: _next_round,
    TimerKind.READY_CHECK: _ready_check,
    TimerKind.REMATCH: _rematch,
    TimerKind.EMPTY: _empty,
    TimerKind.IDLE: _close("Nothing happened for too long."),
    TimerKind.FINISHED: _close("The match was over for long enough."),
}
