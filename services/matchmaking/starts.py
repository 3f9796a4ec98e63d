"""Whether the matches that were made begin, and what becomes of the tickets of those that do not.

A match that was made is looked at every few seconds until it has begun. Where somebody did not get ready in time, or
left before, its room is open instead: then the room is closed, and the tickets of those who are still in it wait again,
with all their waiting time. Who did not come has no ticket any more. A party counts as one: it comes when all of it do.

Who dies on the way loses nothing: the match stays on the list until its tickets are settled, in one script, and a
closed room names the people in it for as long as their tickets are kept, so the next look does the rest.
"""

from __future__ import annotations

import asyncio
from typing import Final, Protocol

from maumau.internal.v1 import room_control_pb2 as internal
from maumau.v1 import room_pb2

from services.runtime import metrics
from services.runtime.channels import PassedOn
from services.runtime.errors import Refused
from services.runtime.invites import Invites
from services.runtime.logs import log
from services.store.claims import Claim, ClaimStore
from services.store.encounters import EncounterStore, Lately
from services.store.keys import PlayerId, RoomId

AGAIN_MS: Final = 3_000
WHY: Final = "Somebody did not come. Whoever did is first in the queue again."
_OVER: Final = (room_pb2.ROOM_STATE_OPEN, room_pb2.ROOM_STATE_CLOSED)


class RoomKeeper(Protocol):
    """Who knows rooms."""

    async def room_summary(self, room_id: str) -> internal.GetRoomSummaryResponse: ...

    async def close_room(self, room_id: str, why: str) -> None: ...


class Starts:
    """Any number of processes look; each match is one's for three seconds."""

    def __init__(self, claims: ClaimStore, control: RoomKeeper, invites: Invites, encounters: EncounterStore) -> None:
        self._claims = claims
        self._control = control
        self._invites = invites
        self._encounters = encounters

    async def look(self) -> None:
        """Looks at the matches that are due."""
        due = await self._claims.due_starts(AGAIN_MS)
        await asyncio.gather(*(self._look_at(claim) for claim in due))

    async def _look_at(self, claim: Claim) -> None:
        room = RoomId(self._invites.matched_room_id(claim.match))
        try:
            found = await self._control.room_summary(room)
            if found.match_began:
                await self._remember(claim, room)
                await self._claims.begun(claim)
            elif found.room.state in _OVER:
                await self._control.close_room(room, WHY)
                await self._give_back(claim, found)
        except PassedOn as refused:
            if refused.reason == "ROOM_NOT_FOUND":
                await self._claims.begun(claim)
            else:
                log.warning("start of a match not seen", match=claim.match, reason=refused.reason)
        except Refused as refused:
            log.warning("start of a match not seen", match=claim.match, reason=refused.reason)

    async def _give_back(self, claim: Claim, found: internal.GetRoomSummaryResponse) -> None:
        returned = await self._claims.give_back(claim, {PlayerId(player) for player in found.player_ids})
        log.info("match did not begin", match=claim.match, returned=returned)
        metrics.tickets.labels("returned").inc(returned)

    async def _remember(self, claim: Claim, room: RoomId) -> None:
        players = [player for claimed in claim.tickets for player in claimed.players]
        for player in players:
            others = tuple(other for other in players if other != player)
            await self._encounters.remember(player, Lately(others, (room,)))
