"""Which timers run in a room, and what a version does to its clock."""

from __future__ import annotations

from typing import Final

from services.rules import engine
from services.rules.actions import Accuse
from services.rules.room.clock import Charge, ClockChange, Origin, Pending, TimerKind
from services.rules.room.draft import Draft
from services.rules.room.playing import WINDOW_PHASES
from services.rules.room.settings import ServerTimes
from services.rules.room.state import Began, Match, Room, RoomPhase
from services.rules.views import SheddingView

MILLISECONDS = 1_000


def pending(room: Room, absent: frozenset[int], times: ServerTimes) -> tuple[Pending, ...]:
    """The timers that run. `absent` are seats of people without a live stream: while all are absent, a match waits."""
    phase = room.phase
    if phase in (RoomPhase.PLAYING, RoomPhase.PAUSE) and all(number in absent for number, _ in room.people()):
        return (Pending(TimerKind.EMPTY, Origin.NOW, times.empty),)
    if phase is RoomPhase.OPEN:
        return _open(room, times)
    if phase is RoomPhase.READY_CHECK:
        return (Pending(TimerKind.READY_CHECK, Origin.TURN, times.ready_check),)
    if phase is RoomPhase.PAUSE:
        return (Pending(TimerKind.NEXT_ROUND, Origin.TURN, room.settings.pause_seconds * MILLISECONDS),)
    if phase is RoomPhase.FINISHED:
        return (Pending(TimerKind.FINISHED, Origin.TURN, times.finished),)
    if phase is RoomPhase.CLOSED:
        return ()
    assert room.match is not None
    if engine.phase(room.match.state) in WINDOW_PHASES:
        return _in_window(room, room.match, times)
    return _on_turn(room, room.match, absent, times)


def _open(room: Room, times: ServerTimes) -> tuple[Pending, ...]:
    idle = Pending(TimerKind.IDLE, Origin.NOW, times.open_idle)
    if room.rematch:
        return (Pending(TimerKind.REMATCH, Origin.TURN, times.rematch_offer), idle)
    return (idle,)


def _in_window(room: Room, match: Match, times: ServerTimes) -> tuple[Pending, ...]:
    timers, people = [], []
    for seat in engine.must_act(match.state):
        if _is_bots(room, seat):
            timers.append(_bot_in_window(room, match, seat, times))
        else:
            people.append(seat)
    if people:
        timers.append(Pending(TimerKind.WINDOW, Origin.WINDOW, times.window, people[0]))
    return tuple(timers)


def _on_turn(room: Room, match: Match, absent: frozenset[int], times: ServerTimes) -> tuple[Pending, ...]:
    """Where somebody can be accused whose window opened with this turn or in it, a bot waits for people to accuse."""
    (seat,) = engine.must_act(match.state)
    exposed = _has_bots(room) and _somebody_is_exposed(match)
    timers = []
    if not _is_bots(room, seat):
        timers.append(Pending(TimerKind.TURN, Origin.TURN, room.settings.turn_seconds * MILLISECONDS, seat, seat))
        if seat in absent:
            timers.append(Pending(TimerKind.AWAY, Origin.TURN, times.away_grace, seat))
    elif exposed and match.began["exposed"].version >= match.began["turn"].version:
        timers.append(_bot_in_window(room, match, seat, times))
    else:
        return (Pending(TimerKind.BOT, Origin.TURN, _delay(room, match, seat, times), seat),)
    if exposed:
        timers.extend(_bot_in_window(room, match, s, times) for s in _accusing_bots(room, match))
    return tuple(timers)


def _is_bots(room: Room, number: int) -> bool:
    seat = room.seats[number]
    return seat is not None and seat.played_by_bot


def _has_bots(room: Room) -> bool:
    return any(seat is not None and seat.played_by_bot for seat in room.seats)


def _accusing_bots(room: Room, match: Match) -> list[int]:
    """Bots that may accuse somebody while they are not on turn."""
    return [
        seat
        for seat in engine.may_act(match.state)
        if _is_bots(room, seat)
        and any(isinstance(action, Accuse) for action in engine.legal_actions(match.state, seat))
    ]


def _somebody_is_exposed(match: Match) -> bool:
    if "exposed" not in match.began:
        return False
    view = engine.view(match.state, None)
    return isinstance(view, SheddingView) and view.exposed is not None


