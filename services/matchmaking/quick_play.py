"""The work behind tickets: claims matches, makes their rooms, and finishes what a dead process left.

Any number of processes do this at once and none leads. Two that propose the same ticket are told apart by the claim,
which takes all tickets of a match or none. The room's id follows from the match's, so that making it again after a
timeout makes no twin.
"""

from __future__ import annotations

import asyncio
import random
import secrets
from typing import Final

import msgspec
from grpc import StatusCode
from maumau.internal.v1 import room_control_pb2 as internal
from maumau.v1 import rules_pb2, settings_pb2

from services.matchmaking.authority import RoomControl
from services.matchmaking.matching import Proposal, propose
from services.matchmaking.wishes import waiting_of, wish_of
from services.runtime import metrics
from services.runtime.channels import PassedOn
from services.runtime.invites import FIRST_GENERATION, Invites
from services.runtime.logs import log
from services.store.errors import StoreError
from services.store.keys import PlayerId, RoomId
from services.store.players import Invite, InviteIndex
from services.store.tickets import Claim, Claimed, Ticket, TicketState, TicketStore
from services.wire.errors import CATALOGUE

ROUND_SECONDS: Final = 0.5
LOOKED_AT: Final = 500
"""Waiting tickets, the oldest, that one round looks at."""


class Plan(msgspec.Struct, frozen=True, array_like=True):
    """What the room of a match shall be."""

    ruleset: bytes
    seats: int
    bots: int
    names: tuple[str, ...]
    """Of the tickets' players, in order."""


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Plan).decode


class QuickPlay:
    """One process's part in making matches. `soon` is called when a ticket was opened here."""

    def __init__(
        self, tickets: TicketStore, control: RoomControl, index: InviteIndex, invites: Invites, alive_ms: int
    ) -> None:
        self._tickets = tickets
        self._control = control
        self._index = index
        self._invites = invites
        self._alive_ms = alive_ms
        self._wake = asyncio.Event()

    def soon(self) -> None:
        """Looks at the waiting tickets at once."""
        self._wake.set()

    async def run(self) -> None:
        """Runs as long as the process. What a round could not do, the next one does."""
        while True:
            try:
                await self.round()
            except StoreError as error:
                log.warning("tickets not looked at", error=str(error))
            await self._pause()

    async def _pause(self) -> None:
        try:
            async with asyncio.timeout(ROUND_SECONDS * random.uniform(0.8, 1.2)):
                await self._wake.wait()
        except TimeoutError:
            return
        self._wake.clear()

    async def round(self) -> None:
        """Takes over claims that nobody finished, then makes every match that can be made now."""
        for claim in await self._tickets.due():
            await self._finish(claim)
        waiting, number = await asyncio.gather(self._tickets.waiting(LOOKED_AT), self._tickets.count_waiting())
        metrics.tickets_waiting.set(number)
        if not waiting:
            return
        now = await self._tickets.now_ms()
        alive = [ticket for ticket in waiting if now - ticket.seen_ms < self._alive_ms]
        await asyncio.gather(*(self._expire(ticket) for ticket in waiting if ticket not in alive))
        by_id = {ticket.id: ticket for ticket in alive}
        proposals = propose(map(waiting_of, alive), now)
        await asyncio.gather(*(self._make(proposal, by_id, now) for proposal in proposals))

    async def _expire(self, ticket: Ticket) -> None:
        if await self._tickets.expire(ticket) is TicketState.EXPIRED:
            metrics.tickets.labels("expired").inc()

    async def _make(self, proposal: Proposal, by_id: dict[str, Ticket], now_ms: int) -> None:
        tickets = [by_id[waiting.ticket] for waiting in proposal.tickets]
        wish = wish_of(tickets[0])
        plan = Plan(wish.ruleset, wish.seats, proposal.bots, tuple(ticket.name for ticket in tickets))
        members = tuple(Claimed(ticket.id, ticket.player) for ticket in tickets)
        claim = await self._tickets.claim(Claim(f"q_{secrets.token_hex(12)}", members, _encode(plan)))
        if claim is not None and await self._finish(claim):
            for ticket in tickets:
                metrics.ticket_wait_seconds.observe((now_ms - ticket.created_ms) / 1000)

    async def _finish(self, claim: Claim) -> bool:
        """Makes the room and tells the tickets; whether it did. When the authority cannot say what became of the call,
        the claim stays for whoever finds its lease ended; when it refuses, the tickets wait on."""
        try:
            made = await self._make_room(claim, _decode(claim.plan))
        except PassedOn as refused:
            if CATALOGUE[refused.reason].code is not StatusCode.UNAVAILABLE:
                log.warning("match refused, its tickets wait on", match=claim.match, reason=refused.reason)
                await self._tickets.put_back(claim)
            return False
        except StoreError:
            raise
        except Exception as error:
            log.warning("match not made yet", match=claim.match, error=str(error))
            return False
        if not await self._tickets.assign(claim, RoomId(self._invites.matched_room_id(claim.match)), made.seats):
            return False
        metrics.tickets.labels("matched").inc(len(claim.tickets))
        return True

    async def _make_room(self, claim: Claim, plan: Plan) -> internal.CreateRoomResponse:
        room = RoomId(self._invites.matched_room_id(claim.match))
        code = self._invites.code_hash(self._invites.code(room, FIRST_GENERATION))
        await self._index.put(code, Invite(room, FIRST_GENERATION))
        people = [_person(member.player, name) for member, name in zip(claim.tickets, plan.names, strict=True)]
        return await self._control.create_room(
            internal.CreateRoomRequest(
                room_id=room,
                ruleset=rules_pb2.Ruleset.FromString(plan.ruleset),
                settings=settings_pb2.RoomSettings(seats=plan.seats),
                people=people,
                bots=plan.bots,
                quick_play=True,
                matchmaking_id=claim.match,
            )
        )


def _person(player: PlayerId, name: str) -> internal.Person:
    return internal.Person(player_id=player, display_name=name)
