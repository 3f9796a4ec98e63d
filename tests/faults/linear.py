"""Whether what clients were told of a room can have happened in one order, each call between its beginning and its end.

A room is a register with versions, and its log is the one order of its writes; so the search that checkers of
linearizability make is not needed, and every call can be judged by itself:

* an accepted call's version is above every version that anybody had been answered or shown before it began, and nobody
  was shown that version before the call began;
* a refused call is refused, with this reason, by some state that may have been the newest while it lasted: the states
  come from replaying the log (`replay.py`).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from services.rules.reasons import IllegalAction, Reason
from services.rules.room.actions import Player
from services.rules.room.apply import apply
from services.rules.room.journal import decode_action
from services.rules.room.reasons import AlreadyDone, RoomReason, RoomRefusal
from services.rules.room.state import Room
from services.rules.room.step import Context
from services.rules.ruleset import RulesetError
from tests.faults.history import Call, Outcome, Records

JUDGED = {*RoomReason.__members__, *Reason.__members__}
"""Reasons that a state gives. Others tell of limits and outages: there the log shows that nothing was done."""


class Disorder(NamedTuple):
    """A call that fits nowhere."""

    version: int
    said: str


class _Known(NamedTuple):
    """From a moment on, in ns, somebody knew of this version."""

    at: int
    version: int


def disorders(states: Sequence[Room], records: Records) -> list[Disorder]:
    """Calls on one room that no order explains; `states` are those after versions 1, 2 ..."""
    known = _Knowledge(records)
    found = list[Disorder]()
    for call in records.calls:
        if call.outcome is Outcome.ACCEPTED:
            found += _written(call, known)
        elif call.outcome is Outcome.REFUSED and call.reason in JUDGED:
            found += _refused(call, known, states)
    return found


class _Knowledge:
    """Which versions there must have been, and cannot have been, at a moment."""

    def __init__(self, records: Records) -> None:
        accepted = [call for call in records.calls if call.outcome is Outcome.ACCEPTED]
        answers = [_Known(call.returned, call.version) for call in accepted if call.returned is not None]
        shown = [_Known(sighting.at, sighting.version) for sighting in records.sightings]
        self._least = _running(sorted(answers + shown), max)
        self._shown = {}
        for known in sorted(shown, reverse=True):
            self._shown[known.version] = known.at
        began = sorted((_Known(call.called, call.version) for call in accepted), reverse=True)
        self._most = _running(began, min)[::-1]

    def least(self, at: int) -> int:
        """A version that had been reached before this moment."""
        place = bisect_right(self._least, (at, -1))
        return self._least[place - 1].version if place else 0

    def most(self, at: int, last: int) -> int:
        """The highest version that can have been there at this moment: below all whose calls began later."""
        place = bisect_right(self._most, (at, last + 1))
        return self._most[place].version - 1 if place < len(self._most) else last

    def first_shown(self, version: int) -> int | None:
        """When somebody was first shown it."""
        return self._shown.get(version)


def _running(known: Sequence[_Known], best: Callable[[int, int], int]) -> list[_Known]:
    """Each moment with the highest, or lowest, version up to there."""
    running = list[_Known]()
    for at, version in known:
        running.append(_Known(at, best(version, running[-1].version) if running else version))
    return running


def _written(call: Call, known: _Knowledge) -> Iterator[Disorder]:
    before = known.least(call.called)
    if call.version <= before:
        yield Disorder(call.version, f"{call.kind} of {call.client} began when {before} had been reached")
    shown = known.first_shown(call.version)
    if shown is not None and shown < call.called:
        yield Disorder(call.version, f"was seen before the {call.kind} of {call.client} began")


def _refused(call: Call, known: _Knowledge, states: Sequence[Room]) -> Iterator[Disorder]:
    assert call.returned is not None
    least, most = max(1, known.least(call.called)), known.most(call.returned, len(states))
    if call.reason not in {_verdict(states[version - 1], call) for version in range(least, most + 1)}:
        yield Disorder(least, f"{call.kind} of {call.client}: no state from {least} to {most} says {call.reason}")


def _verdict(room: Room, call: Call) -> str:
    """The reason for which this state refuses the call; empty if it accepts it."""
    try:
        apply(room, Player(call.player), decode_action(call.action), Context(version=call.decided_on))
    except (RoomRefusal, IllegalAction, RulesetError) as refusal:
        return refusal.reason if isinstance(refusal, RulesetError) else refusal.reason.name
    except AlreadyDone:
        return ""
    return ""
