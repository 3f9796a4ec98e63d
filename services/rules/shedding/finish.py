"""A hand is empty: the end of the round, the contest of a Jack finish, the answer to a last seven."""

from __future__ import annotations

from services.rules.actions import Accuse, Concede, PlayMany, Word
from services.rules.cards import Card
from services.rules.events import Accused, Conceded, ContestOpened, DebtRaised, DrawCause, RoundEndCause
from services.rules.reasons import IllegalAction, Reason
from services.rules.shedding.card_effects import Laid, last_card_draws, raise_seven
from services.rules.shedding.effects import Effect
from services.rules.shedding.scoring import end_round
from services.rules.shedding.state import State, announce_turn, enter, hand_over, seats_from, take
from services.rules.views import Phase


def must_contest(s: State, seat: int, card: Card) -> bool:
    """A Jack is the last card and its player has not said Mau Mau (`call.finalJack`)."""
    return s.rules.final_jack and card in s.rules.wilds and s.said[seat] is not Word.MAUMAU


def finish(s: State, seat: int, effect: Effect, action: Laid, times: int) -> None:
    """The seat has put down its last card, which lies on top."""
    if must_contest(s, seat, s.top):
        if effect is Effect.WISH and not isinstance(action, PlayMany):
            s.wish = action.wish
        open_contest(s, seat)
    elif s.rules.seven_answer and effect is Effect.DRAW:
        open_answer(s, seat)
    else:
        if s.rules.last_card_effects:
            last_card_draws(s, seat, effect, times)
        end_round(s, seat, RoundEndCause.HAND_EMPTY)


def open_contest(s: State, seat: int) -> None:
    """Every opponent may accuse or concede; the seat that would move next is named already."""
    wait_for_concessions(s, seat, Phase.CONTEST, seats_from(s, seat))


def open_answer(s: State, seat: int) -> None:
    """The next seat may answer the last seven with a seven, or concede."""
    raise_seven(s)
    wait_for_concessions(s, seat, Phase.ANSWER, seats_from(s, seat)[:1])
    if s.log is not None:
        s.log.append(DebtRaised(seat=s.turn, amount=s.debt))


def wait_for_concessions(s: State, seat: int, phase: Phase, waiting: list[int]) -> None:
    """The finish stands when all these seats have conceded."""
    hand_over(s, seat)
    s.finisher = seat
    s.waiting = waiting
    enter(s, phase)
    if s.log is not None:
        s.log.append(ContestOpened(seat=seat))


def check_concede(s: State, seat: int, action: Concede) -> None:
    if seat not in s.waiting:
        raise IllegalAction(Reason.NOTHING_TO_CONCEDE)


def concede(s: State, seat: int, action: Concede) -> None:
    """When nobody is left who could contest or answer, the finish stands."""
    s.waiting.remove(seat)
    if s.log is not None:
        s.log.append(Conceded(seat=seat))
    if s.waiting:
        return
    winner = s.finisher
    if s.phase is Phase.ANSWER and s.rules.last_card_effects:
        take(s, seat, s.debt, DrawCause.CARD_EFFECT)
    end_round(s, winner, RoundEndCause.HAND_EMPTY)


def check_contest(s: State, seat: int, action: Accuse) -> None:
    """The finisher stands for the exposed seat; who has conceded cannot accuse any more."""
    if seat not in s.waiting or action.target not in (None, s.finisher):
        raise IllegalAction(Reason.NOTHING_TO_ACCUSE)


def contest(s: State, seat: int, action: Accuse) -> None:
    """The finisher takes the cards of a missed call and the round goes on with the next seat."""
    assert s.finisher is not None
    if s.log is not None:
        s.log.append(Accused(seat=seat, target=s.finisher, upheld=True))
    take(s, s.finisher, s.rules.miss, DrawCause.CALL_MISSED)
    s.caught = s.finisher
    s.finisher = None
    s.waiting = []
    enter(s, Phase.PLAY)
    announce_turn(s)
