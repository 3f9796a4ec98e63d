"""The checker itself: it passes an honest history, and names each kind of broken promise."""

from __future__ import annotations

from dataclasses import replace

import pytest

from services.rules.room.actions import Clock, Player, SetReady, TakeSeat, Timeout
from services.rules.room.clock import TimerKind
from services.rules.room.journal import encode_action, encode_entry
from services.store.records import NO_MARK, LogEntry
from services.store.records import Clock as RoomClock
from tests.faults.checker import Kind, check_room
from tests.faults.history import Call, Outcome, Records, Sighting

READY = [SetReady(True, bytes([number])) for number in range(6)]


def mark(version: int) -> bytes:
    return version.to_bytes(8, "big") if version else NO_MARK


def entry(version: int, payload: bytes) -> LogEntry:
    return LogEntry(version, mark(version), mark(version - 1), 1_000 * version, payload, RoomClock(now=0))


LOG = [
    entry(1, encode_entry(Player("bo"), TakeSeat("Bo"), [])),
    entry(2, encode_entry(Player("ana"), READY[2], [])),
    entry(3, encode_entry(Player("bo"), READY[3], [])),
    entry(4, encode_entry(Clock(), Timeout(TimerKind.IDLE), [])),
    entry(5, encode_entry(Player("ana"), READY[5], [])),
]


def call(player: str, version: int, began: int) -> Call:
    """An accepted call that took 10 ns."""
    made = Call(player, player, "room", "set_ready", encode_action(READY[version]), 0, began)
    return replace(made, outcome=Outcome.ACCEPTED, returned=began + 10, version=version)


CALLS = [call("ana", 2, 100), call("bo", 3, 105), call("ana", 5, 200)]
SEEN = [Sighting("ana", "room", 1, b"", "asked"), *(Sighting("ana", "room", n, mark(n)) for n in range(2, 6))]


def kinds(log: list[LogEntry], calls: list[Call], seen: list[Sighting]) -> set[Kind]:
    return {finding.kind for finding in check_room("room", log, Records(calls, seen))}


def test_an_honest_history_passes() -> None:
    assert kinds(LOG, CALLS, SEEN) == set()


def test_a_refused_call_that_left_no_trace_passes() -> None:
    refused = replace(call("bo", 4, 150), outcome=Outcome.REFUSED, version=0)
    assert kinds(LOG, [*CALLS, refused], SEEN) == set()


def test_a_call_whose_answer_did_not_come_may_be_in_the_log_or_not() -> None:
    undecided = replace(CALLS[2], outcome=Outcome.UNKNOWN, returned=None, version=0)
    assert kinds(LOG, [*CALLS[:2], undecided], SEEN) == set()
    assert kinds(LOG[:4], [*CALLS[:2], undecided], SEEN[:4]) == set()


@pytest.mark.parametrize(
    ("kind", "log", "calls", "seen"),
    [
        (Kind.LOST, LOG[:4], CALLS, SEEN[:4]),
        (Kind.LOST, LOG, [*CALLS[:2], replace(CALLS[2], player="cleo")], SEEN),
        (Kind.DOUBLED, LOG, [*CALLS, replace(CALLS[2], called=300, returned=310)], SEEN),
        (Kind.UNEXPLAINED, LOG, [*CALLS[:2], replace(CALLS[2], outcome=Outcome.REFUSED)], SEEN),
        (Kind.UNEXPLAINED, [*LOG, entry(6, LOG[4].payload)], CALLS, SEEN),
        (Kind.HOLE, [*LOG[:2], *LOG[3:]], [CALLS[0], CALLS[2]], []),
        (Kind.HOLE, [*LOG[:4], LOG[4]._replace(mark_before=mark(9))], CALLS, SEEN),
        (Kind.DISORDERED, LOG, [replace(CALLS[0], called=300, returned=310), *CALLS[1:]], SEEN),
        (Kind.MISSED, LOG, CALLS, [*SEEN[:2], *SEEN[3:]]),
        (Kind.MISSED, LOG, CALLS, [*SEEN, SEEN[-1]]),
        (Kind.FALSE, LOG, CALLS, [*SEEN[:4], replace(SEEN[4], mark=mark(8))]),
        (Kind.ROLLED_BACK, LOG, CALLS, [*SEEN, Sighting("ana", "room", 3, b"", "history changed")]),
    ],
    ids=lambda value: value.name if isinstance(value, Kind) else "",
)
def test_each_broken_promise_is_named(kind: Kind, log: list[LogEntry], calls: list[Call], seen: list[Sighting]) -> None:
    assert kind in kinds(log, calls, seen)
