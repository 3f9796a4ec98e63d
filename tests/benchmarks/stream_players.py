"""Players that read a `Play` stream themselves and keep no view: the least that a client can do.

The SDK makes a whole view of each version, which costs the clients' process more than the server spends; with these
the server is what is measured when nobody thinks.
"""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import Collection, Sequence
from typing import Any

import grpc
from maumau import actions
from maumau.calls import room_metadata
from maumau.channel import channel_options
from maumau.v1 import actions_pb2, authority_pb2, authority_pb2_grpc, room_pb2

from tests.benchmarks.meter import Meter, Turns
from tests.benchmarks.seating import Guests, Seating

Request = authority_pb2.PlayRequest


class StreamRoom:
    """Four streams in one room; see `SdkRoom`."""

    def __init__(self, address: str, seating: Seating, meter: Meter) -> None:
        self._address = address
        self._seating = seating
        self._meter = meter
        self._players: list[StreamPlayer] = []
        self._tasks: list[asyncio.Task[None]] = []

    async def enter(self) -> None:
        """All players are seated and connected."""
        guests = await self._seating.seat_four()
        turns = Turns(self._meter)
        self._players = [StreamPlayer(self._address, guests, seat, turns, self._meter) for seat in range(4)]
        await asyncio.gather(*(player.connect() for player in self._players))

    async def begin(self) -> None:
        """They get ready, and play."""
        self._tasks = [asyncio.create_task(player.follow()) for player in self._players]


class StreamPlayer:
    """One seat."""

    def __init__(self, address: str, guests: Guests, seat: int, turns: Turns, meter: Meter) -> None:
        channel = grpc.aio.insecure_channel(address, options=channel_options())
        stub = authority_pb2_grpc.GameAuthorityServiceStub(channel)
        self._call: Any = stub.Play(metadata=room_metadata(guests.tokens[seat], guests.room))
        self._room = guests.room
        self._seat = seat
        self._turns = turns
        self._meter = meter
        self._legal: Sequence[actions_pb2.Action] = ()
        self._turn: int | None = None
        self._ready = 0
        self._writing = asyncio.Lock()
        self._first: room_pb2.RoomView | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def connect(self) -> None:
        await self._call.write(Request(open=Request.Open(room_id=self._room)))
        self._first = (await self._call.read()).snapshot.room

    async def follow(self) -> None:
        """Plays until it is cancelled."""
        assert self._first is not None
        self._ready = sum(seat.ready for seat in self._first.seats)
        self._act_soon(actions.set_ready(True), self._first.version)
        while (message := await self._call.read()) is not grpc.aio.EOF:
            if message.HasField("update"):
                self._take(message.update)
            if message.HasField("answer"):
                self._count(message.answer)

    def _take(self, update: room_pb2.Update) -> None:
        if update.HasField("legal"):
            self._legal = update.legal.actions
        kinds = {event.WhichOneof("event") or "" for event in update.events}
        for event in update.events:
            if event.HasField("turn_started"):
                self._turn = event.turn_started.seat
        step = self._step_after(kinds)
        if step is not None:
            self._turns.end_round()
            self._act_soon(step, update.version)
        elif self._legal and self._turn == self._seat:
            self._turns.is_on(self._seat)
            self._act_soon(random.choice(self._legal), update.version, in_turn=True)

    def _step_after(self, kinds: Collection[str]) -> actions_pb2.Action | None:
        """What leads to the next match or round."""
        if "match_ended" in kinds:
            return actions.rematch() if self._seat == 0 else None
        if "round_ended" in kinds:
            return actions.ready_for_round()
        if "rematch_offered" in kinds:
            self._ready = 0
            return actions.set_ready(True)
        if "ready_changed" in kinds:
            self._ready += 1
            return actions.start() if self._seat == 0 and self._ready == 4 else None
        return None

    def _act_soon(self, action: actions_pb2.Action, version: int, *, in_turn: bool = False) -> None:
        task = asyncio.create_task(self._act(action, version, in_turn))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _act(self, action: actions_pb2.Action, version: int, in_turn: bool) -> None:
        await self._meter.pause()
        request = Request(act=Request.Act(request_id=os.urandom(16), version=version, action=action))
        async with self._writing:  # a call takes one message at a time
            if in_turn:
                self._turns.sends(self._seat)
            await self._call.write(request)

    def _count(self, answer: authority_pb2.PlayResponse.Answer) -> None:
        if answer.HasField("refusal"):
            self._meter.refused[answer.refusal.reason] += 1
        else:
            self._meter.accepted += 1
