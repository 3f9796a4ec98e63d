"""People for whole matches: real clients of the SDK that play legal actions by chance and write down what they see."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import maumau
from maumau.v1 import room_pb2, settings_pb2

from tests.e2e.eventually import eventually
from tests.faults.history import History, RecordingRoom

EAGERNESS = 0.9
"""How often somebody who can lay a card does so."""


class Person:
    """Somebody with a seat, connected to the room; who is `resting` only looks."""

    def __init__(self, name: str, client: maumau.Client, player_id: str, room: maumau.Room, history: History) -> None:
        self.name, self.client, self.id, self.room = name, client, player_id, room
        self.recording = RecordingRoom(history, f"{name} in {room.id}", player_id, room)
        self.chance = random.Random(name)
        self.resting = False

    async def play_to_the_end(self) -> room_pb2.RoomView:
        """Acts whenever there is something to do, and answers the view in which the match is over."""
        async for event in self.room.events():
            self.recording.saw(event)
            if not isinstance(event, maumau.RoomChat) and event.view.HasField("outcome"):
                return event.view
            await self.act_if_possible()
        raise AssertionError(f"the room of {self.name} was closed before its match had ended")

    async def act_if_possible(self) -> None:
        """One legal action, chosen by chance, if there is any."""
        legal = self.room.legal
        if legal and not self.resting and not self.room.view.HasField("outcome"):
            laying = [action for action in legal if action.WhichOneof("action") in ("play", "play_many", "jump_in")]
            eager = laying and self.chance.random() < EAGERNESS
            await self.recording.act(self.chance.choice(laying if eager else legal))


@dataclass
class Party:
    """The people of one room; the first is the host."""

    people: list[Person]
    seats: int
    bots: int

    @property
    def room_id(self) -> str:
        return self.people[0].room.id

    async def start(self) -> None:
        """Bots sit down, everybody is ready, the host starts."""
        host = self.people[0]
        for _ in range(self.bots):
            await host.recording.act(maumau.actions.add_bot(settings_pb2.BOT_LEVEL_HEURISTIC))
        for person in self.people:
            await person.recording.act(maumau.actions.set_ready(True))
        await host.recording.act(maumau.actions.start())

    async def play(self) -> list[room_pb2.RoomView]:
        """The whole match; the last view of each person."""
        return list(await asyncio.gather(*(person.play_to_the_end() for person in self.people)))


async def get_on(history: History, acts: int, playing: asyncio.Future[Any] | None = None) -> None:
    """Returns once the people had so many more actions accepted; fails when none is any more, or with what has ended
    those who are `playing`."""
    reached = history.accepted + acts
    while (before := history.accepted) < reached:
        await eventually(lambda: history.accepted > before or (playing and playing.done()), "the matches get on")
        if playing and playing.done():
            raise AssertionError(f"nobody plays any more: {playing.result()}")


async def rest(parties: Iterable[Party], history: History) -> None:
    """Nobody acts any more; returns when every call has been answered."""
    for person in (person for players in parties for person in players.people):
        person.resting = True
    await eventually(lambda: history.open == 0, "every call is answered")


@dataclass(frozen=True)
class Match:
    """What to play, and by how many."""

    people: int
    bots: int = 0
    preset: str = "mau-mau-32"
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def seats(self) -> int:
        return self.people + self.bots


@contextlib.asynccontextmanager
async def party(address: str, match: Match, history: History, name: str, **connecting: Any) -> AsyncIterator[Party]:
    """People who sit in a new room, not started yet. They leave their connections when it is over."""
    async with contextlib.AsyncExitStack() as stack:
        clients = [
            await stack.enter_async_context(maumau.connect(address, name=f"{name}-{number}", **connecting))
            for number in range(match.people)
        ]
        yield await stack.enter_async_context(seated(clients, match, history, name))


@contextlib.asynccontextmanager
async def seated(clients: Sequence[maumau.Client], match: Match, history: History, name: str) -> AsyncIterator[Party]:
    """The same with people who are connected already."""
    settings = settings_pb2.RoomSettings(pause_seconds=0)
    async with contextlib.AsyncExitStack() as stack:
        people = list[Person]()
        for number, client in enumerate(clients):
            if number == 0:
                room = await client.create_room(
                    match.preset, options=match.options, seats=match.seats, settings=settings
                )
            else:
                room = await client.join_room(people[0].room.id)
            await stack.enter_async_context(room)
            people.append(Person(f"{name}-{number}", client, (await client.player()).player_id, room, history))
        yield Party(people, match.seats, match.bots)
