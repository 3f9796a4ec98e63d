"""From an accepted action to what the store commits."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from typing import Final

import msgspec

from services.game_authority.live_room import Asked
from services.game_authority.relay import encode_result
from services.rules.room import clock as room_clock
from services.rules.room.actions import Actor, RoomAction
from services.rules.room.codec import encode
from services.rules.room.journal import encode_entry
from services.rules.room.settings import Spectators
from services.rules.room.state import RoomPhase
from services.rules.room.step import RoomStep
from services.store import records
from services.store.keys import RoomId

CLOSED_ROOM_MS: Final = 3_600_000
"""How long a closed room and its log can still be looked at."""


class Attempt(msgspec.Struct, frozen=True):
    """What somebody tries: `version` is the one on which it was decided, `due` the deadline that it carries out;
    `absent` are the seats without a live stream where they were just read; `asked` is the stream that waits for the
    answer."""

    actor: Actor
    action: RoomAction
    request_id: bytes | None = None
    version: int | None = None
    due: int | None = None
    absent: frozenset[int] | None = None
    asked: Asked | None = None


def commit_of(
    room_id: RoomId, after: records.Head | None, step: RoomStep, attempt: Attempt, created_ms: int
) -> records.Commit:
    """The commit of an accepted action, with a fresh mark. `created_ms`: when the room was made, for the room list."""
    return records.Commit(
        room=room_id,
        after=after,
        mark=secrets.token_bytes(records.MARK_BYTES),
        state=encode(step.room),
        payload=encode_entry(attempt.actor, attempt.action, step.events),
        clock=_clock_change(step),
        due=attempt.due,
        outbox=encode_result(step.results[0]) if step.results else None,
        listing=_listing(step, created_ms),
        keep_state=step.room.settings.spectators is Spectators.DELAYED,
        lifetime_ms=CLOSED_ROOM_MS if step.room.phase is RoomPhase.CLOSED else None,
    )


def _listing(step: RoomStep, created_ms: int) -> bytes | None:
    if not step.relist:
        return None
    if step.listing is None:
        return b""
    return msgspec.msgpack.encode({**msgspec.to_builtins(step.listing), "created_ms": created_ms})


def _clock_change(step: RoomStep) -> records.ClockChange:
    clock = step.clock
    return records.ClockChange(
        charge=None if clock.charge is None else clock.charge.seat,
        base_ms=0 if clock.charge is None else clock.charge.base_ms,
        banks=clock.banks,
        restart_turn=clock.restart_turn,
        restart_window=clock.restart_window,
        pending=store_pending(clock.pending),
    )


def store_pending(timers: Iterable[room_clock.Pending]) -> tuple[records.Pending, ...]:
    """The timers of a room as the store takes them."""
    return tuple(records.Pending(t.kind.value, _ORIGINS[t.origin], t.after_ms, t.bank_seat) for t in timers)


_ORIGINS: Final = {
    room_clock.Origin.NOW: records.Origin.NOW,
    room_clock.Origin.TURN: records.Origin.TURN,
    room_clock.Origin.WINDOW: records.Origin.WINDOW,
}
