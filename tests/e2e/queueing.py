"""People who wait for a match, with calls as any client makes them."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass

import grpc
from google.protobuf.duration_pb2 import Duration
from grpc_status import rpc_status
from maumau.v1 import matchmaking_pb2, rules_pb2

from tests.e2e.calls import LIMIT_SECONDS, Guest, reason_of

WAIT_MS = 5_000
RETRY_SECONDS = 0.05
LONGEST_SECONDS = 60.0
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
    async with asyncio.timeout(LONGEST_SECONDS):
        while ticket.state not in OVER:
            try:
                ticket = await look(guest, ticket, wait_milliseconds=WAIT_MS)
            except grpc.aio.AioRpcError as error:
                if error.code() is not grpc.StatusCode.UNAVAILABLE:
                    raise
                await asyncio.sleep(RETRY_SECONDS)
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
    """The ticket of somebody who waits until it is over, whatever dies meanwhile. One who cannot know whether the
    request was taken makes it again; then the refusal names the room."""
    while True:
        try:
            return await follow(guest, await ask(guest, want))
        except grpc.aio.AioRpcError as error:
            reason, metadata = reason_if_any(error)
            if reason == "ALREADY_IN_MATCH":
                return await _matched_already(guest, metadata["room_id"])
            if error.code() is not grpc.StatusCode.UNAVAILABLE:
                raise
            await asyncio.sleep(RETRY_SECONDS)


async def _matched_already(guest: Guest, room: str) -> matchmaking_pb2.Ticket:
    """As the ticket would say it once the room is there."""
    async with asyncio.timeout(LONGEST_SECONDS):
        while True:
            with contextlib.suppress(grpc.aio.AioRpcError):
                view = (await guest.get_room(room)).room
                assignment = matchmaking_pb2.Assignment(room_id=room, seats=[view.own_seat])
                return matchmaking_pb2.Ticket(state=matchmaking_pb2.TICKET_STATE_ASSIGNED, assignment=assignment)
            await asyncio.sleep(RETRY_SECONDS)


def reason_if_any(error: grpc.aio.AioRpcError) -> tuple[str, dict[str, str]]:
    """A dead process gives no reason."""
    return ("", {}) if rpc_status.from_call(error) is None else reason_of(error)
