"""The sketches' clients: four players a room, each with a channel of its own, one turn loop."""

from __future__ import annotations

import asyncio
import os
import secrets
from typing import Any, Final

import grpc

from tests.benchmarks.meter import Meter, Turns
from tests.benchmarks.reference.message import SERVICE, Message, encode

SEATS: Final = 4
PAYLOAD: Final = os.urandom(180)


class SketchRoom:
    """One room with its players; `address` is the sketch's."""

    def __init__(self, address: str, shape: str, meter: Meter) -> None:
        self.name = secrets.token_hex(6)
        self._address = address
        self._play = shape == "play"
        self._meter = meter
        self._turns = Turns(meter)
        self._senders: dict[int, Any] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._present = asyncio.Semaphore(0)

    async def enter(self) -> None:
        """All players are connected."""
        for seat in range(SEATS):
            self._spawn(self._follow(seat))
        for _ in range(SEATS):
            await self._present.acquire()

    async def begin(self) -> None:
        """The first player acts."""
        self._spawn(self._act(0, 0))

    async def _follow(self, seat: int) -> None:
        channel = grpc.aio.insecure_channel(self._address, options=[("grpc.use_local_subchannel_pool", 1)])
        hello = Message(room=self.name)
        if self._play:
            call: Any = channel.stream_stream(f"/{SERVICE}/Play", encode, Message.FromString)()
            self._senders[seat] = call.write
            await call.write(hello)
        else:
            self._senders[seat] = channel.unary_unary(f"/{SERVICE}/Act", encode, Message.FromString)
            call = channel.unary_stream(f"/{SERVICE}/Watch", encode, Message.FromString)(hello)
        async for message in call:
            if not message.version:
                self._present.release()
            elif message.version % SEATS == seat:
                self._turns.is_on(seat)
                self._meter.accepted += 1
                self._spawn(self._act(seat, message.version))

    async def _act(self, seat: int, version: int) -> None:
        await self._meter.pause()
        self._turns.sends(seat)
        await self._senders[seat](Message(room=self.name, version=version, payload=PAYLOAD))

    def _spawn(self, work: Any) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
