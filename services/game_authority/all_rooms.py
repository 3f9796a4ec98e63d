"""Every room that there is, for the operator. A room that is not closed has a deadline, so the partitions' deadlines
name them all."""

from __future__ import annotations

import asyncio
from typing import Final, NamedTuple

from maumau.internal.v1 import operator_pb2 as pb

from services.rules.room.codec import decode
from services.rules.room.settings import Visibility
from services.rules.room.state import Room, RoomPhase
from services.runtime.logs import log
from services.runtime.paging import PageTokens, page_size
from services.store.assembly import Store
from services.store.keys import PARTITIONS, RoomId
from services.store.records import Clock, Snapshot
from services.wire import validate
from services.wire.summaries import summary_message
from services.wire.times import timestamp
from services.wire.views import ROOM_STATE

READ_AT_ONCE: Final = 50
MOST_READ: Final = 500
"""Rooms that one call looks at; what it has found by then is its page."""


class Place(NamedTuple):
    """After which room a page begins; the empty id is before all of its partition."""

    partition: int
    room: str


class Found(NamedTuple):
    """A room as it is stored."""

    room: Room
    clock: Clock


def _found(stored: Snapshot) -> Found | None:
    """None for a room of a newer release, which only processes of that one can show."""
    try:
        return Found(decode(stored.state), stored.clock)
    except ValueError as error:
        log.warning("a room cannot be read and is not listed", error=str(error))
        return None


class AllRooms:
    """See the module."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._tokens = PageTokens("all rooms", Place)

    async def page(self, request: pb.ListAllRoomsRequest) -> pb.ListAllRoomsResponse:
        """The next rooms that fit. Raises Refusal (INVALID_FIELD, BAD_PAGE_TOKEN), `StoreUnavailable`."""
        phase = ROOM_STATE.read(request.state, "state") if request.state else None
        size, after = page_size(request.page_size), self._tokens.read(request.page_token) or Place(0, "")
        found, last = await self._search(after, size, phase, validate.preset_name(request.preset))
        lines = await asyncio.gather(*(self._line(each) for each in found))
        return pb.ListAllRoomsResponse(rooms=lines, next_page_token="" if last is None else self._tokens.write(last))

    async def _search(
        self, after: Place, size: int, phase: RoomPhase | None, preset: str
    ) -> tuple[list[Found], Place | None]:
        """The rooms of a page, and after which one the next begins; None: there are no more."""
        found: list[Found] = []
        read = 0
        for number in range(max(0, after.partition), PARTITIONS):
            ids = sorted(await self._store.sweep.rooms_waiting(number))
            ids = [room for room in ids if number > after.partition or room > after.room]
            for first in range(0, len(ids), READ_AT_ONCE):
                some = ids[first : first + READ_AT_ONCE]
                for room_id, each in zip(some, await self._read(some), strict=True):
                    if each is not None and phase in (None, each.room.phase) and preset in ("", each.room.preset):
                        found.append(each)
                    if len(found) == size:
                        return found, Place(number, room_id)
                read += len(some)
                if read >= MOST_READ:
                    return found, Place(number, some[-1])
        return found, None

    async def _read(self, ids: list[RoomId]) -> list[Found | None]:
        stored = await asyncio.gather(*(self._store.rooms.read(room) for room in ids))
        return [None if each is None else _found(each) for each in stored]

    async def _line(self, found: Found) -> pb.OperatedRoom:
        room, clock = found
        return pb.OperatedRoom(
            room=summary_message(room, await self._store.rooms.created_ms(RoomId(room.id))),
            hidden=room.settings.visibility is not Visibility.PUBLIC,
            version=room.version,
            match_id="" if room.match is None else room.match.proof.match_id,
            deadline=timestamp(clock.deadline) if clock.deadline else None,
        )
