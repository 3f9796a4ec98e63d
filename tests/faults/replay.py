"""A room from its log alone: every version's state, computed anew by the rules from who attempted what.

The log names commitments, not seeds, so the seeds come from what a finished match reveals and, for one that is not
over, from the stored room. What the log says of a version's events must be what the rules make of it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from msgspec.structs import replace

from services.rules.room.actions import CreateRoom, Rematch, Timeout
from services.rules.room.apply import apply
from services.rules.room.codec import encode
from services.rules.room.events import MatchFinished, SeedCommitted
from services.rules.room.journal import LogEntry, decode_entry
from services.rules.room.reasons import NotDue
from services.rules.room.state import Room
from services.rules.room.step import Context, RoomStep
from services.store import records


class CannotFollow(AssertionError):  # noqa: N818 - a finding, not a fault
    """A version of the log is not what its action leads to."""


def replayed(log: Sequence[records.LogEntry], stored: Room) -> list[Room]:
    """The room after each version of a whole log; `stored` is it now, for the seed of the match that is to come.
    Requests are not in the log, and so not in these rooms. Raises CannotFollow."""
    rooms = list[Room]()
    entries = [decode_entry(entry.payload) for entry in log]
    seeds = _seeds(entries, stored)
    room: Room | None = None
    for entry in entries:
        room = _next(room, entry, seeds)
        rooms.append(room)
    return rooms


def state_hash(room: Room) -> str:
    """Equal for equal states; without the requests, which serve repeats only."""
    return hashlib.sha256(encode(replace(room, requests={}))).hexdigest()


def _seeds(entries: Sequence[LogEntry], stored: Room) -> dict[str, bytes]:
    """Seeds by match id."""
    seeds = {stored.upcoming.match_id: stored.upcoming.seed}
    if stored.match is not None:
        seeds[stored.match.proof.match_id] = stored.match.seed
    for entry in entries:
        seeds |= {event.match_id: event.seed for event in entry.events if isinstance(event, MatchFinished)}
    return seeds


def _next(before: Room | None, entry: LogEntry, seeds: Mapping[str, bytes]) -> Room:
    version = 1 if before is None else before.version + 1
    for absent in _who_may_be_absent(before, entry):
        try:
            step = _step(before, entry, seeds, absent)
        except NotDue:
            continue
        except Exception as error:
            raise CannotFollow(f"version {version}, {entry.action}: {error!r}") from error
        if step.events == entry.events:
            return step.room
    raise CannotFollow(f"version {version} is not what its action leads to: {entry.action}")


def _step(before: Room | None, entry: LogEntry, seeds: Mapping[str, bytes], absent: frozenset[int]) -> RoomStep:
    match_id = ""
    if isinstance(entry.action, (CreateRoom, Rematch)):
        (match_id,) = [event.match_id for event in entry.events if isinstance(event, SeedCommitted)]
    context = Context(match_id=match_id, seed=seeds.get(match_id, b""), absent=absent)
    return apply(before, entry.actor, entry.action, context)


def _who_may_be_absent(before: Room | None, entry: LogEntry) -> Iterator[frozenset[int]]:
    """Which timers ran when one came due depends on who was there; the log tells it of the seat whose timer it was."""
    people = [] if before is None or not isinstance(entry.action, Timeout) else [seat for seat, _ in before.people()]
    for size in range(len(people) + 1):
        yield from map(frozenset, combinations(people, size))
