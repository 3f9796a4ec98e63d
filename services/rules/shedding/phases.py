"""Which action may be tried in which phase, and what checks and does it: the whole of rules.md 1.4, check 2.

Each phase is a table from kind of action to its `Deed`, and a sentence for everything else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from services.rules.actions import (
    Accept,
    Accuse,
    Action,
    Call,
    Challenge,
    Choose,
    Concede,
    Draw,
    JumpIn,
    Pass,
    Play,
    PlayMany,
    React,
    Speak,
)
from services.rules.reasons import IllegalAction, Reason
from services.rules.shedding import calls, finish, groups, jump_in, last_seven, pauses, plays, turns, wild_four
from services.rules.shedding.state import State
from services.rules.views import Phase


class Deed(NamedTuple):
    """`check` raises IllegalAction and changes nothing; `do` is only called after it and cannot fail."""

    check: Callable[[State, int, Any], None]
    do: Callable[[State, int, Any], None]


Deeds = dict[type, Deed]

ANSWERS_OUT_OF_PLACE: Final[dict[type, Reason]] = {
    Accept: Reason.NOTHING_TO_CHALLENGE,
    Challenge: Reason.NOTHING_TO_CHALLENGE,
    Choose: Reason.NOTHING_TO_CHOOSE,
    React: Reason.NOTHING_TO_REACT,
    Concede: Reason.NOTHING_TO_CONCEDE,
}
"""What an answer is called for which nobody asked."""

TRIED_TOO_EARLY: Final = (Play, PlayMany, JumpIn, Draw, Pass, Call, Accuse)
"""What has to wait while a phase other than `play` is open."""

SPEAK: Final = Deed(calls.check_speak, calls.speak)
CALL: Final = Deed(calls.check_call, calls.call)
ACCUSE: Final = Deed(calls.check_accuse, calls.accuse)

DEEDS: Final[dict[Phase, Deeds]] = {
    Phase.PLAY: {
        Play: Deed(plays.check_play, plays.play),
        PlayMany: Deed(groups.check_play_many, groups.play_many),
        JumpIn: Deed(jump_in.check_jump_in, jump_in.jump_in),
        Draw: Deed(turns.check_draw, turns.draw),
        Pass: Deed(turns.check_pass, turns.pass_turn),
        Call: CALL,
        Accuse: ACCUSE,
        Speak: SPEAK,
    },
    Phase.CHALLENGE: {
        Accept: Deed(wild_four.check_accept, wild_four.accept),
        Challenge: Deed(wild_four.check_challenge, wild_four.challenge),
        Play: Deed(wild_four.check_answer, wild_four.answer),
        PlayMany: Deed(wild_four.check_answer_many, wild_four.answer_many),
        Call: CALL,
        Accuse: ACCUSE,
        Speak: SPEAK,
    },
    Phase.CHOOSE: {Choose: Deed(pauses.check_choose, pauses.choose), Speak: SPEAK},
    Phase.REACT: {React: Deed(pauses.check_react, pauses.react), Call: CALL, Accuse: ACCUSE, Speak: SPEAK},
    Phase.CONTEST: {
        Accuse: Deed(finish.check_contest, finish.contest),
        Concede: Deed(finish.check_concede, finish.concede),
        Speak: SPEAK,
    },
    Phase.ANSWER: {
        Play: Deed(last_seven.check_answer, last_seven.answer),
        Concede: Deed(finish.check_concede, finish.concede),
        Speak: SPEAK,
    },
    Phase.ROUND_OVER: {},
    Phase.MATCH_OVER: {},
}

PENDING: Final = {
    Phase.CHALLENGE: Reason.CHALLENGE_PENDING,
    Phase.CHOOSE: Reason.CHOICE_PENDING,
    Phase.REACT: Reason.CHOICE_PENDING,
    Phase.CONTEST: Reason.CONTEST_OPEN,
    Phase.ANSWER: Reason.CONTEST_OPEN,
}
"""What is waited for, by the name that other actions are refused with."""


def judged(s: State, seat: int, action: Action) -> Deed:
    """What does this action now. Raises IllegalAction, with nothing changed, for one that the rules refuse."""
    deed = DEEDS[s.phase].get(type(action))
    if deed is None:
        raise IllegalAction(_refusal(s.phase, type(action)))
    if not 0 <= seat < s.seats:
        raise IllegalAction(Reason.NOT_YOUR_TURN)
    deed.check(s, seat, action)
    return deed


def _refusal(phase: Phase, kind: type) -> Reason:
    if kind not in ANSWERS_OUT_OF_PLACE and kind not in TRIED_TOO_EARLY and kind is not Speak:
        return Reason.ACTION_UNKNOWN
    if phase is Phase.ROUND_OVER:
        return Reason.ROUND_OVER
    if phase is Phase.MATCH_OVER:
        return Reason.MATCH_OVER
    if kind in ANSWERS_OUT_OF_PLACE:
        return ANSWERS_OUT_OF_PLACE[kind]
    return Reason.JUMP_IN_CLOSED if kind is JumpIn else PENDING[phase]
