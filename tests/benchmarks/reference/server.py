"""The sketches' server: `python -m tests.benchmarks.reference.server SHAPE REDIS_URL` prints its port.

SHAPE `play`: actions and events on one two-way stream a player, the commits of all rooms batched in one pipeline, an
event serialized once. `act`: a unary call an action, one script a call, fan-out in the process. `act-pubsub`: the
same, with events through a subscription of Redis.
"""

from __future__ import annotations

import asyncio
import sys
from collections import defaultdict
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Final

import grpc
import redis.asyncio as redis
import uvloop

from tests.benchmarks.reference.message import SERVICE, Message, encode

STATE: Final = b"s" * 600
BATCH: Final = 64
VERSION_BYTES: Final = 8


class Sketch:
    """The rooms' streams and the script."""

    def __init__(self, redis_url: str) -> None:
        pool: Any = redis.BlockingConnectionPool.from_url(redis_url, max_connections=64)
        self.redis: Any = redis.Redis(connection_pool=pool)
        self.queues: dict[str, list[asyncio.Queue[Any]]] = defaultdict(list)
        self.waiting: list[tuple[str, int, bytes]] = []
        self.wake = asyncio.Event()
        self.sha = ""

    async def load(self) -> None:
        self.sha = await self.redis.script_load(Path(__file__).with_name("commit.lua").read_text())

    def words(self, room: str, version: int, event: bytes) -> tuple[Any, ...]:
        """What EVALSHA takes."""
        tag = f"{{{room}}}:"
        return self.sha, 3, tag + "s", tag + "x", tag + "p", version, STATE, event

    def fan_out(self, room: str, message: Any) -> None:
        for queue in self.queues[room]:
            queue.put_nowait(message)

    # Both ways on one stream.

    async def play(self, _: Any, context: Any) -> None:
        room = (await context.read()).room
        queue = self.enter(room, encode(Message(room=room)))

        async def write() -> None:
            while True:
                await context.write(await queue.get())

        writing = asyncio.create_task(write())
        try:
            while (message := await context.read()) is not grpc.aio.EOF:
                self.waiting.append((room, message.version, _event(message)))
                self.wake.set()
        finally:
            writing.cancel()
            self.queues[room].remove(queue)

    async def commit_all(self) -> None:
        while True:
            await self.wake.wait()
            self.wake.clear()
            batch, self.waiting = self.waiting[:BATCH], self.waiting[BATCH:]
            if self.waiting:
                self.wake.set()
            pipeline = self.redis.pipeline(transaction=False)
            for words in batch:
                pipeline.evalsha(*self.words(*words))
            for (room, _, event), version in zip(batch, await pipeline.execute(), strict=True):
                if version > 0:
                    self.fan_out(room, encode(Message(room=room, version=version, payload=event)))

    # A unary call an action.

    async def act(self, message: Any, context: Any) -> Any:
        event = _event(message)
        version = await self.redis.evalsha(*self.words(message.room, message.version, event))
        if version <= 0:
            await context.abort(grpc.StatusCode.ABORTED, "version")
        self.fan_out(message.room, Message(room=message.room, version=version, payload=event))
        return Message(room=message.room, version=version)

    async def act_published(self, message: Any, context: Any) -> Any:
        version = await self.redis.evalsha(*self.words(message.room, message.version, _event(message)))
        if version <= 0:
            await context.abort(grpc.StatusCode.ABORTED, "version")
        return Message(room=message.room, version=version)

    async def hear_all(self) -> None:
        subscription = self.redis.pubsub()
        await subscription.psubscribe("{*}:p")
        async for heard in subscription.listen():
            if heard["type"] == "pmessage":
                room, event = heard["channel"].decode()[1:-3], heard["data"]
                version = int.from_bytes(event[:VERSION_BYTES], "big")
                self.fan_out(room, Message(room=room, version=version, payload=event))

    async def watch(self, message: Any, context: Any) -> AsyncIterator[Any]:
        queue = self.enter(message.room, Message(room=message.room))
        try:
            while True:
                yield await queue.get()
        finally:
            self.queues[message.room].remove(queue)

    def enter(self, room: str, first: Any) -> asyncio.Queue[Any]:
        queue: asyncio.Queue[Any] = asyncio.Queue()
        queue.put_nowait(first)
        self.queues[room].append(queue)
        return queue


def _event(message: Any) -> bytes:
    version: int = message.version + 1
    return version.to_bytes(VERSION_BYTES, "big") + bytes(message.payload)


async def serve(shape: str, redis_url: str) -> None:
    """Runs until it is killed."""
    sketch = Sketch(redis_url)
    await sketch.load()
    read = Message.FromString
    act = sketch.act_published if shape == "act-pubsub" else sketch.act
    handlers = {
        "Play": grpc.stream_stream_rpc_method_handler(sketch.play, read, None),
        "Act": grpc.unary_unary_rpc_method_handler(act, read, encode),
        "Watch": grpc.unary_stream_rpc_method_handler(sketch.watch, read, encode),
    }
    server = grpc.aio.server()
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, handlers),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    print(port, flush=True)
    background = {"play": sketch.commit_all, "act-pubsub": sketch.hear_all}.get(shape, server.wait_for_termination)
    await background()


if __name__ == "__main__":
    uvloop.run(serve(*sys.argv[1:3]))
