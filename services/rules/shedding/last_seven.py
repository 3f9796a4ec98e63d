"""House rule `finish.sevenAnswer`: a last seven may be answered, and its player takes what is owed and plays on."""

from __future__ import annotations

from services.rules.actions import Play
from services.rules.events import DrawCause
from services.rules.reasons import IllegalAction, Reason
from services.rules.shedding.card_effects import raise_seven
from services.rules.shedding.finish import wait_for_concessions
from services.rules.shedding.fit import answers_now
from services.rules.shedding.laying import move_to_pile
from services.rules.shedding.state import State, announce_turn, clear_debt, enter, hand_over, seats_from, take
from services.rules.shedding.windows import judge_call, window_closes
from services.rules.views import Phase


def check_answer(s: State, seat: int, action: Play) -> None:
    if not answers_now(s, action.card):
        raise IllegalAction(Reason.CONTEST_OPEN)
    if seat not in s.waiting:
        raise IllegalAction(Reason.NOT_YOUR_TURN)
    if action.card not in s.hands[seat]:
        raise IllegalAction(Reason.CARD_NOT_IN_HAND)
    if action.wish is not None:
        raise IllegalAction(Reason.WISH_NOT_ALLOWED)


def answer(s: State, seat: int, action: Play) -> None:
    """The leaver takes both sevens' cards (and what was owed before) and is in the round again; the seat after the
    one that answered is on turn. If the answer was a last seven too, it may be answered in its turn."""
    leaver = s.finisher
    assert leaver is not None
    window_closes(s)
    move_to_pile(s, seat, action, (action.card,))
    raise_seven(s)
    take(s, leaver, s.debt, DrawCause.FINISH_ANSWERED)
    clear_debt(s)
    s.last = seat
    if not s.hands[seat]:
        wait_for_concessions(s, seat, Phase.ANSWER, seats_from(s, seat)[:1])
        return
    s.finisher = None
    s.waiting = []
    enter(s, Phase.PLAY)
    hand_over(s, seat)
    if len(s.hands[seat]) == 1:
        judge_call(s, seat, action.call, free_of_duty=False)
    announce_turn(s)
