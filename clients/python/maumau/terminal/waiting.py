"""In the queue, in lines: alone or with friends, until there is a room."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from typing import Final

from maumau.client import Client
from maumau.errors import Refused
from maumau.room import Room
from maumau.v1 import matchmaking_pb2, room_pb2

LOOK_SECONDS: Final = 1.0
GIVEN_BACK_LOOKS: Final = 5


class QueueLines:
    """What is told of a ticket: each sentence once."""

    def __init__(self) -> None:
        self._told = ""

    def __call__(self, ticket: matchmaking_pb2.Ticket) -> None:
        line = queue_line(ticket)
        if line != self._told:
            sys.stdout.write(line + "\n")
            sys.stdout.flush()
            self._told = line


def queue_line(ticket: matchmaking_pb2.Ticket) -> str:
    """How long it takes, as far as that is known."""
    bots = ticket.request.patience.ToSeconds()
    if ticket.HasField("estimated_wait"):
        wait = f"Three of four find a match within {ticket.estimated_wait.ToSeconds()} s;"
    else:
        wait = "Nobody can say how long it takes;"
    first = "Somebody did not come, so you are first in the queue. " if ticket.failed_starts else ""
    return f"{first}{wait} bots fill in after {bots} s."


async def quick_room(client: Client, ruleset: str, seats: int, *, invites: bool, party_code: str) -> Room:
    """A room by quick play: alone, with the friends that come (`invites`), or with the party of a friend."""
    if party_code:
        return await _with_party_of_friend(client, party_code)
    party = await _gather_friends(client) if invites else ""
    sys.stdout.write("Looking for opponents; bots fill in soon. Ctrl-C gives up.\n")
    return await client.quick_play(ruleset, seats=seats, party_id=party, told=QueueLines())


async def room_after_failed_start(client: Client, view: room_pb2.RoomView) -> Room | None:
    """The next room, where this one was closed because somebody did not come and the ticket waits again."""
    if view.state != room_pb2.ROOM_STATE_CLOSED or view.HasField("outcome"):
        return None
    try:
        for _ in range(GIVEN_BACK_LOOKS):
            room = await client.follow_ticket(told=QueueLines())
            if room.id != view.room_id:
                return room
            await asyncio.sleep(LOOK_SECONDS)  # the ticket is given back in a moment
    except Refused as refused:
        if refused.reason != "TICKET_NOT_FOUND":
            raise
    return None


async def _gather_friends(client: Client) -> str:
    """The id of a party that has come together; Enter ends the waiting."""
    party = await client.parties.create()
    sys.stdout.write(f"Friends come along with: maumau play --party-code {party.code}\nEnter when all are here.\n")
    sys.stdout.flush()
    enter, people = _enter(), 1
    while not enter.is_set():
        party = await client.parties.current()
        if len(party.player_ids) != people:
            people = len(party.player_ids)
            sys.stdout.write(f"You are {people} now.\n")
            sys.stdout.flush()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LOOK_SECONDS):
                await enter.wait()
    return party.party_id


def _enter() -> asyncio.Event:
    """Set once a line was typed. No thread waits for it, so that Ctrl-C ends the waiting at once."""
    typed, loop = asyncio.Event(), asyncio.get_running_loop()

    def read() -> None:
        sys.stdin.readline()
        loop.remove_reader(sys.stdin)
        typed.set()

    try:
        loop.add_reader(sys.stdin, read)
    except PermissionError:  # a file is always there to be read
        typed.set()
    return typed


async def _with_party_of_friend(client: Client, code: str) -> Room:
    """Waits for the leader to ask, then for the room."""
    party = await client.parties.join(code)
    sys.stdout.write(f"You are {len(party.player_ids)}; the friend who invited you begins the search.\n")
    while not party.ticket_id:
        await asyncio.sleep(LOOK_SECONDS)
        party = await client.parties.current()
    return await client.follow_ticket(told=QueueLines())
