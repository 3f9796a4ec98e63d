"""A match is made: its tickets are claimed, its room is asked for, and they are told.

Two processes that propose the same ticket are told apart by the claim, which takes all tickets of a match or none. The
room's id follows from the match's, so that making it again after a timeout makes no twin. Whoever finds a claim whose
lease has ended finishes it.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Final, Protocol

import msgspec
from grpc import StatusCode
from maumau.internal.v1 import room_control_pb2 as internal
from maumau.v1 import rules_pb2, settings_pb2

from services.matchmaking.matching.seating import seats_of
from services.matchmaking.matching.waiting import Waiting
from services.matchmaking.wishes import wish_of
from services.runtime import metrics
from services.runtime.channels import PassedOn
from services.runtime.invites import FIRST_GENERATION, Invites
from services.runtime.logs import log
from services.store.claims import Claim, Claimed, ClaimStore
from services.store.encounters import EncounterStore
from services.store.errors import StoreError
from services.store.keys import RoomId
from services.store.players import Invite, InviteIndex
from services.store.tickets import Ticket
from services.wire.errors import CATALOGUE

START_MS: Final = 3_000
"""After this time it is seen for the first time whether a match has begun."""


class RoomMaker(Protocol):
    """Whom rooms are asked for."""

    async def create_room(self, request: internal.CreateRoomRequest) -> internal.CreateRoomResponse: ...

    async def seat_player(self, request: internal.SeatPlayerRequest) -> internal.SeatPlayerResponse: ...


class Plan(msgspec.Struct, frozen=True, array_like=True):
    """What the room of a match shall be: names and seats of the players in the order of the tickets. With `room`: the
    waiting room whose free seat the only player takes, by this generation of its invite code."""

    ruleset: bytes
    table: bytes
    seats: int
    bots: int
    names: tuple[str, ...]
    places: tuple[int, ...]
    created_ms: tuple[int, ...]
    """Of the tickets."""
    room: str = ""
    generation: int = 0


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Plan).decode


class Maker:
    """Any number of processes make matches at once."""

    def __init__(
        self,
        claims: ClaimStore,
        control: RoomMaker,
        index: InviteIndex,
        invites: Invites,
        encounters: EncounterStore,
    ) -> None:
        self._claims = claims
        self._control = control
        self._index = index
        self._invites = invites
        self._encounters = encounters

    async def make(self, tickets: Sequence[Ticket], waiting: Sequence[Waiting], bots: int) -> bool:
        """A match of these tickets; false if one of them waits no longer, or no room could be made yet."""
        wish = wish_of(tickets[0])
        plan = Plan(
            ruleset=wish.ruleset,
            table=wish.table,
            seats=wish.seats,
            bots=bots,
            names=tuple(member.name for ticket in tickets for member in ticket.players),
            places=tuple(seats_of(waiting, wish.sides)),
            created_ms=tuple(ticket.created_ms for ticket in tickets),
        )
        return await self._claim("q_", tickets, plan)

    async def backfill(self, ticket: Ticket, room: str, generation: int) -> bool:
        """The free seat of a waiting room for the only player of a ticket."""
        wish, (member,) = wish_of(ticket), ticket.players
        plan = Plan(
            *(wish.ruleset, wish.table, wish.seats, 0),
            names=(member.name,),
            places=(0,),
            created_ms=(ticket.created_ms,),
            room=room,
            generation=generation,
        )
        return await self._claim("b_", [ticket], plan)

    async def _claim(self, kind: str, tickets: Sequence[Ticket], plan: Plan) -> bool:
        members = tuple(Claimed(ticket.id, tuple(member.player for member in ticket.players)) for ticket in tickets)
        claim = await self._claims.claim(Claim(f"{kind}{secrets.token_hex(12)}", members, _encode(plan)))
        return claim is not None and await self.finish(claim)

    async def finish(self, claim: Claim) -> bool:
        """Makes the room and tells the tickets; whether it did. When the authority cannot say what became of the call,
        the claim stays for whoever finds its lease ended; when it refuses, the tickets wait on."""
        plan = _decode(claim.plan)
        try:
            room, seats = await (self._take_seat(claim, plan) if plan.room else self._make_room(claim, plan))
        except PassedOn as refused:
            if CATALOGUE[refused.reason].code is not StatusCode.UNAVAILABLE:
                log.warning("match refused, its tickets wait on", match=claim.match, reason=refused.reason)
                await self._claims.put_back(claim)
            return False
        except StoreError:
            raise
        except Exception as error:
            log.warning("match not made yet", match=claim.match, error=str(error))
            return False
        start_ms = 0 if plan.room else START_MS
        if not await self._claims.assign(claim, room, _by_ticket(claim.tickets, seats), start_ms):
            return False
        await self._count(claim, plan)
        return True

    async def _make_room(self, claim: Claim, plan: Plan) -> tuple[RoomId, Sequence[int]]:
        room = RoomId(self._invites.matched_room_id(claim.match))
        code = self._invites.code_hash(self._invites.code(room, FIRST_GENERATION))
        await self._index.put(code, Invite(room, FIRST_GENERATION))
        players = [player for claimed in claim.tickets for player in claimed.players]
        made = await self._control.create_room(
            internal.CreateRoomRequest(
                room_id=room,
                ruleset=rules_pb2.Ruleset.FromString(plan.ruleset),
                settings=settings_pb2.RoomSettings(seats=plan.seats),
                people=[
                    internal.Person(player_id=player, display_name=name, seat=place)
                    for player, name, place in zip(players, plan.names, plan.places, strict=True)
                ],
                bots=plan.bots,
                quick_play=True,
                matchmaking_id=claim.match,
            )
        )
        return room, made.seats

    async def _take_seat(self, claim: Claim, plan: Plan) -> tuple[RoomId, Sequence[int]]:
        ((player,),) = (claimed.players for claimed in claim.tickets)
        person = internal.Person(player_id=player, display_name=plan.names[0])
        seated = await self._control.seat_player(
            internal.SeatPlayerRequest(room_id=plan.room, person=person, invite_generation=plan.generation)
        )
        return RoomId(plan.room), [seated.seat]

    async def _count(self, claim: Claim, plan: Plan) -> None:
        metrics.tickets.labels("backfilled" if plan.room else "matched").inc(len(claim.tickets))
        metrics.match_seats.labels("person").inc(len(plan.names))
        metrics.match_seats.labels("bot").inc(plan.bots)
        now = await self._claims.now_ms()
        waits = [now - created for created in plan.created_ms]
        for wait in waits:
            metrics.ticket_wait_seconds.observe(wait / 1000)
        await self._encounters.waited(plan.table, waits)


def _by_ticket(tickets: Iterable[Claimed], seats: Sequence[int]) -> list[list[int]]:
    left = iter(seats)
    return [list(islice(left, len(claimed.players))) for claimed in tickets]
