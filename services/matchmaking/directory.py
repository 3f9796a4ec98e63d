"""The room list: the open public rooms of all partitions, newest first.

Reading them takes 256 small commands, so one reading serves everybody who asks within a second.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from typing import Final, NamedTuple

import msgspec
from maumau.v1 import matchmaking_pb2, room_pb2

from services.rules.room.step import Listing
from services.runtime.logs import log
from services.runtime.paging import PageTokens, page_size
from services.store.keys import RoomId
from services.store.rooms import RoomStore
from services.wire.rulesets import choice_message
from services.wire.times import timestamp

FRESH_SECONDS: Final = 1.0


class Listed(Listing, frozen=True, kw_only=True):
    """A line as the authority stored it, with the time at which the room was made, in ms since 1970."""

    created_ms: int = 0

    @property
    def place(self) -> Place:
        return Place(-self.created_ms, self.room_id)


class Place(NamedTuple):
    """Where a room stands in the list."""

    minus_created_ms: int
    room_id: str


_decode = msgspec.msgpack.Decoder(Listed).decode


class Directory:
    """What can be joined by anybody. A line may be a second old; the room itself decides at the join."""

    def __init__(self, rooms: RoomStore, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._rooms = rooms
        self._monotonic = monotonic
        self._read_at = -FRESH_SECONDS
        self._listed: list[Listed] = []
        self._reading: asyncio.Task[list[Listed]] | None = None
        self._tokens = PageTokens("rooms", Place)

    async def page(self, request: matchmaking_pb2.ListRoomsRequest) -> matchmaking_pb2.ListRoomsResponse:
        """A page of the list. Raises Refusal: INVALID_FIELD, BAD_PAGE_TOKEN."""
        limit, after = page_size(request.page_size), self._tokens.read(request.page_token)
        found = [
            line
            for line in await self.lines()
            if (after is None or line.place > after)
            and (not request.preset or line.preset == request.preset)
            and (not request.joinable or line.free_seats > 0)
        ]
        more = self._tokens.write(found[limit - 1].place) if len(found) > limit else ""
        return matchmaking_pb2.ListRoomsResponse(rooms=[_summary(line) for line in found[:limit]], next_page_token=more)

    async def lines(self) -> list[Listed]:
        """All of it, newest first."""
        if self._monotonic() - self._read_at < FRESH_SECONDS:
            return self._listed
        if self._reading is None:
            self._reading = asyncio.create_task(self._read())
        return await asyncio.shield(self._reading)

    async def _read(self) -> list[Listed]:
        try:
            stored = await self._rooms.open_rooms()
            lines = [line for room, content in stored.items() if (line := _line(room, content)) is not None]
            self._listed = sorted(lines, key=lambda line: line.place)
            self._read_at = self._monotonic()
            return self._listed
        finally:
            self._reading = None


def _line(room: RoomId, content: bytes) -> Listed | None:
    try:
        return _decode(content)
    except msgspec.MsgspecError as error:
        log.warning("a line of the room list cannot be read", room=room, error=str(error))
        return None


def _summary(line: Listed) -> room_pb2.RoomSummary:
    return room_pb2.RoomSummary(
        room_id=line.room_id,
        state=room_pb2.ROOM_STATE_OPEN,
        ruleset_label=line.label,
        title=line.title,
        seats=line.seats,
        free_seats=line.free_seats,
        people=line.people,
        created=timestamp(line.created_ms) if line.created_ms else None,
        ruleset=choice_message(line.preset, json.loads(line.options)),
    )
