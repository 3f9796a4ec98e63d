"""Calls as any gRPC client makes them, without what the SDK does by itself: no retries, no resuming, no reducing."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator
from typing import Any

import grpc
import maumau
from google.rpc import error_details_pb2
from grpc_status import rpc_status
from maumau.v1 import (
    actions_pb2,
    authority_pb2,
    authority_pb2_grpc,
    identity_pb2,
    identity_pb2_grpc,
    matchmaking_pb2,
    matchmaking_pb2_grpc,
    room_pb2,
    rules_pb2,
    settings_pb2,
)

LIMIT_SECONDS = 20.0
ENDLESS = 10_000
"""Points that nobody reaches."""


class Guest:
    """A player who is signed in, and calls of the rooms' service over any channel."""

    def __init__(self, session: identity_pb2.Session, channel: grpc.aio.Channel) -> None:
        self.id, self.token = session.player_id, session.token
        self.channel = channel
        self.rooms = authority_pb2_grpc.GameAuthorityServiceStub(channel)
        self.matchmaking = matchmaking_pb2_grpc.MatchmakingServiceStub(channel)

    def metadata(self, room: str = "") -> Any:
        session = (("authorization", f"Bearer {self.token}"),)
        return (*session, ("x-maumau-room", room)) if room else session

    async def create_room(self, seats: int, *, target: int = ENDLESS, **settings: Any) -> str:
        """A private room of Mau-Mau 32 with this guest on seat 0, for a match that outlasts a test; its id. No finish
        is contested, whatever is dealt: a clock would end that, perhaps just before somebody acts who has looked."""
        options = {
            "match.target": rules_pb2.OptionValue(number=target),
            "call.finalJack": rules_pb2.OptionValue(flag=False),
        }
        answer = await self.matchmaking.CreateRoom(
            matchmaking_pb2.CreateRoomRequest(
                ruleset=rules_pb2.Ruleset(preset="mau-mau-32", options=options),
                settings=settings_pb2.RoomSettings(seats=seats, pause_seconds=0, **settings),
                request_id=os.urandom(16),
            ),
            metadata=self.metadata(),
            timeout=LIMIT_SECONDS,
        )
        return answer.room_id

    async def join(self, room: str) -> int:
        """A seat in the room."""
        request = matchmaking_pb2.JoinRoomRequest(room_id=room)
        answer = await self.matchmaking.JoinRoom(request, metadata=self.metadata(), timeout=LIMIT_SECONDS)
        return answer.seat

    async def act(
        self,
        room: str,
        action: actions_pb2.Action,
        version: int,
        *,
        request_id: bytes = b"",
        at: authority_pb2_grpc.GameAuthorityServiceStub | None = None,
        timeout: float = LIMIT_SECONDS,
    ) -> authority_pb2.ActResponse:
        """One `Act`, `at` a certain process if named. Raises `grpc.aio.AioRpcError`."""
        request = authority_pb2.ActRequest(
            room_id=room, action=action, version=version, request_id=request_id or os.urandom(16)
        )
        return await (at or self.rooms).Act(request, metadata=self.metadata(room), timeout=timeout)

    async def get_room(self, room: str, **fields: int) -> Any:
        """`GetRoom`; the snapshot."""
        request = authority_pb2.GetRoomRequest(room_id=room, **fields)
        answer = await self.rooms.GetRoom(request, metadata=self.metadata(room), timeout=30)
        return answer.snapshot

    def watch(
        self,
        room: str,
        resume_token: bytes = b"",
        *,
        at: authority_pb2_grpc.GameAuthorityServiceStub | None = None,
    ) -> grpc.aio.UnaryStreamCall[authority_pb2.WatchRequest, authority_pb2.WatchResponse]:
        """A stream of the room, open until it is cancelled."""
        request = authority_pb2.WatchRequest(room_id=room, resume_token=resume_token)
        return (at or self.rooms).Watch(request, metadata=self.metadata(room))

    async def play(self, room: str) -> grpc.aio.StreamStreamCall[Any, authority_pb2.PlayResponse]:
        """A `Play` stream that has been opened."""
        call = self.rooms.Play(metadata=self.metadata(room))
        await call.write(authority_pb2.PlayRequest(open=authority_pb2.PlayRequest.Open(room_id=room)))
        return call


