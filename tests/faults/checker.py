"""Compares what clients were told with a room's log. The log is the truth; every finding is a broken promise.

The checker knows nothing of the server's inside: an accepted call must stand in the log at the version that was
answered, as the same player's same action; no two calls may own one version; a call that returned before another was
made has the lower version; every version in the log that a recorded player made belongs to a call that was accepted or
whose outcome is unknown; and each client saw each version once, in order, with the log's own mark. Where the log is
whole, it leads by the rules to the stored room, and all calls fit into its order (`linear.py`).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from enum import Enum
from itertools import pairwise
from typing import NamedTuple

from services.rules.room.actions import Player, TakeSeat
from services.rules.room.journal import decode_entry, encode_action
from services.rules.room.state import Room
from services.store.keys import RoomId
from services.store.records import NO_MARK, LogEntry
from services.store.rooms import RoomStore
from tests.faults.history import Call, Outcome, Records, Sighting
from tests.faults.linear import disorders
from tests.faults.replay import CannotFollow, replayed, state_hash

PAGE = 1_000


class Kind(Enum):
    """What may be wrong."""

    LOST = "an accepted action is not in the log"
    DOUBLED = "two calls were answered with one version"
    UNEXPLAINED = "the log holds an action that nobody is known to have made, or that was refused"
    HOLE = "the log is not the versions from 1 on, each after the one before"
    DISORDERED = "an action was accepted before one that had been answered when it was made"
    MISSED = "a client did not see each version once and in order"
    FALSE = "a client saw a version that is not the log's"
    UNFAITHFUL = "the log does not lead to the room that is stored"
    UNORDERED = "no order of the calls explains an answer"
    ROLLED_BACK = "a client was told that the history changed"


class Finding(NamedTuple):
    """One broken promise."""

    kind: Kind
    room: str
    version: int
    said: str


class _Made(NamedTuple):
    """Who did what in one version of the log."""

    version: int
    player: str
    action: bytes


async def read_log(rooms: RoomStore, room: str) -> list[LogEntry]:
    """The whole log of a room."""
    entries: list[LogEntry] = []
    while page := await rooms.log(RoomId(room), entries[-1].version if entries else 0, PAGE):
        entries += page
    return entries


def check_order(room: str, log: Sequence[LogEntry], stored: Room, records: Records) -> list[Finding]:
    """What is wrong with the order of calls on a room whose log is whole: see `linear.py`."""
    try:
        states = replayed(log, stored)
    except CannotFollow as broken:
        return [Finding(Kind.UNFAITHFUL, room, stored.version, str(broken))]
    if state_hash(states[-1]) != state_hash(stored):
        return [Finding(Kind.UNFAITHFUL, room, stored.version, "another state")]
    return [Finding(Kind.UNORDERED, room, *disorder) for disorder in disorders(states, records.of_room(room))]


def check_room(room: str, log: Sequence[LogEntry], records: Records) -> list[Finding]:
    """Everything that is wrong with one room; empty when all promises hold."""
    mine = records.of_room(room)
    found = [*_holes(log), *_lost(log, mine.calls), *_doubled(mine.calls), *_disordered(mine.calls)]
    found += [*_unexplained(log, mine.calls), *_streams(log, mine.sightings)]
    return [Finding(kind, room, version, said) for kind, version, said in found]


_Found = Iterable[tuple[Kind, int, str]]


def _holes(log: Sequence[LogEntry]) -> _Found:
    version, mark = 0, NO_MARK
    for entry in log:
        if entry.version != version + 1 or entry.mark_before != mark:
            yield Kind.HOLE, entry.version, f"after version {version}"
        version, mark = entry.version, entry.mark


def _made(log: Sequence[LogEntry]) -> dict[int, _Made]:
    """What players did by acting; seats are taken through matchmaking."""
    made = {}
    for entry in log:
        actor, action, _ = decode_entry(entry.payload)
        if isinstance(actor, Player) and not isinstance(action, TakeSeat):
            made[entry.version] = _Made(entry.version, actor.id, encode_action(action))
    return made


def _lost(log: Sequence[LogEntry], calls: Sequence[Call]) -> _Found:
    made = _made(log)
    for call in calls:
        if call.outcome is Outcome.ACCEPTED and made.get(call.version) != (call.version, call.player, call.action):
            yield Kind.LOST, call.version, f"{call.kind} of {call.client}"


def _doubled(calls: Sequence[Call]) -> _Found:
    answered = Counter(call.version for call in calls if call.outcome is Outcome.ACCEPTED)
    for version, times in answered.items():
        if times > 1:
            yield Kind.DOUBLED, version, f"answered {times} times"


def _disordered(calls: Sequence[Call]) -> _Found:
    """An answer before a call means a lower version than that call's."""
    moments = []
    for call in calls:
        if call.outcome is Outcome.ACCEPTED and call.returned is not None:
            moments += [(call.called, 1, call), (call.returned, 0, call)]
    highest = 0
    for _, calling, call in sorted(moments, key=lambda moment: moment[:2]):
        if not calling:
            highest = max(highest, call.version)
        elif call.version <= highest:
            yield Kind.DISORDERED, call.version, f"{call.kind} of {call.client} after {highest} was answered"


def _unexplained(log: Sequence[LogEntry], calls: Sequence[Call]) -> _Found:
    accepted = {call.version for call in calls if call.outcome is Outcome.ACCEPTED}
    unknown = Counter((call.player, call.action) for call in calls if call.outcome is Outcome.UNKNOWN)
    recorded = {call.player for call in calls}
    for version, player, action in _made(log).values():
        if player not in recorded or version in accepted:
            continue
        if not unknown[player, action]:
            yield Kind.UNEXPLAINED, version, f"by {player}"
        unknown[player, action] -= 1


def _streams(log: Sequence[LogEntry], sightings: Sequence[Sighting]) -> _Found:
    marks = {entry.version: entry.mark for entry in log}
    by_client = defaultdict[str, list[Sighting]](list)
    for sighting in sightings:
        by_client[sighting.client].append(sighting)
        if sighting.cause == "history changed":
            yield Kind.ROLLED_BACK, sighting.version, sighting.client
        elif sighting.cause == "update" and marks.get(sighting.version) != sighting.mark:
            yield Kind.FALSE, sighting.version, f"seen by {sighting.client}"
    for client, seen in by_client.items():
        for before, after in pairwise(seen):
            if after.version != before.version + 1:
                yield Kind.MISSED, after.version, f"{client} saw it after {before.version} ({after.cause})"
