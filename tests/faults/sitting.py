"""Many people who sit at tables, watch, and do nothing: all that happens there is done by clocks and bots."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

import grpc
import maumau
from maumau.v1 import authority_pb2_grpc

from tests.e2e.calls import Guest, channel_to, sign_in
from tests.e2e.eventually import eventually

SHORTEST_TURN_SECONDS = 5
AT_ONCE = 16
REOPEN_SECONDS = 0.05
"""A stream that broke off is opened again so soon, as the SDK does it the first time."""


class Sitter:
    """Somebody who has a seat and watches, the first time `at` a certain process if one is named. `version` is the
    newest that was shown; `breaks` says how often a stream broke off, and `returns` is the same number once another one
    brings something."""

    def __init__(self, guest: Guest, room: str, at: authority_pb2_grpc.GameAuthorityServiceStub | None) -> None:
        self.guest, self.room = guest, room
        self._at = at
        self.version = self.breaks = self.returns = 0
        self._token = b""

    async def sit(self) -> None:
        """Watches until cancelled, and opens the stream again whenever it breaks off."""
        while True:
            try:
                await self._watch()
            except grpc.aio.AioRpcError:
                self.breaks += self.breaks == self.returns
                self._at = None
                await asyncio.sleep(REOPEN_SECONDS)

    async def _watch(self) -> None:
        async for message in self.guest.watch(self.room, self._token, at=self._at):
            self.returns = self.breaks
            match message.WhichOneof("message"):
                case "snapshot":
                    self.version, self._token = message.snapshot.room.version, message.snapshot.resume_token
                case "update":
                    self.version, self._token = message.update.version, message.update.resume_token


class Table:
    """A room of two people."""

    def __init__(self, room: str, people: tuple[Sitter, Sitter]) -> None:
        self.room, self.people = room, people

    @property
    def version(self) -> int:
        """The newest that was shown to anybody."""
        return max(person.version for person in self.people)


@contextlib.asynccontextmanager
async def sitting(
    address: str, tables: int, *, turn_seconds: int = SHORTEST_TURN_SECONDS, watched_at: str = ""
) -> AsyncIterator[list[Table]]:
    """Tables whose matches have started, with turns of this length and no bank. Everybody's first stream is at the
    process with the address `watched_at`, if that is named."""
    async with channel_to(address) as channel, channel_to(watched_at or address) as first:
        at = authority_pb2_grpc.GameAuthorityServiceStub(first) if watched_at else None
        slots = asyncio.Semaphore(AT_ONCE)

        async def one(number: int) -> Table:
            async with slots:
                return await _table(channel, number, turn_seconds, at)

        made = await asyncio.gather(*(one(number) for number in range(tables)))
        tasks = [asyncio.create_task(person.sit()) for table in made for person in table.people]
        await eventually(lambda: all(person.version for table in made for person in table.people), "everybody watches")
        for table in made:
            host = table.people[0].guest
            await host.act(table.room, maumau.actions.start(), 0)
        try:
            yield list(made)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


async def _table(
    channel: grpc.aio.Channel, number: int, turn_seconds: int, at: authority_pb2_grpc.GameAuthorityServiceStub | None
) -> Table:
    ana, bo = [await sign_in(channel, f"{name} {number}") for name in ("Ana", "Bo")]
    room = await ana.create_room(2, turn_seconds=turn_seconds, bank_seconds=0)
    await bo.join(room)
    for guest in (ana, bo):
        await guest.act(room, maumau.actions.set_ready(True), 0)
    return Table(room, (Sitter(ana, room, at), Sitter(bo, room, at)))
