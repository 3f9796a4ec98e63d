"""Where people ask for a match: one ticket each, watched until it is assigned or ended."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Final

from maumau.v1 import matchmaking_pb2 as pb
from maumau.v1 import room_pb2

from services.matchmaking.authority import RoomControl
from services.matchmaking.newcomers import Newcomers
from services.matchmaking.parties import PartyDesk
from services.matchmaking.waits import Waits
from services.matchmaking.wishes import encode_about, encode_wish, read_wish, ticket_message
from services.runtime import metrics
from services.runtime.channels import PassedOn
from services.runtime.errors import Refused
from services.runtime.invites import Invites
from services.runtime.logs import bind
from services.runtime.tokens import Session
from services.store.keys import PlayerId, RoomId
from services.store.rooms import RoomStore
from services.store.tickets import Member, Opening, Request, Ticket, TicketState, TicketStore
from services.wire.errors import invalid_field, refusal

LOOK_SECONDS: Final = 0.25
"""How often a ticket that is followed is looked at."""
AT_PACE: Final = 500
"""So many calls of one process look that often; where more do, all look less often, or they would keep Redis and the
process busy for everybody else."""
RAREST_SECONDS: Final = 1.5
"""But no more rarely than this, since a call ends within 2 s of its session."""
SILENT_SECONDS: Final = 20.0
"""A ticket of which there is nothing new is told again: on the way to the client a stream without a word is ended."""
LONGEST_WAIT_MS: Final = 25_000
CANCEL_SECONDS: Final = 3.0
_OVER: Final = (TicketState.ASSIGNED, TicketState.CANCELLED, TicketState.EXPIRED, TicketState.REPLACED)
_IN_MATCH: Final = (room_pb2.ROOM_STATE_READY_CHECK, room_pb2.ROOM_STATE_PLAYING, room_pb2.ROOM_STATE_PAUSE)


class TicketDesk:
    """Tickets of players. `opened` is called when there is a new one; `stopping` is set when the process ends; `check`
    refuses a session that was ended."""

    def __init__(
        self,
        tickets: TicketStore,
        parties: PartyDesk,
        newcomers: Newcomers,
        waits: Waits,
        rooms: RoomStore,
        control: RoomControl,
        invites: Invites,
        patience_ms: int,
        now_ms: Callable[[], int],
        opened: Callable[[], None],
        stopping: asyncio.Event,
        check: Callable[[Session], None],
    ) -> None:
        self._tickets = tickets
        self._parties = parties
        self._newcomers = newcomers
        self._waits = waits
        self._rooms = rooms
        self._control = control
        self._invites = invites
        self._patience_ms = patience_ms
        self._now_ms = now_ms
        self._opened = opened
        self._stopping = stopping
        self._check = check
        self._following = 0

    async def open(self, request: pb.CreateTicketRequest, caller: Member) -> pb.Ticket:
        """The ticket of the caller, or of the party that the caller leads, for this wish. Raises Refusal
        (INVALID_FIELD, PARTY_NOT_FOUND, NOT_PARTY_LEADER, ALREADY_IN_MATCH) and RulesetError."""
        if not request.HasField("request"):
            raise invalid_field("request", "", "what is asked for")
        players = await self._parties.who_ask(request.request.party_id, caller)
        wish = read_wish(request.request, self._patience_ms, len(players))
        about = await self._newcomers.about(wish.game, players)
        asked = Request(
            *(f"t_{secrets.token_hex(12)}", players, encode_wish(wish), encode_about(about), wish.digest(players))
        )
        over = set[str]()
        while True:
            opened = await self._tickets.open(asked, over=over)
            match opened.opening:
                case Opening.BEING_MATCHED:
                    raise refusal("ALREADY_IN_MATCH", room_id=self._invites.matched_room_id(opened.ticket.match))
                case Opening.ASSIGNED:
                    over.add(await self._refuse_in_match(opened.ticket, players))
                case opening:
                    return await self._opened_one(opening, opened.ticket)

    async def _opened_one(self, opening: Opening, ticket: Ticket) -> pb.Ticket:
        bind(ticket=ticket.id)
        if opening is Opening.REPLACED_ANOTHER:
            metrics.tickets.labels("replaced").inc()
        if opening is not Opening.SAME:
            self._opened()
        return await self._message(ticket)

    async def _message(self, ticket: Ticket) -> pb.Ticket:
        return ticket_message(ticket, await self._waits.of_ticket(ticket, self._now_ms()))

    async def _refuse_in_match(self, ticket: Ticket, players: Sequence[Member]) -> str:
        """The id of an assigned ticket whose match is over. Raises Refusal (ALREADY_IN_MATCH) while it is not."""
        assert ticket.room is not None
        for member in set(players) & set(ticket.players):
            if await self._is_running(member.player, ticket.room):
                raise refusal("ALREADY_IN_MATCH", room_id=ticket.room)
        return ticket.id

    async def _is_running(self, player: PlayerId, room: RoomId) -> bool:
        """Whether the player still has to do with the match; who left it may queue again."""
        if room not in await self._rooms.player_rooms(player):
            return False
        try:
            return (await self._control.room_summary(room)).room.state in _IN_MATCH
        except PassedOn as refused:
            if refused.reason == "ROOM_NOT_FOUND":
                return False
            raise

    async def get(self, request: pb.GetTicketRequest, player: Session) -> pb.Ticket:
        """The ticket, at the latest when the wait is over. Raises Refusal (TICKET_NOT_FOUND, INVALID_FIELD)."""
        if not 0 <= request.wait_milliseconds <= LONGEST_WAIT_MS:
            raise invalid_field("wait_milliseconds", request.wait_milliseconds, f"0 to {LONGEST_WAIT_MS}")
        ends = time.monotonic() + request.wait_milliseconds / 1000
        known = request.known_state or pb.TICKET_STATE_WAITING
        ticket_id = request.ticket_id
        with self._follows():
            while True:
                ticket = await self._see(ticket_id, player)
                ticket_id = ticket.id  # one that ends is held no longer
                if int(ticket.state) != int(known) or time.monotonic() >= ends or self._stopping.is_set():
                    return await self._message(ticket)
                await self._pause(min(self._look_seconds, max(0.0, ends - time.monotonic())))

    async def watch(self, request: pb.WatchTicketRequest, player: Session) -> AsyncIterator[pb.Ticket]:
        """The ticket whenever its state or its estimate changes, and now and then, until it is assigned or ended.
        Raises Refusal (TICKET_NOT_FOUND, TOKEN_EXPIRED, SESSION_ENDED, PLAYER_BANNED, STOPPING)."""
        told, told_at, ticket_id = None, 0.0, request.ticket_id
        with self._follows():
            while True:
                self._check(player)
                message = await self._message(ticket := await self._see(ticket_id, player))
                ticket_id = ticket.id
                if message != told or time.monotonic() - told_at >= SILENT_SECONDS:
                    yield message
                    told, told_at = message, time.monotonic()
                if ticket.state in _OVER:
                    return
                if self._stopping.is_set():
                    raise Refused("STOPPING")
                if time.time() >= player.expires:
                    raise Refused("TOKEN_EXPIRED")
                await self._pause(self._look_seconds)

    async def cancel(self, request: pb.CancelTicketRequest, player: Session) -> pb.Ticket:
        """Takes the ticket back. One that is being matched is followed until that is decided. Raises Refusal
        (TICKET_NOT_FOUND, and ALREADY_IN_MATCH with the room once it is assigned)."""
        ticket = await self._see(request.ticket_id, player)
        if ticket.state is TicketState.WAITING and await self._tickets.cancel(ticket) is TicketState.CANCELLED:
            metrics.tickets.labels("cancelled").inc()
        ends = time.monotonic() + CANCEL_SECONDS
        ticket = await self._see(ticket.id, player)
        if ticket.state is TicketState.CLAIMED:
            await self._tickets.cancel(ticket)
        while ticket.state is TicketState.CLAIMED and time.monotonic() < ends:
            await self._pause(LOOK_SECONDS)
            ticket = await self._see(ticket.id, player)
        if ticket.state in (TicketState.CLAIMED, TicketState.ASSIGNED):
            room = ticket.room or self._invites.matched_room_id(ticket.match)
            raise refusal("ALREADY_IN_MATCH", room_id=room)
        return await self._message(ticket)

    @contextlib.contextmanager
    def _follows(self) -> Iterator[None]:
        self._following += 1
        try:
            yield
        finally:
            self._following -= 1

    @property
    def _look_seconds(self) -> float:
        return min(RAREST_SECONDS, LOOK_SECONDS * max(1.0, self._following / AT_PACE))

    async def _see(self, ticket_id: str, player: Session) -> Ticket:
        holder = PlayerId(player.player_id)
        if not ticket_id:
            held = await self._tickets.held(holder)
            ticket_id = "" if held is None else held.id
        ticket = await self._tickets.see(ticket_id[:64], holder)
        if ticket is None:
            raise refusal("TICKET_NOT_FOUND")
        return ticket

    async def _pause(self, seconds: float) -> None:
        """Waits, or less when the process is about to stop."""
        try:
            async with asyncio.timeout(seconds):
                await self._stopping.wait()
        except TimeoutError:
            return
