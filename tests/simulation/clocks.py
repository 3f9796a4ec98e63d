"""Turns and their time, counted again from nothing but when Redis was asked: a silence of more than 3 s is nobody's
time, nobody's turn ends before its time, and no bank pays for more than was used."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from services.rules.room.actions import Timeout
from services.rules.room.clock import TimerKind
from services.rules.room.settings import DEFAULT_TIMES
from services.store.keys import RoomId, partition_of
from services.store.records import Outage

if TYPE_CHECKING:
    from tests.simulation.oracle import Record

GAP_MS: Final = 3_000
PULSE_MS: Final = 500
TURN, DEADLINE, KIND, CREDITED, BANKS = 0, 2, 3, 5, 6


@dataclass
class _Turn:
    began: int
    credited: int = 0

    def elapsed(self, now: int) -> int:
        return now - self.began - self.credited

    def outage(self, began: int, ended: int) -> None:
        """Nobody served, or the clock went back."""
        if ended < began:
            self.began += ended - began
        else:
            self.credited += max(0, ended - max(began, self.began))


class TurnWatch:
    """Follows every room's turn by the clock of Redis. `broken` is told what is wrong."""

    def __init__(self, broken: Callable[[str, str], None]) -> None:
        self._broken = broken
        self._pulse: dict[int, int] = {}
        self._turns: dict[str, _Turn] = {}

    def compared(self, partition: int, now: int) -> None:
        """A commit looked at the pulse."""
        pulse = self._pulse.get(partition)
        if pulse is not None and (now - pulse > GAP_MS or now < pulse):
            self._silence(partition, pulse, now)
            self._pulse[partition] = now

    def pulsed(self, partition: int, now: int) -> None:
        """A sweep found rooms that wait. It writes a pulse only where the last one is old enough."""
        self.compared(partition, now)
        if now - self._pulse.get(partition, 0) >= PULSE_MS:
            self._pulse[partition] = now

    def idle(self, partition: int) -> None:
        """No room of the partition waits for time."""
        self._pulse.pop(partition, None)

    def _silence(self, partition: int, began: int, ended: int) -> None:
        for name, turn in self._turns.items():
            if partition_of(RoomId(name)) != partition:
                continue
            turn.outage(began, ended)

    def rearmed(self, name: str, clock: list[int], now: int) -> None:
        if clock[TURN] == now:
            self._turns[name] = _Turn(now)

    def restored(self, name: str, clock: list[int], pulse: int | None, outages: list[Outage]) -> None:
        """Redis went back to what it had then, also to outages that the room has still to be credited with."""
        turn = self._turns[name] = _Turn(clock[TURN])
        for outage in outages:
            if outage.id > clock[CREDITED]:
                turn.outage(outage.began, outage.ended)
        if pulse is None:
            self._pulse.pop(partition_of(RoomId(name)), None)
        else:
            self._pulse[partition_of(RoomId(name))] = pulse

    def committed(self, name: str, previous: Record | None, record: Record) -> None:
        turn = self._turns.get(name)
        if previous is not None and turn is not None:
            self._check_timeout(name, previous, record, turn)
            self._check_banks(name, previous, record, turn)
        if record.clock[TURN] == record.time:
            self._turns[name] = _Turn(record.time)
        if record.clock[DEADLINE] and partition_of(RoomId(name)) not in self._pulse:
            self._pulse[partition_of(RoomId(name))] = record.time

    def _check_timeout(self, name: str, previous: Record, record: Record, turn: _Turn) -> None:
        action = record.entry.action
        if not isinstance(action, Timeout):
            return
        if action.kind is TimerKind.TURN and action.seat is not None:
            bank = previous.clock[BANKS + action.seat]
            least = previous.room.settings.turn_seconds * 1_000 + bank
        elif action.kind is TimerKind.AWAY:
            least = DEFAULT_TIMES.away_grace
        else:
            return
        if turn.elapsed(record.time) < least:
            used = turn.elapsed(record.time)
            self._broken("early", f"{name}: {action.kind.name} after {used} of {least} ms, version {record.version}")

    def _check_banks(self, name: str, previous: Record, record: Record, turn: _Turn) -> None:
        if previous.room.matches != record.room.matches:
            return
        over = max(0, turn.elapsed(record.time) - previous.room.settings.turn_seconds * 1_000)
        for seat, (before, after) in enumerate(zip(previous.clock[BANKS:], record.clock[BANKS:], strict=True)):
            if after < max(0, before - over):
                self._broken("charged", f"{name}: seat {seat} paid {before - after} of {over} ms, {record.version}")
