"""In a match: actions of the game, from people, bots and the clock; rounds that end and begin."""

from __future__ import annotations

from msgspec.structs import replace

from services.rules import engine
from services.rules.actions import Action
from services.rules.events import Accused, Event, RoundEnded, RoundStarted
from services.rules.reasons import IllegalAction, Reason
from services.rules.room.absence import hand_to_bot, take_back
from services.rules.room.actions import Act, Bot, ReadyForRound
from services.rules.room.draft import Draft
from services.rules.room.ending import finish_match
from services.rules.room.events import RoundReady, TimedOut
from services.rules.room.reasons import AlreadyDone, RoomReason, RoomRefusal
from services.rules.room.settings import TIMEOUTS_UNTIL_AWAY
from services.rules.room.sides import seats_of_side
from services.rules.room.state import Match, RoomPhase, SeatCounts
from services.rules.views import Phase

WINDOW_PHASES = (Phase.REACT, Phase.CONTEST)
"""Phases in which the table waits for several seats at once."""

NO_TURNS = (*WINDOW_PHASES, Phase.CHOOSE)
"""Phases in which nobody plays a turn yet."""

LONGEST_TURN = 400
"""More actions than any turn has: a default that never ends its turn is a fault of the engine."""


def act(draft: Draft, action: Act) -> None:
    """Raises IllegalAction, RoomRefusal (MATCH_NOT_RUNNING, NOT_SEATED, NOT_ALLOWED for a bot whose seat a person
    plays, STALE)."""
    if draft.room.phase is RoomPhase.PAUSE:
        raise IllegalAction(Reason.ROUND_OVER)
    if draft.room.phase is RoomPhase.FINISHED:
        raise IllegalAction(Reason.MATCH_OVER)
    if isinstance(draft.actor, Bot):
        seat = draft.actor.seat
        if not draft.seat(seat).played_by_bot:
            raise RoomRefusal(RoomReason.NOT_ALLOWED)
    else:
        seat = draft.own_seat()
    _refuse_stale(draft, action.action)
    if isinstance(draft.actor, Bot):
        draft.restart_turn = engine.must_act(draft.match.state) == (seat,)
        return play(draft, seat, action.action, by_bot=True)
    if draft.seat(seat).away:
        take_back(draft, seat)
    elif draft.seat(seat).timeouts:
        draft.change_seat(seat, timeouts=0)
    return play(draft, seat, action.action)


def _refuse_stale(draft: Draft, action: Action) -> None:
    named = draft.ctx.version
    if named is None:
        return
    subject = engine.acts_on(draft.match.state, action)
    began = draft.match.began.get(subject)
    if began is not None and named < began.version:
        raise RoomRefusal(RoomReason.STALE, version=named, began=began.version, subject=subject)


def play(draft: Draft, seat: int, action: Action, *, by_bot: bool = False) -> None:
    """Carry out an action of the game for this seat."""
    match = draft.match
    step = engine.apply(match.state, seat, action, match.shuffler)
    match = _count_turn(match, seat, for_person=by_bot and draft.seat(seat).is_person)
    draft.change(match=replace(match, state=step.state))
    absorb(draft, step.events)


def _count_turn(match: Match, seat: int, *, for_person: bool) -> Match:
    """Count the turn with its first action; whoever acts then has played it."""
    turn = turn_serial(match)
    if turn == match.turn_counted or engine.phase(match.state) in NO_TURNS:
        return match
    if seat not in engine.must_act(match.state):
        return match
    counts = match.counts[seat]
    counts = replace(counts, turns=counts.turns + 1, bot_turns=counts.bot_turns + for_person)
    return replace(match, turn_counted=turn, counts=_with(match.counts, seat, counts))


def turn_serial(match: Match) -> int:
    """Which turn of the match this is."""
    return engine.subjects(match.state).get("turn", 0)


def _with(counts: tuple[SeatCounts, ...], seat: int, changed: SeatCounts) -> tuple[SeatCounts, ...]:
    return (*counts[:seat], changed, *counts[seat + 1 :])


