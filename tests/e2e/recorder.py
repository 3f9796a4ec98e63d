"""Writes down everything that a room sends: to each of its people and spectators, and the whole truth beside it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import grpc
import maumau
from google.protobuf.message import Message
from grpc_status import rpc_status
from maumau.follower import Follower
from maumau.v1 import actions_pb2, authority_pb2, cards_pb2, room_pb2, settings_pb2

from services.rules.room.codec import decode
from services.rules.room.state import Room
from services.store.assembly import Store
from services.store.hub import Gap, Heard
from services.store.keys import RoomId
from services.store.packing import Published
from tests.e2e.calls import Guest
from tests.e2e.eventually import PATIENCE_SECONDS

Action = actions_pb2.Action


@dataclass
class Recording:
    """What one viewer received: messages with the version that they are about, and refusals as they came."""

    seat: int | None
    messages: list[tuple[int, Message]] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)


class Truth:
    """The full state of a room after each of its versions, from what is published between the processes."""

    def __init__(self) -> None:
        self.rooms: dict[int, Room] = {}
        self.complete = True
        self._more = asyncio.Event()

    def hear(self, message: Heard) -> None:
        if isinstance(message, Gap):
            self.complete = False
        elif isinstance(message, Published):
            self.rooms[message.entry.version] = decode(message.state)
            self._more.set()

    async def reaches(self, version: int) -> None:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while version not in self.rooms:
                self._more.clear()
                await self._more.wait()


@contextlib.asynccontextmanager
async def truth_of(store: Store, room: str) -> AsyncIterator[Truth]:
    """Hears every version of the room from now on."""
    truth = Truth()
    subscription = await store.hub.subscribe(RoomId(room), truth.hear)
    try:
        yield truth
    finally:
        subscription.close()


class Onlooker:
    """Follows a room and writes down what comes; with a seat it also plays, by chance, and tries what it may not."""

    def __init__(self, guest: Guest, room: str, seat: int | None, chance: random.Random) -> None:
        self.guest, self.room, self.chance = guest, room, chance
        self.recording = Recording(seat)
        self.follower = Follower()
        self._changed = asyncio.Event()

    @property
    def view(self) -> room_pb2.RoomView:
        assert self.follower.view is not None
        return self.follower.view

    async def follow(self) -> None:
        """Takes in the stream until cancelled."""
        async for message in self.guest.watch(self.room):
            match message.WhichOneof("message"):
                case "snapshot":
                    self._note(message.snapshot.room.version, message.snapshot)
                    self.follower.take_snapshot(message.snapshot)
                case "update":
                    self._note(message.update.version, message.update)
                    self.follower.take_update(message.update)
            self._changed.set()

    async def sees(self, condition: Any) -> None:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while self.follower.view is None or not condition(self.view):
                self._changed.clear()
                await self._changed.wait()

    async def play(self, last_version: int) -> None:
        """Acts whenever something is legal, until the match is over or that version is reached."""
        while not self._is_over(last_version):
            await self.sees(lambda view: view.legal.actions or self._is_over(last_version))
            if self._is_over(last_version):
                return
            if self.chance.random() < 0.2:
                await self._try_what_may_not_be()
            if self.chance.random() < 0.2:
                self._note_view((await self.guest.get_room(self.room)).room)
            legal = self.view.legal
            if not legal.actions:  # somebody was faster
                continue
            await self._act(self.chance.choice([*legal.actions, *legal.actions, *legal.penal]), self.view.version)

    def _is_over(self, last_version: int) -> bool:
        return self.view.HasField("outcome") or self.view.version >= last_version

    async def _try_what_may_not_be(self) -> None:
        """A card by chance, a decision of long ago, another game's action, a wild without its suit."""
        suit, rank = self.chance.choice([1, 2, 3, 4]), self.chance.randrange(7, 15)
        card = cards_pb2.Card(suit=suit, rank=rank)  # type: ignore[arg-type]
        tried = [(Action(play=Action.Play(card=card)), self.view.version), (Action(draw=Action.Draw()), 1)]
        tried += [(Action(discard=Action.Discard(card=card)), self.view.version), (Action(), 0)]
        tried += [(Action(accuse=Action.Accuse(target=0)), self.view.version)]
        action, version = self.chance.choice(tried)
        await self._act(action, version)

    async def _act(self, action: actions_pb2.Action, version: int) -> None:
        request = authority_pb2.ActRequest(room_id=self.room, request_id=os.urandom(16), version=version, action=action)
        try:
            answer = await self.guest.rooms.Act(request, metadata=self.guest.metadata(self.room), timeout=20)
        except grpc.aio.AioRpcError as error:
            self.recording.refusals.append(f"{error.details()} {rpc_status.from_call(error)}")
            await asyncio.sleep(0)
        else:
            self._note_view(answer.room)
            await self.sees(lambda view: view.version >= answer.version)

    def _note_view(self, view: room_pb2.RoomView) -> None:
        self._note(view.version, room_pb2.Snapshot(room=view))

    def _note(self, version: int, message: Message) -> None:
        self.recording.messages.append((version, message))


async def start(host: Guest, room: str, people: list[Guest], bots: int) -> None:
    """Bots sit down, everybody is ready, the host starts."""
    for _ in range(bots):
        await host.act(room, maumau.actions.add_bot(settings_pb2.BOT_LEVEL_RANDOM), 0)
    for guest in people:
        version = (await guest.get_room(room)).room.version
        await guest.act(room, maumau.actions.set_ready(True), version)
    await host.act(room, maumau.actions.start(), 0)
