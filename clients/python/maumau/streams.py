"""The two kinds of stream that follow a room: `Play`, which also carries actions, and `Watch`.

A stream here lives from its opening to its end, whatever ends it; opening the next one is the room's affair.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import Protocol, TypeVar, cast

import grpc

from maumau.calls import room_metadata
from maumau.errors import from_rpc_error
from maumau.pending import PendingAct
from maumau.v1 import authority_pb2, authority_pb2_grpc

Message = authority_pb2.PlayResponse | authority_pb2.WatchResponse


Response = TypeVar("Response")


class Stream(Protocol):
    """An open stream of one room."""

    carries_acts: bool

    async def read(self) -> Message | None:
        """The next message; None when the server ended the stream without a word. Raises MaumauError."""
        ...

    def send(self, act: PendingAct) -> None: ...

    def renew(self, token: str) -> None: ...

    def finish(self) -> None: ...

    async def close(self) -> None: ...


class PlayStream:
    """Both ways: messages out of a queue, so that a caller who is cancelled does not cancel the stream."""

    carries_acts = True

    def __init__(
        self, stub: authority_pb2_grpc.GameAuthorityServiceStub, room_id: str, token: str, resume_token: bytes
    ) -> None:
        self._call = stub.Play(metadata=room_metadata(token, room_id))
        self._outbox: asyncio.Queue[authority_pb2.PlayRequest | None] = asyncio.Queue()
        opening = authority_pb2.PlayRequest.Open(room_id=room_id, resume_token=resume_token)
        self._outbox.put_nowait(authority_pb2.PlayRequest(open=opening))
        self._writer = asyncio.create_task(self._write(), name=f"maumau play {room_id}")

    async def read(self) -> authority_pb2.PlayResponse | None:
        return await _read(self._call)

    def send(self, act: PendingAct) -> None:
        self._outbox.put_nowait(act.play_request())

    def renew(self, token: str) -> None:
        self._outbox.put_nowait(authority_pb2.PlayRequest(renewal=authority_pb2.PlayRequest.Renewal(token=token)))

    async def _write(self) -> None:
        # Whatever stops the writer ends the call as well, and the reader says how.
        with contextlib.suppress(grpc.aio.AioRpcError, asyncio.InvalidStateError):
            while (request := await self._outbox.get()) is not None:
                await self._call.write(request)
            await self._call.done_writing()

    def finish(self) -> None:
        """Says that nothing more will come, so that the server sees a player who left and not one who was lost."""
        self._outbox.put_nowait(None)

    async def close(self) -> None:
        self._call.cancel()
        self._writer.cancel()
        await asyncio.gather(self._writer, return_exceptions=True)


class WatchStream:
    """One way: messages only."""

    carries_acts = False

    def __init__(
        self, stub: authority_pb2_grpc.GameAuthorityServiceStub, room_id: str, token: str, resume_token: bytes
    ) -> None:
        request = authority_pb2.WatchRequest(room_id=room_id, resume_token=resume_token)
        self._call = stub.Watch(request, metadata=room_metadata(token, room_id))

    async def read(self) -> authority_pb2.WatchResponse | None:
        return await _read(self._call)

    def send(self, act: PendingAct) -> None:
        raise TypeError("Watch carries no actions")

    def renew(self, token: str) -> None:
        """Nothing: the server ends the stream with the session and it is opened anew."""

    def finish(self) -> None:
        raise TypeError("Watch carries nothing that could end")

    async def close(self) -> None:
        self._call.cancel()


async def _read(
    call: grpc.aio.StreamStreamCall[authority_pb2.PlayRequest, Response]
    | grpc.aio.UnaryStreamCall[authority_pb2.WatchRequest, Response],
) -> Response | None:
    try:
        message = await call.read()
    except grpc.aio.AioRpcError as error:
        raise from_rpc_error(error) from error
    return None if message is grpc.aio.EOF else cast(Response, message)
