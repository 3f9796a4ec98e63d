"""Asking for a match: a ticket from its creation to a room."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from google.protobuf import duration_pb2

from maumau.calls import Calls
from maumau.errors import MaumauError
from maumau.v1 import matchmaking_pb2, matchmaking_pb2_grpc, rules_pb2

_POLL_MILLISECONDS: Final = 5_000
_CANCEL_SECONDS: Final = 3.0
_WAITING: Final = (matchmaking_pb2.TICKET_STATE_WAITING, matchmaking_pb2.TICKET_STATE_CLAIMED)

Told = Callable[[matchmaking_pb2.Ticket], None]
"""Hears of the ticket whenever it was looked at, for instance to show its estimate."""


async def find_match(
    calls: Calls,
    stub: matchmaking_pb2_grpc.MatchmakingServiceStub,
    request: matchmaking_pb2.TicketRequest,
    told: Told | None = None,
) -> matchmaking_pb2.Assignment:
    """Waits for a match with others, or with bots after the patience. A caller who is cancelled takes the ticket back.
    Raises MaumauError, also when the ticket ended otherwise (another request of the player replaced it)."""
    # The same request again is the same ticket, so it may be repeated.
    create = matchmaking_pb2.CreateTicketRequest(request=request)
    return await _follow(calls, stub, (await calls.call(stub.CreateTicket, create, repeatable=True)).ticket, told)


async def follow_held(
    calls: Calls, stub: matchmaking_pb2_grpc.MatchmakingServiceStub, told: Told | None = None
) -> matchmaking_pb2.Assignment:
    """The same for the ticket that the player holds already. Raises Refused with TICKET_NOT_FOUND."""
    answer = await calls.call(stub.GetTicket, matchmaking_pb2.GetTicketRequest(), repeatable=True)
    return await _follow(calls, stub, answer.ticket, told)


def wish(
    ruleset: rules_pb2.Ruleset, seats: int, patience_seconds: float, party_id: str = "", *, as_partners: bool = False
) -> matchmaking_pb2.TicketRequest:
    """What to ask for. `seats` 0: as the ruleset likes best."""
    patience = duration_pb2.Duration()
    patience.FromMilliseconds(round(patience_seconds * 1000))
    return matchmaking_pb2.TicketRequest(
        ruleset=ruleset, seats=seats, patience=patience, party_id=party_id, as_partners=as_partners
    )


async def _follow(
    calls: Calls,
    stub: matchmaking_pb2_grpc.MatchmakingServiceStub,
    ticket: matchmaking_pb2.Ticket,
    told: Told | None,
) -> matchmaking_pb2.Assignment:
    try:
        while ticket.state in _WAITING:
            if told is not None:
                told(ticket)
            ticket = await _next_state(calls, stub, ticket)
    except asyncio.CancelledError:
        await _take_back(calls, stub, ticket.ticket_id)
        raise
    if ticket.state != matchmaking_pb2.TICKET_STATE_ASSIGNED:
        name = matchmaking_pb2.TicketState.Name(ticket.state).removeprefix("TICKET_STATE_").lower()
        raise MaumauError(f"the search for a match ended: the ticket was {name}")
    return ticket.assignment


async def _next_state(
    calls: Calls, stub: matchmaking_pb2_grpc.MatchmakingServiceStub, ticket: matchmaking_pb2.Ticket
) -> matchmaking_pb2.Ticket:
    """The ticket once its state is another, or after a while; the poll keeps it alive."""
    request = matchmaking_pb2.GetTicketRequest(
        ticket_id=ticket.ticket_id, wait_milliseconds=_POLL_MILLISECONDS, known_state=ticket.state
    )
    return (await calls.call(stub.GetTicket, request, repeatable=True)).ticket


async def _take_back(calls: Calls, stub: matchmaking_pb2_grpc.MatchmakingServiceStub, ticket_id: str) -> None:
    request = matchmaking_pb2.CancelTicketRequest(ticket_id=ticket_id)
    try:
        await calls.call(stub.CancelTicket, request, timeout=_CANCEL_SECONDS)
    except MaumauError:
        return  # it ends by itself when nobody polls it
