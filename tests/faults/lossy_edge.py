"""A proxy between clients and the server that loses answers of calls, as a wire does: the connection breaks when one
is due, and with it everything else that is on its way there.

Of HTTP/2 it knows the frames that go to the client: the first HEADERS of a stream are the answer of a call (its DATA
and trailers follow at once), each later DATA is another message of a stream.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

from tests.faults.proxy import CHUNK, Accept, Between, Side, Way

FRAME_HEAD: Final = 9
"""Bytes before each frame: length (3), kind (1), flags (1), stream (4)."""
DATA, HEADERS = 0, 1


class LossyEdge(Between):
    """Listens on a loopback port in front of `behind`, which is `host:port`."""

    def __init__(self, behind: str, seed: int = 1) -> None:
        super().__init__(seed)
        self._host, _, self._port = behind.rpartition(":")
        self.address = ""

    async def listen(self, accept: Accept) -> asyncio.Server:
        server = await asyncio.start_server(accept, "127.0.0.1", 0)
        self.address = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        return server

    async def connect(self) -> Side:
        return await asyncio.open_connection(self._host, int(self._port))

    def ways(self, here: Side, there: Side) -> Sequence[Way]:
        return _pass_calls(here[0], there[1]), self._pass_answers(there[0], here[1])

    async def _pass_answers(self, server: asyncio.StreamReader, client: asyncio.StreamWriter) -> None:
        answers = Answers()
        while True:
            head = await server.readexactly(FRAME_HEAD)
            frame = head + await server.readexactly(int.from_bytes(head[:3], "big"))
            if answers.is_next(frame) and self.loses_this():
                return
            client.write(frame)
            await client.drain()


async def _pass_calls(client: asyncio.StreamReader, server: asyncio.StreamWriter) -> None:
    while chunk := await client.read(CHUNK):
        server.write(chunk)
        await server.drain()


class Answers:
    """Tells where an answer begins in the frames of one connection."""

    def __init__(self) -> None:
        self._begun = set[bytes]()
        self._first_is_due = set[bytes]()

    def is_next(self, frame: bytes) -> bool:
        """Whether with this frame an answer begins."""
        kind, stream, has_body = frame[3], frame[5:FRAME_HEAD], len(frame) > FRAME_HEAD
        if kind == HEADERS and stream not in self._begun:
            self._begun.add(stream)
            self._first_is_due.add(stream)
            return True
        if kind == DATA and has_body and stream in self._first_is_due:
            self._first_is_due.discard(stream)  # it came with the HEADERS
            return False
        return kind == DATA and has_body
