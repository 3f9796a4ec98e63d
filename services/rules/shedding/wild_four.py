"""The answers to a Wild Draw Four: accept, challenge, or pass it on (rules.md 4.1, 4.2)."""

from __future__ import annotations

from services.rules.actions import Accept, Challenge, Play, PlayMany
from services.rules.events import Accepted, Challenged, DrawCause
from services.rules.reasons import IllegalAction, Reason
from services.rules.shedding.card_effects import take_debt
from services.rules.shedding.fit import answers_now
from services.rules.shedding.groups import check_play_many, play_many
from services.rules.shedding.laying import put_down
from services.rules.shedding.plays import check_play
from services.rules.shedding.state import State, announce_turn, enter, hand_over
from services.rules.shedding.windows import action_begins, turn_ends_without_play
from services.rules.views import Phase


def check_accept(s: State, seat: int, action: Accept) -> None:
    if seat != s.turn:
        raise IllegalAction(Reason.NOT_YOUR_TURN)


def accept(s: State, seat: int, action: Accept) -> None:
    """The challenged seat takes what is owed and is left out."""
    action_begins(s)
    if s.log is not None:
        s.log.append(Accepted(seat=seat))
    _take_and_miss_turn(s, seat, 0, DrawCause.DEBT)


def check_challenge(s: State, seat: int, action: Challenge) -> None:
    if seat != s.turn:
        raise IllegalAction(Reason.NOT_CHALLENGER)


def challenge(s: State, seat: int, action: Challenge) -> None:
    """If the card broke its rule, its player takes what is owed and the challenger has a normal turn; otherwise the
    challenger takes two more and is left out. The hand is shown to the challenger."""
    player = s.last
    assert player is not None
    action_begins(s)
    if s.log is not None:
        s.log.append(Challenged(seat=seat, target=player, upheld=s.guilty, hand=tuple(s.hands[player])))
    if not s.guilty:
        _take_and_miss_turn(s, seat, s.rules.innocent_extra, DrawCause.CHALLENGE_LOST)
        return
    s.guilty = False
    take_debt(s, player, DrawCause.CHALLENGE_WON_AGAINST)
    enter(s, Phase.PLAY)
    announce_turn(s)


def _take_and_miss_turn(s: State, seat: int, extra: int, cause: DrawCause) -> None:
    s.guilty = False
    take_debt(s, seat, cause, extra)
    turn_ends_without_play(s)
    enter(s, Phase.PLAY)
    hand_over(s, seat)
    announce_turn(s)


def check_answer(s: State, seat: int, action: Play) -> None:
    if not answers_now(s, action.card):
        raise IllegalAction(Reason.CHALLENGE_PENDING)
    check_play(s, seat, action)


def answer(s: State, seat: int, action: Play) -> None:
    """The Wild Draw Four is answered with a card that adds to the debt."""
    enter(s, Phase.PLAY)
    put_down(s, seat, action, (action.card,))


def check_answer_many(s: State, seat: int, action: PlayMany) -> None:
    if not action.cards or not answers_now(s, action.cards[0]):
        raise IllegalAction(Reason.CHALLENGE_PENDING)
    check_play_many(s, seat, action)


def answer_many(s: State, seat: int, action: PlayMany) -> None:
    """Two equal Draw Twos answer together."""
    enter(s, Phase.PLAY)
    play_many(s, seat, action)
