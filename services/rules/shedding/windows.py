"""The duty to call with one card left, and how long a missed call can be punished (rules.md 1.6)."""

from __future__ import annotations

from services.rules.actions import Word
from services.rules.events import Called, LeftExposed
from services.rules.shedding.state import State


def judge_call(s: State, seat: int, call: Word | None, free_of_duty: bool) -> None:
    """A play left this seat with one card: a call made in time is in force, otherwise the seat is exposed. A word of
    another game is no call."""
    if s.said[seat] is not None:
        return
    if call is not None and call in s.rules.words and not s.rules.before_play:
        call_stands(s, seat, call)
    elif not free_of_duty:
        expose(s, seat)


def call_stands(s: State, seat: int, word: Word) -> None:
    """The call is in force from now on."""
    s.said[seat] = word
    if s.exposed == seat:
        s.exposed = None
    if s.log is not None:
        s.log.append(Called(seat=seat, word=word))


def expose(s: State, seat: int) -> None:
    """From now on this seat can be accused."""
    s.exposed = seat
    s.exposed_serial += 1
    if s.log is not None:
        s.log.append(LeftExposed(seat=seat))


def window_closes(s: State) -> None:
    """Somebody puts a card down: the missed call before it is forgiven, unless it can be punished all round long."""
    s.caught = None
    if s.rules.window != "round":
        s.exposed = None


def action_begins(s: State) -> None:
    """Somebody draws, takes, accepts or challenges."""
    if s.rules.window == "next_action":
        s.exposed = None
        s.caught = None


def turn_ends_without_play(s: State) -> None:
    """The seat on turn passed, or took what it owed."""
    if s.rules.window == "next_discard_or_pass":
        s.exposed = None
        s.caught = None


def pressed(s: State, seat: int) -> bool:
    """The seat on turn called before its play, as its ruleset demands, and now must play."""
    return s.rules.before_play and s.said[seat] is not None and len(s.hands[seat]) == 2
