"""People who wait for a match, with calls as any client makes them."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass

import grpc
from google.protobuf.duration_pb2 import Duration
from maumau.v1 import matchmaking_pb2, rules_pb2

from tests.e2e.calls import LIMIT_SECONDS, Guest

WAIT_MS = 5_000
OVER = (
    matchmaking_pb2.TICKET_STATE_ASSIGNED,
    matchmaking_pb2.TICKET_STATE_CANCELLED,
    matchmaking_pb2.TICKET_STATE_EXPIRED,
    matchmaking_pb2.TICKET_STATE_REPLACED,
)


@dataclass(frozen=True)
class Want:
    """What somebody queues for. `target` is what ends the match; different ones never meet."""

    seats: int = 2
    patience_seconds: float = 600.0
    target: int = 150

    def request(self) -> matchmaking_pb2.CreateTicketRequest:
        patience = Duration()
        patience.FromMilliseconds(round(self.patience_seconds * 1000))
        options = {"match.target": rules_pb2.OptionValue(number=self.target)}
        ruleset = rules_pb2.Ruleset(preset="mau-mau-32", options=options)
        return matchmaking_pb2.CreateTicketRequest(
            request=matchmaking_pb2.TicketRequest(ruleset=ruleset, seats=self.seats, patience=patience)
        )


async def ask(guest: Guest, want: Want) -> matchmaking_pb2.Ticket:
    """A ticket. Raises `grpc.aio.AioRpcError`."""
    answer = await guest.matchmaking.CreateTicket(want.request(), metadata=guest.metadata(), timeout=LIMIT_SECONDS)
    return answer.ticket


async def follow(guest: Guest, ticket: matchmaking_pb2.Ticket) -> matchmaking_pb2.Ticket:
    """The ticket once it is assigned or ended, whatever dies meanwhile."""
    async with asyncio.timeout(60):
        while ticket.state not in OVER:
            with contextlib.suppress(grpc.aio.AioRpcError):
                ticket = await look(guest, ticket, wait_milliseconds=WAIT_MS)
        return ticket


async def look(guest: Guest, ticket: matchmaking_pb2.Ticket, *, wait_milliseconds: int = 0) -> matchmaking_pb2.Ticket:
    """The ticket now, or once its state is another."""
    request = matchmaking_pb2.GetTicketRequest(
        ticket_id=ticket.ticket_id, wait_milliseconds=wait_milliseconds, known_state=ticket.state
    )
    answer = await guest.matchmaking.GetTicket(
        request, metadata=guest.metadata(), timeout=LIMIT_SECONDS, wait_for_ready=True
    )
    return answer.ticket


async def match(guest: Guest, want: Want) -> matchmaking_pb2.Ticket:
    """The ticket of somebody who asks until it is taken and waits until it is over."""
    while True:
        try:
            return await follow(guest, await ask(guest, want))
        except grpc.aio.AioRpcError as error:
            if error.code() is not grpc.StatusCode.UNAVAILABLE:
                raise
            await asyncio.sleep(0.05)