def absorb(draft: Draft, events: list[Event]) -> None:
    """Tell what the game did, keep its books, and follow it into the pause or to the end of the match."""
    for event in events:
        draft.tell(event)
        if isinstance(event, RoundStarted):
            draft.change_match(round=event.round)
        elif isinstance(event, RoundEnded):
            _book_round(draft, event)
        elif isinstance(event, Accused):
            _book_accusation(draft, event)
    phase = engine.phase(draft.match.state)
    if phase is Phase.ROUND_OVER:
        draft.change(phase=RoomPhase.PAUSE, pause_since=draft.version)
        draft.change_people(round_ready=False)
    elif phase is Phase.MATCH_OVER:
        outcome = engine.outcome(draft.match.state)
        assert outcome is not None
        finish_match(draft, outcome)


def _book_round(draft: Draft, event: RoundEnded) -> None:
    match = draft.match
    counts = match.counts
    for seat in seats_of_side(draft.room, event.winner):
        counts = _with(counts, seat, replace(counts[seat], rounds_won=counts[seat].rounds_won + 1))
    draft.change_match(points=(*match.points, event.points), scores=event.scores, counts=counts)


def _book_accusation(draft: Draft, event: Accused) -> None:
    counts = draft.match.counts
    accuser = counts[event.seat]
    if not event.upheld or event.target is None:
        accuser = replace(accuser, accusations_wrong=accuser.accusations_wrong + 1)
        return draft.change_match(counts=_with(counts, event.seat, accuser))
    accuser = replace(accuser, accusations_right=accuser.accusations_right + 1)
    counts = _with(counts, event.seat, accuser)
    missed = counts[event.target]
    missed = replace(missed, calls_missed=missed.calls_missed + 1)
    return draft.change_match(counts=_with(counts, event.target, missed))


def time_out_turn(draft: Draft, seat: int, *, absent: bool) -> None:
    """Act for a silent seat until its turn is over; who was silent too often, or has no live stream, is away."""
    if absent:
        return hand_to_bot(draft, seat)
    count = draft.seat(seat).timeouts + 1
    draft.change_seat(seat, timeouts=count)
    draft.tell(TimedOut(seat=seat, count=count))
    _play_defaults(draft, seat)
    if count >= TIMEOUTS_UNTIL_AWAY and draft.in_match:
        hand_to_bot(draft, seat)
    return None


def _play_defaults(draft: Draft, seat: int) -> None:
    turn = turn_serial(draft.match)
    for _ in range(LONGEST_TURN):
        play(draft, seat, engine.default_action(draft.match.state, seat))
        state = draft.match.state
        if draft.room.phase is not RoomPhase.PLAYING or engine.phase(state) in WINDOW_PHASES:
            return
        if engine.must_act(state) != (seat,) or turn_serial(draft.match) != turn:
            return
    raise AssertionError("default actions do not end the turn")


def time_out_window(draft: Draft) -> None:
    """Answer for all people who did not slap, shout or concede in time."""
    phase = engine.phase(draft.match.state)
    for seat in engine.must_act(draft.match.state):
        if draft.seat(seat).played_by_bot:
            continue
        draft.tell(TimedOut(seat=seat, count=draft.seat(seat).timeouts))
        play(draft, seat, engine.default_action(draft.match.state, seat))
        if draft.room.phase is not RoomPhase.PLAYING or engine.phase(draft.match.state) is not phase:
            return


def ready_for_round(draft: Draft, action: ReadyForRound) -> None:
    """Raises RoomRefusal (NOT_SEATED, STALE), AlreadyDone for who said so before."""
    number = draft.own_seat()
    named = draft.ctx.version
    if named is not None and named < draft.room.pause_since:
        raise RoomRefusal(RoomReason.STALE, version=named, began=draft.room.pause_since, subject="pause")
    seat = draft.seat(number)
    if seat.away:
        take_back(draft, number)
    elif seat.round_ready:
        raise AlreadyDone(draft.room.version)
    draft.change_seat(number, round_ready=True, timeouts=0)
    draft.tell(RoundReady(seat=number))
    deal_if_ready(draft)


def deal_if_ready(draft: Draft) -> None:
    """Deal the next round when nobody who is here wants to wait."""
    if all(seat.round_ready or seat.away for _, seat in draft.room.people()):
        deal_next_round(draft)


def deal_next_round(draft: Draft) -> None:
    """End the pause."""
    step = engine.next_round(draft.match.state, draft.match.shuffler)
    draft.change_match(state=step.state)
    draft.change(phase=RoomPhase.PLAYING)
    absorb(draft, step.events)
