"""Calling on its own, accusing, and talking under the silence rule (rules.md 1.6)."""

from __future__ import annotations

from enum import Enum

from services.rules.actions import Accuse, Call, Speak
from services.rules.events import Accused, CalledFalsely, DrawCause, Spoke
from services.rules.reasons import IllegalAction, Reason
from services.rules.shedding.fit import can_play
from services.rules.shedding.state import State, take
from services.rules.shedding.turns import lose_turn
from services.rules.shedding.windows import call_stands
from services.rules.views import Phase


class Verdict(Enum):
    """What becomes of a call or an accusation that is not refused."""

    STANDS = 1
    COSTS = 2


SPEAKING_COSTS = 2


def verdict_on_call(s: State, seat: int) -> Verdict | Reason:
    """Whether a call now stands, costs cards, or is refused."""
    rules, size = s.rules, len(s.hands[seat])
    costs = Verdict.COSTS if rules.false_call else None
    in_time = s.exposed == seat and rules.late_call == "accept"
    if rules.before_play and seat != s.turn and not in_time:
        return (rules.penal_out_of_turn and costs) or Reason.NOT_YOUR_TURN
    if s.said[seat] is not None:
        return Reason.ALREADY_CALLED
    if in_time or (size == 2 and seat == s.turn and can_play(s, seat)):
        return Verdict.STANDS
    if size == 1:
        penal = rules.late_call == "penalty" and (rules.before_play or s.exposed == seat)
        return (penal and costs) or Reason.CALL_TOO_LATE
    return costs or Reason.CALL_NOT_ALLOWED


def check_call(s: State, seat: int, action: Call) -> None:
    if action.word not in s.rules.words:
        words = " or ".join(word.value for word in s.rules.words)
        raise IllegalAction(Reason.ACTION_UNKNOWN, expected=f"a call of {words}")
    verdict = verdict_on_call(s, seat)
    if isinstance(verdict, Reason):
        raise IllegalAction(verdict)


def call(s: State, seat: int, action: Call) -> None:
    """The call is in force, or it costs cards (and the turn, where the ruleset says so)."""
    if verdict_on_call(s, seat) is Verdict.STANDS:
        call_stands(s, seat, action.word)
        return
    if s.log is not None:
        s.log.append(CalledFalsely(seat=seat, word=action.word))
    take(s, seat, s.rules.false_call, DrawCause.CALL_FALSE)
    if s.rules.false_call_ends_turn and s.phase is Phase.PLAY and s.turn == seat:
        lose_turn(s)


def verdict_on_accusation(s: State, seat: int, target: int | None) -> Verdict | Reason:
    """Whether an accusation now stands, costs cards, or is refused."""
    if s.exposed is not None and s.exposed != seat and target in (None, s.exposed):
        return Verdict.STANDS
    second = s.rules.second_accusation_free and target is not None and target == s.caught
    if s.rules.false_accusation and not second:
        return Verdict.COSTS
    return Reason.NOTHING_TO_ACCUSE


def check_accuse(s: State, seat: int, action: Accuse) -> None:
    verdict = verdict_on_accusation(s, seat, action.target)
    if isinstance(verdict, Reason):
        raise IllegalAction(verdict)


def accuse(s: State, seat: int, action: Accuse) -> None:
    """The exposed seat takes the cards of a missed call, or the accuser those of a false accusation."""
    upheld = verdict_on_accusation(s, seat, action.target) is Verdict.STANDS
    guilty = s.exposed if upheld else None
    if s.log is not None:
        s.log.append(Accused(seat=seat, target=guilty, upheld=upheld))
    if guilty is None:
        take(s, seat, s.rules.false_accusation, DrawCause.ACCUSE_FALSE)
        return
    take(s, guilty, s.rules.miss, DrawCause.CALL_MISSED)
    s.exposed = None
    if s.rules.is_mau_mau_32 and s.phase is Phase.PLAY and s.turn == guilty:
        lose_turn(s)
    s.caught = guilty


def check_speak(s: State, seat: int, action: Speak) -> None:
    if not s.silence:
        raise IllegalAction(Reason.ACTION_UNKNOWN)


def speak(s: State, seat: int, action: Speak) -> None:
    """Talking under the silence rule costs two cards each time."""
    if s.log is not None:
        s.log.append(Spoke(seat=seat))
    take(s, seat, SPEAKING_COSTS, DrawCause.SPOKE)
