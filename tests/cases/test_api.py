"""Whatever is sent, the server answers or refuses it, and lives."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator
from typing import Any

import grpc
import maumau
import pytest
from google.protobuf import message_factory
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message
from maumau.v1 import room_pb2

from services.local.stack import Stack
from tests.e2e.lounge import Lounge, is_playing, play
from tests.services.world import IDENTITY, METHODS, Refused, World

TRIES = 30
NUMBERS = (0, -1, 1, 7, 2**31 - 1, -(2**31), 99)
BIG_NUMBERS = (*NUMBERS, 2**63 - 1, -(2**63))
UNSIGNED = (FieldDescriptor.CPPTYPE_UINT32, FieldDescriptor.CPPTYPE_UINT64)
TEXTS = (
    "",
    "a",
    "\x00",
    "\u202e",
    "x" * 5000,
    "../../etc/passwd",
    "{mm}:waiting",
    "mau-mau-32",
    "r_unknown",
    "\U0001f0cf",
)


class Nonsense:
    """Messages of any kind with fields that are missing, huge, negative, unknown or of the wrong sort."""

    def __init__(self, seed: str, rooms: list[str]) -> None:
        self._chance = random.Random(seed)
        self._rooms = rooms

    def message(self, descriptor: Descriptor, depth: int = 0) -> Message:
        made = message_factory.GetMessageClass(descriptor)()
        for field in descriptor.fields:
            if self._chance.random() < 0.5 and depth < 5:
                self._fill(made, field, depth)
        return made

    def _fill(self, made: Message, field: FieldDescriptor, depth: int) -> None:
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            return
        if field.message_type is not None:
            part = self.message(field.message_type, depth + 1)
            target: Any = getattr(made, field.name)
            if field.is_repeated:
                target.extend([part] * self._chance.choice((1, 2, 120)))
            else:
                target.CopyFrom(part)
        elif field.is_repeated:
            getattr(made, field.name).extend([self._value(field)] * self._chance.choice((1, 3)))
        else:
            setattr(made, field.name, self._value(field))

    def _value(self, field: FieldDescriptor) -> Any:
        match field.cpp_type:
            case FieldDescriptor.CPPTYPE_STRING if field.type == FieldDescriptor.TYPE_BYTES:
                return self._chance.choice((b"", b"x" * 16, b"x" * 4000, b"\xff"))
            case FieldDescriptor.CPPTYPE_STRING:
                return self._chance.choice((*TEXTS, *self._rooms))
            case FieldDescriptor.CPPTYPE_BOOL:
                return True
            case FieldDescriptor.CPPTYPE_INT64:
                return self._chance.choice(BIG_NUMBERS)
            case FieldDescriptor.CPPTYPE_ENUM | FieldDescriptor.CPPTYPE_INT32:
                return self._chance.choice(NUMBERS)
            case _:
                return abs(self._chance.choice(NUMBERS))


@pytest.fixture(scope="module")
def world(stack: Stack) -> Iterator[World]:
    with grpc.insecure_channel(stack.address) as channel:
        yield World(channel)


@pytest.mark.parametrize("path", METHODS)
def test_nonsense_is_answered_or_refused_with_a_reason(world: World, stack: Stack, path: str) -> None:
    """Entry 163."""
    nonsense = Nonsense(path, [world.playing, world.full, world.alone, world.waiting])
    method = METHODS[path]
    callers = [world.nobody] if path == IDENTITY + "SignOut" else [world.eve, world.ana]
    for number in range(TRIES):
        caller = callers[number % len(callers)]
        sent = [nonsense.message(method.input_type) for _ in range(2 if method.client_streaming else 1)]
        try:
            caller.call(path, *sent)
        except grpc.RpcError as error:
            refused = Refused(error)
            assert refused.code not in (grpc.StatusCode.INTERNAL, grpc.StatusCode.UNKNOWN), sent
    assert all(stack[process.name].starts == 1 for process in stack.processes if process.service != "game-authority")


async def test_a_match_beside_it_is_not_disturbed(hall: Lounge, world: World) -> None:
    """Entry 163, the parallel game."""
    sides = await hall.match("Ana", "Bo")
    nonsense = Nonsense("beside", [sides[0].id])
    playing = asyncio.create_task(play(sides))
    path = "/maumau.v1.GameAuthorityService/Act"
    while not playing.done():
        with_room = nonsense.message(METHODS[path].input_type)
        with_room.room_id = sides[0].id  # type: ignore[attr-defined]
        try:
            await asyncio.to_thread(world.eve.call, path, with_room)
        except grpc.RpcError as error:
            Refused(error)
    assert (await playing).HasField("outcome")


async def test_every_turn_has_a_deadline_and_every_event_says_what_it_is(hall: Lounge) -> None:
    """Entry 165."""
    sides = await hall.match("Ana", "Bo", bots=1)
    updates = list[room_pb2.Update]()

    async def collect() -> None:
        async for event in sides[0].events():
            if isinstance(event, maumau.RoomUpdate):
                updates.append(event.update)
                if is_playing(event.view):
                    assert event.update.clock.HasField("deadline")
            if not isinstance(event, maumau.RoomChat) and event.view.HasField("outcome"):
                return

    collecting = asyncio.create_task(collect())
    await play(sides)
    await collecting
    events = [event for update in updates for event in update.events]
    assert events
    assert all(event.WhichOneof("event") for event in events)
    assert all(update.HasField("actor") and update.HasField("time") and update.resume_token for update in updates)
    drawn = [event.cards_drawn for event in events if event.WhichOneof("event") == "cards_drawn"]
    assert all(event.cause for event in drawn)
    jacks = [
        event.cards_played
        for event in events
        if event.WhichOneof("event") == "cards_played" and event.cards_played.cards[-1].rank == 11
    ]
    assert all(event.wish for event in jacks if event.left)