def _bot_in_window(room: Room, match: Match, seat: int, times: ServerTimes) -> Pending:
    after = times.window_least + _delay(room, match, seat, times)
    return Pending(TimerKind.BOT, Origin.WINDOW, after, seat)


def _delay(room: Room, match: Match, seat: int, times: ServerTimes) -> int:
    """Drawn from seed, round, version and seat alone, so that it says nothing about the hand."""
    stream = match.shuffler.stream("delay", match.round, room.version * 256 + seat)
    return times.bot_least + stream.below(times.bot_most - times.bot_least + 1)


RETURNED: Final = "returned"
"""Name in `Match.began`: in the turn of this serial the seat on turn has been given back to its person."""


def note_beginnings(before: Room, draft: Draft) -> None:
    """Remember since which version there is what actions act on, and whether somebody came back in this turn."""
    match = draft.room.match
    if match is None or draft.room.phase is not RoomPhase.PLAYING:
        return
    began = {}
    for name, serial in engine.subjects(match.state).items():
        known = match.began.get(name)
        began[name] = known if known is not None and known.serial == serial else Began(serial, draft.version)
    returned = match.began.get(RETURNED)
    if returned is not None and returned.serial == began["turn"].serial:
        began[RETURNED] = returned
    if began != match.began:
        draft.change_match(began=began)
    if RETURNED not in began and _comes_back(before, draft.room):
        draft.change_match(began={**began, RETURNED: Began(began["turn"].serial, draft.version)})


def clock_change(before: Room, draft: Draft) -> ClockChange:
    """What this version does to the clock."""
    room, ctx = draft.room, draft.ctx
    changes_hands = _changes_hands(before, room)
    restart = before.version == 0 or draft.restart_turn or _whose_time(before) != _whose_time(room)
    if changes_hands and _has_returned(before):
        restart = False  # else who goes and comes again and again would never have to move
    return ClockChange(
        pending=pending(room, ctx.absent, ctx.times),
        charge=_charge(before) if restart or changes_hands else None,
        restart_turn=restart,
        restart_window=_window_opened(room),
        banks=_full_banks(room) if before.matches != room.matches else None,
        credit_ms=draft.credit_ms,
    )


def _whose_time(room: Room) -> tuple[object, ...]:
    """What the clock's turn is about; when it changes, the turn begins anew."""
    if room.phase is not RoomPhase.PLAYING or room.match is None:
        return (room.phase, room.matches)
    match = room.match
    seats = engine.must_act(match.state)
    if engine.phase(match.state) in WINDOW_PHASES:
        return (room.matches, match.round, "window")
    return (room.matches, match.round, match.began["turn"].serial, seats[0], _is_bots(room, seats[0]))


def _changes_hands(before: Room, room: Room) -> bool:
    """Whether the seat on turn goes from its person to a bot, or back, in the middle of its turn."""
    if before.seats is room.seats:  # as nearly always; what follows is dear
        return False
    *old, by_bot = _whose_time(before)
    *new, by_bot_now = _whose_time(room)
    return len(new) == 4 and old == new and by_bot != by_bot_now


def _comes_back(before: Room, room: Room) -> bool:
    return _changes_hands(before, room) and not _whose_time(room)[-1]


def _has_returned(room: Room) -> bool:
    assert room.match is not None
    return RETURNED in room.match.began


def _charge(before: Room) -> Charge | None:
    """The person whose turn it was pays for it."""
    if before.phase is not RoomPhase.PLAYING or before.match is None:
        return None
    state = before.match.state
    if engine.phase(state) in WINDOW_PHASES:
        return None
    (seat,) = engine.must_act(state)
    return None if _is_bots(before, seat) else Charge(seat, before.settings.turn_seconds * MILLISECONDS)


def _window_opened(room: Room) -> bool:
    if room.phase is not RoomPhase.PLAYING or room.match is None:
        return False
    match = room.match
    if engine.phase(match.state) in WINDOW_PHASES:
        return match.began["phase"].version == room.version
    exposed = match.began.get("exposed")
    return exposed is not None and exposed.version == room.version and _somebody_is_exposed(match)


def _full_banks(room: Room) -> tuple[int, ...]:
    assert room.match is not None
    return (room.settings.bank_seconds * MILLISECONDS,) * room.match.proof.seats
