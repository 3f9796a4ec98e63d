"""Repeats are known by their request id: the last accepted ones of each player are kept in the room."""

from __future__ import annotations

import hashlib
from functools import lru_cache

from services.rules.room.actions import Act, Actor, Player, RoomAction
from services.rules.room.journal import encode_action
from services.rules.room.reasons import AlreadyDone, RoomReason, RoomRefusal
from services.rules.room.state import Accepted, Room
from services.rules.room.step import REQUEST_ID_BYTES, Context

REMEMBERED_REQUESTS = 8
REMEMBERED_PLAYERS = 32
DIGEST_BYTES = 8
_KEPT = 4_096
"""Actions of games whose digest is kept: they come again and again."""


def refuse_repeat(room: Room, actor: Actor, action: RoomAction, ctx: Context) -> None:
    """Raises AlreadyDone with the version of the first time for a repeat, RoomRefusal (REQUEST_ID_REUSED) where the
    id belongs to another action, RoomRefusal (INVALID_FIELD) where it is none."""
    if ctx.request_id is None:
        return
    if len(ctx.request_id) != REQUEST_ID_BYTES:
        raise RoomRefusal(
            RoomReason.INVALID_FIELD,
            field="request_id",
            value=f"{len(ctx.request_id)} bytes",
            expected=f"{REQUEST_ID_BYTES} bytes",
        )
    for accepted in room.requests.get(_owner(actor), ()):
        if accepted.request_id == ctx.request_id:
            if accepted.digest != _digest(action):
                raise RoomRefusal(RoomReason.REQUEST_ID_REUSED, version=accepted.version)
            raise AlreadyDone(accepted.version)


def remember(room: Room, actor: Actor, action: RoomAction, ctx: Context) -> dict[str, tuple[Accepted, ...]]:
    """The room's requests with this one, which becomes the version after the room's. Whoever was silent longest is
    forgotten first."""
    if ctx.request_id is None:
        return room.requests
    owner = _owner(actor)
    entry = Accepted(ctx.request_id, room.version + 1, _digest(action))
    kept = dict(room.requests)
    own = kept.pop(owner, ())
    while len(kept) >= REMEMBERED_PLAYERS:
        del kept[next(iter(kept))]
    kept[owner] = (*own, entry)[-REMEMBERED_REQUESTS:]
    return kept


def _owner(actor: Actor) -> str:
    return actor.id if isinstance(actor, Player) else ""


def _digest(action: RoomAction) -> bytes:
    return _kept_digest(action) if type(action) is Act else _digest_of(action)


@lru_cache(_KEPT)
def _kept_digest(action: Act) -> bytes:
    return _digest_of(action)


def _digest_of(action: RoomAction) -> bytes:
    return hashlib.sha256(encode_action(action)).digest()[:DIGEST_BYTES]