async def next_message(call: Any) -> Any:
    """The next message of a stream, or `grpc.aio.EOF`."""
    return await asyncio.wait_for(call.read(), LIMIT_SECONDS)


async def read_to(call: Any, version: int) -> list[Any]:
    """The messages of a stream up to that version, bookmarks left out."""
    messages = []
    while True:
        message = await next_message(call)
        kind = message.WhichOneof("message")
        if kind in ("snapshot", "update"):
            messages.append(message)
            reached = message.snapshot.room.version if kind == "snapshot" else message.update.version
            if reached >= version:
                return messages


@contextlib.asynccontextmanager
async def channel_to(address: str) -> AsyncIterator[grpc.aio.Channel]:
    """A connection of its own."""
    async with grpc.aio.insecure_channel(address, options=[("grpc.use_local_subchannel_pool", 1)]) as channel:
        yield channel


async def sign_in(channel: grpc.aio.Channel, name: str, *, rooms: grpc.aio.Channel | None = None) -> Guest:
    """A new guest. Matchmaking is behind `channel`, the rooms behind `rooms` if that is another one."""
    stub = identity_pb2_grpc.IdentityServiceStub(channel)
    request = identity_pb2.SignInAsGuestRequest(display_name=name)
    answer = await stub.SignInAsGuest(request, timeout=LIMIT_SECONDS)
    guest = Guest(answer.session, channel)
    if rooms is not None:
        guest.rooms = authority_pb2_grpc.GameAuthorityServiceStub(rooms)
    return guest


def reason_of(error: grpc.aio.AioRpcError) -> tuple[str, dict[str, str]]:
    """The reason and its metadata that every refusal carries; empty where somebody on the way gave up."""
    status = rpc_status.from_call(error)
    for detail in status.details if status is not None else ():
        if detail.Is(error_details_pb2.ErrorInfo.DESCRIPTOR):
            known = error_details_pb2.ErrorInfo.FromString(detail.value)
            assert known.domain == "maumau"
            return known.reason, dict(known.metadata)
    return "", {}


class Duel:
    """Two guests in a room of their own. `ana` sits on seat 0 and is the host."""

    def __init__(self, ana: Guest, bo: Guest, room: str) -> None:
        self.ana, self.bo, self.room = ana, bo, room

    async def ready(self) -> None:
        """Both are ready; the match may be started."""
        for guest in (self.ana, self.bo):
            await guest.act(self.room, maumau.actions.set_ready(True), 0)

    async def start(self) -> None:
        """A match runs."""
        await self.ready()
        await self.ana.act(self.room, maumau.actions.start(), 0)

    async def on_turn(self) -> tuple[Guest, Guest, room_pb2.RoomView]:
        """Who may act on the turn, the other one, and what the former sees; waits where the next round is dealt."""
        version = 0
        while True:
            for guest, other in ((self.ana, self.bo), (self.bo, self.ana)):
                view = (await guest.get_room(self.room)).room
                if view.shedding.turn == view.own_seat and view.legal.actions:
                    return guest, other, view
            version = max(version, view.version)
            await self.ana.get_room(self.room, since_version=version, wait_milliseconds=200)

    async def turn(self) -> int:
        """Who is on turn lays a card, or draws; the version that it made."""
        guest, _, view = await self.on_turn()
        return (await guest.act(self.room, view.legal.actions[0], view.version)).version


async def duel(channel: grpc.aio.Channel, **rooms: grpc.aio.Channel) -> Duel:
    """Two new guests, seated; nobody is ready yet."""
    ana, bo = [await sign_in(channel, name, **rooms) for name in ("Ana", "Bo")]
    room = await ana.create_room(2)
    await bo.join(room)
    return Duel(ana, bo, room)
