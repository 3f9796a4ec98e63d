"""A matchmaking process that dies in the middle of making a match, at `claimed` or at `made` (`crashing`), or of taking
one back that did not begin, at `closed`, when its room is closed and its tickets do not wait again yet.

Its controls lack a protection: `lease` (a claim that nobody finished is never taken over), `room id` (which no longer
follows from the match, so that making the room again makes another one) or `look` (a match that somebody has looked at
is not looked at again).
"""

from __future__ import annotations

import secrets
from typing import Any

from maumau.internal.v1 import room_control_pb2 as internal

from services.matchmaking.__main__ import bind
from services.matchmaking.authority import RoomControl
from services.runtime.invites import Invites
from services.runtime.lifecycle import run_service
from services.runtime.routes import MATCHMAKING
from services.store.claims import Claim, ClaimStore
from tests.faults.crashing import come_to, lacks

_claim, _create_room = ClaimStore.claim, RoomControl.create_room
_close_room, _due_starts = RoomControl.close_room, ClaimStore.due_starts


async def _claim_and_die(store: ClaimStore, claim: Claim) -> Claim | None:
    claimed = await _claim(store, claim)
    if claimed is not None:
        come_to("claimed")
    return claimed


async def _create_and_die(control: RoomControl, request: internal.CreateRoomRequest) -> internal.CreateRoomResponse:
    made = await _create_room(control, request)
    if request.quick_play:
        come_to("made")
    return made


async def _close_and_die(control: RoomControl, room_id: str, why: str) -> None:
    await _close_room(control, room_id, why)
    come_to("closed")


async def _due_once(store: ClaimStore, again_ms: int) -> list[Claim]:
    claims = await _due_starts(store, again_ms)
    for claim in claims:
        await store.begun(claim)
    return claims


async def _never_due(store: ClaimStore) -> list[Claim]:
    return []


_rooms: dict[str, str] = {}


def _any_room_id(invites: Invites, match_id: str) -> str:
    return _rooms.setdefault(match_id, f"r_{secrets.token_hex(10)}")


def _take_away(owner: Any, name: str, instead: Any) -> None:
    setattr(owner, name, instead)


if __name__ == "__main__":
    _take_away(ClaimStore, "claim", _claim_and_die)
    _take_away(RoomControl, "create_room", _create_and_die)
    _take_away(RoomControl, "close_room", _close_and_die)
    if lacks("look"):
        _take_away(ClaimStore, "due_starts", _due_once)
    if lacks("lease"):
        _take_away(ClaimStore, "due", _never_due)
    if lacks("room id"):
        _take_away(Invites, "matched_room_id", _any_room_id)
    run_service(MATCHMAKING, bind)
