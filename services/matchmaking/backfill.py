"""Free seats of public rooms that wait for people, for tickets that fit them.

A ticket of one player that has waited for some seconds may take a seat in an open public room of the same ruleset and
number of seats, the fullest first, if the player was not in it lately and nobody in it and the player block each other.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Protocol

from maumau.internal.v1 import room_control_pb2 as internal

from services.matchmaking.directory import Directory, Listed
from services.matchmaking.line import InLine
from services.matchmaking.making import Maker
from services.matchmaking.wishes import about_of, table_of
from services.rules.room.state import ruleset_of
from services.rules.ruleset import RulesetError
from services.runtime.channels import PassedOn
from services.runtime.errors import Refused
from services.store.keys import PlayerId
from services.store.parties import BlockStore
from services.store.tickets import Ticket

AFTER_MS: Final = 3_000
MOST_TRIED: Final = 10_000


class RoomTeller(Protocol):
    """Who knows rooms."""

    async def room_summary(self, room_id: str) -> internal.GetRoomSummaryResponse: ...


class Backfill:
    """One process's part. A room that did not take a ticket is not tried with it again."""

    def __init__(self, directory: Directory, control: RoomTeller, maker: Maker, blocks: BlockStore) -> None:
        self._directory = directory
        self._control = control
        self._maker = maker
        self._blocks = blocks
        self._tried: dict[tuple[str, str], None] = {}

    async def place(self, waiting: Iterable[InLine], now_ms: int) -> None:
        """Gives free seats to those that have waited long enough, the oldest first."""
        patient = [each for each in waiting if now_ms - each.ticket.created_ms >= AFTER_MS and _is_alone(each)]
        if not patient:
            return
        rooms: dict[bytes, list[Listed]] = {}
        for line in await self._directory.lines():
            if 0 < line.free_seats < line.seats and (table := _table(line)) is not None:
                rooms.setdefault(table, []).append(line)
        for each in patient:
            fitting = rooms.get(each.waiting.table, [])
            for line in sorted(fitting, key=lambda line: line.free_seats):
                if await self._place(each.ticket, line):
                    fitting.remove(line)
                    break

    async def _place(self, ticket: Ticket, line: Listed) -> bool:
        if (ticket.id, line.room_id) in self._tried or line.room_id in about_of(ticket).rooms:
            return False
        self._note(ticket.id, line.room_id)
        try:
            room = await self._control.room_summary(line.room_id)
        except (PassedOn, Refused):
            return False
        if not room.room.free_seats or not await self._get_on(ticket, room.player_ids):
            return False
        return await self._maker.backfill(ticket, line.room_id, room.invite_generation)

    async def _get_on(self, ticket: Ticket, people: Iterable[str]) -> bool:
        (member,), blocked = ticket.players, set(about_of(ticket).blocked)
        for player in people:
            if player == member.player or player in blocked:
                return False
            if member.player in {block.player for block in await self._blocks.blocked(PlayerId(player))}:
                return False
        return True

    def _note(self, ticket: str, room: str) -> None:
        if len(self._tried) >= MOST_TRIED:
            del self._tried[next(iter(self._tried))]
        self._tried[ticket, room] = None


def _is_alone(each: InLine) -> bool:
    return len(each.ticket.players) == 1


def _table(line: Listed) -> bytes | None:
    """None for rules that only a newer release knows."""
    try:
        return table_of(ruleset_of(line.preset, line.options).hash, line.seats)
    except RulesetError:
        return None
