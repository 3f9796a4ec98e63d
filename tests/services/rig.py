"""Matchmaking and scoring on free ports inside the test's own loop, on a real server of Redis's kind, with a fake game
authority behind the real internal port."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.rpc import error_details_pb2
from grpc_status.rpc_status import aio as rich_status
from maumau.internal.v1 import ratings_pb2
from maumau.internal.v1 import room_control_pb2 as control
from maumau.internal.v1.ratings_pb2_grpc import add_RatingLookupServiceServicer_to_server
from maumau.internal.v1.room_control_pb2_grpc import add_RoomControlServiceServicer_to_server
from maumau.v1 import identity_pb2, room_pb2
from maumau.v1.identity_pb2_grpc import IdentityServiceStub

from services.game_authority.__main__ import GameAuthority
from services.game_authority.__main__ import bind as bind_authority
from services.matchmaking.__main__ import bind as bind_matchmaking
from services.runtime.auth import InternalGuard
from services.runtime.channels import internal_channel
from services.runtime.errors import Refused
from services.runtime.lifecycle import Runtime, Service
from services.runtime.settings import Settings
from services.runtime.stores import open_store
from services.runtime.unoffered import offer
from services.scoring.__main__ import bind as bind_scoring
from services.store.assembly import Store
from services.store.encounters import EncounterStore, Lately
from services.store.keys import PlayerId, RoomId
from tests.services.serving import free_port_settings

_PREFIXES = (f"s{number}" for number in itertools.count())

Bind = Callable[[Runtime], Awaitable[Service]]
Metadata = tuple[tuple[str, str], ...]


class FakeRooms:
    """The authority's room control, as far as matchmaking sees it: rooms by id, and what it was asked."""

    def __init__(self) -> None:
        self.rooms: dict[str, control.CreateRoomRequest] = {}
        self.seats: dict[str, list[str]] = {}
        self.generation = 1
        self.state = room_pb2.ROOM_STATE_READY_CHECK
        self.states: dict[str, room_pb2.RoomState.ValueType] = {}
        self.begun: set[str] = set()
        self.closed: list[str] = []
        self.free: dict[str, int] = {}
        self.created = 0
        self.asked: list[Any] = []
        self.refuse: Exception | None = None
        self.fail_first = 0

    async def CreateRoom(self, request: control.CreateRoomRequest, context: Any) -> control.CreateRoomResponse:  # noqa: N802
        self.asked.append(request)
        self._refuse()
        if request.room_id not in self.rooms:
            self.rooms[request.room_id] = request
            self.seats[request.room_id] = [person.player_id for person in request.people]
            self.created += 1
        return control.CreateRoomResponse(seats=range(len(request.people)))

    async def SeatPlayer(self, request: control.SeatPlayerRequest, context: Any) -> control.SeatPlayerResponse:  # noqa: N802
        self.asked.append(request)
        self._refuse()
        if request.room_id not in self.rooms:
            raise Refused("ROOM_NOT_FOUND")
        if request.invite_generation != self.generation:
            raise Refused("ROOM_NOT_FOUND")
        seats = self.seats[request.room_id]
        if request.person.player_id not in seats:
            seats.append(request.person.player_id)
        return control.SeatPlayerResponse(seat=seats.index(request.person.player_id), version=len(seats))

    async def GetRoomSummary(  # noqa: N802
        self, request: control.GetRoomSummaryRequest, context: Any
    ) -> control.GetRoomSummaryResponse:
        if request.room_id not in self.rooms:
            raise Refused("ROOM_NOT_FOUND")
        room = request.room_id
        state = self.states.get(room, self.state)
        return control.GetRoomSummaryResponse(
            room=room_pb2.RoomSummary(state=state, free_seats=self.free.get(room, 0)),
            invite_generation=self.generation,
            player_ids=self.seats[room],
            match_began=room in self.begun,
        )

    async def CloseRoom(self, request: control.CloseRoomRequest, context: Any) -> control.CloseRoomResponse:  # noqa: N802
        self.states[request.room_id] = room_pb2.ROOM_STATE_CLOSED
        self.closed.append(request.room_id)
        return control.CloseRoomResponse()

    def no_show(self, room: str, player: str) -> None:
        """The ready check ended without this player."""
        self.seats[room].remove(player)
        self.states[room] = room_pb2.ROOM_STATE_OPEN

    def begin(self, room: str) -> None:
        """The match of a room began."""
        self.begun.add(room)
        self.states[room] = room_pb2.ROOM_STATE_PLAYING

    def _refuse(self) -> None:
        if self.fail_first:
            self.fail_first -= 1
            raise Refused("STOPPING")
        if self.refuse is not None:
            raise self.refuse


class FakeRatings:
    """Scoring, as far as matchmaking asks it."""

    def __init__(self, known: dict[str, float]) -> None:
        self._known = known

    async def LookUpRatings(self, request: ratings_pb2.LookUpRatingsRequest, context: Any) -> Any:  # noqa: N802
        found = [player for player in request.player_ids if player in self._known]
        return ratings_pb2.LookUpRatingsResponse(
            ratings=[ratings_pb2.PlayerRating(player_id=player, mu=self._known[player]) for player in found]
        )


class _Bare:
    async def ready(self) -> bool:
        return True

    async def drain(self) -> None:
        return None

    async def resume(self) -> None:
        return None

    async def close(self) -> None:
        return None


class Player:
    """Somebody who is signed in."""

    def __init__(self, answer: identity_pb2.SignInAsGuestResponse) -> None:
        self.id = answer.player.player_id
        self.name = answer.player.display_name
        self.token = answer.session.token
        self.refresh_token = answer.session.refresh_token

    @property
    def metadata(self) -> Metadata:
        return (("authorization", f"Bearer {self.token}"),)


class Rig:
    """Processes of one server. Those that are started later share its store and keys."""

    def __init__(self, redis_url: str, keys_dir: Path, stack: AsyncExitStack) -> None:
        self._stack = stack
        self.rooms = FakeRooms()
        self.internal_addresses: list[str] = []
        self.runtimes: list[Runtime] = []
        self._store: Store | None = None
        self.settings = free_port_settings(
            redis_url=redis_url, redis_prefix=next(_PREFIXES), keys_dir=keys_dir, rate_limits=False
        )

    async def authority(self) -> Runtime:
        """Starts the fake authority; matchmaking processes started from now on use it."""
        runtime = await self._serve(self._bind_fake_authority)
        self._change(game_authority_target=f"127.0.0.1:{runtime.internal.number}")
        return runtime

    async def real_authority(self) -> tuple[grpc.aio.Channel, GameAuthority]:
        """Starts a game authority that is no fake: a channel to its public port, and its parts."""
        parts: list[GameAuthority] = []

        async def bind(runtime: Runtime) -> Service:
            parts.append(await bind_authority(runtime))
            return parts[0]

        runtime = await self._serve(bind)
        self._change(game_authority_target=f"127.0.0.1:{runtime.internal.number}")
        return await self._channel(runtime), parts[0]

    async def ratings(self) -> dict[str, float]:
        """Starts a stand-in for scoring that tells matchmaking these ratings, by player; fill it in."""
        known: dict[str, float] = {}
        runtime = await self._serve(partial(self._bind_fake_ratings, FakeRatings(known)))
        self._change(scoring_target=f"127.0.0.1:{runtime.internal.number}")
        return known

    async def matchmaking(self) -> grpc.aio.Channel:
        """One more matchmaking process; a channel to its public port."""
        return await self._channel(await self._serve(bind_matchmaking))

    async def scoring(self) -> tuple[grpc.aio.Channel, grpc.aio.Channel]:
        """One more scoring process; channels to its public and to its internal port, the latter with credential."""
        runtime = await self._serve(bind_scoring)
        self.internal_addresses.append(f"127.0.0.1:{runtime.internal.number}")
        internal = internal_channel(self.settings, self.internal_addresses[-1])
        self._stack.push_async_callback(internal.close)
        return await self._channel(runtime), internal

    async def store(self) -> Store:
        """The store as one more process sees it."""
        if self._store is None:
            self._store = open_store(self.settings)
            self._stack.push_async_callback(self._store.aclose)
        return self._store

    async def lately(self, player: str) -> Lately:
        """With whom a player was matched last."""
        return await EncounterStore((await self.store()).pipelines, lambda: 0).lately(PlayerId(player))

    async def sits_in(self, player: Player, room: str) -> None:
        """What the authority writes when a player sits down."""
        await (await self.store()).rooms.add_player_room(PlayerId(player.id), RoomId(room))

    async def list_room(self, room: str, line: bytes) -> None:
        """What the authority writes of a public room, besides the room itself."""
        pipelines = (await self.store()).pipelines
        keys = pipelines.keys.room(RoomId(room))
        await pipelines.writes.command("HSET", keys.partition.open, room, line)

    async def _channel(self, runtime: Runtime) -> grpc.aio.Channel:
        channel = grpc.aio.insecure_channel(f"127.0.0.1:{runtime.public.number}")
        self._stack.push_async_callback(channel.close)
        return channel

    async def _serve(self, bind: Bind) -> Runtime:
        runtime = await self._stack.enter_async_context(_served(bind, self.settings))
        self.runtimes.append(runtime)
        return runtime

    def _change(self, **changed: Any) -> None:
        self.settings = self.settings.model_copy(update=changed)

    async def _bind_fake_ratings(self, ratings: FakeRatings, runtime: Runtime) -> Service:
        runtime.internal.guard(InternalGuard(runtime.settings))
        offered = offer("maumau.internal.v1.RatingLookupService", ratings)
        runtime.internal.add(add_RatingLookupServiceServicer_to_server, offered)
        return _Bare()

    async def _bind_fake_authority(self, runtime: Runtime) -> Service:
        runtime.internal.guard(InternalGuard(runtime.settings))
        rooms = offer("maumau.internal.v1.RoomControlService", self.rooms)
        runtime.internal.add(add_RoomControlServiceServicer_to_server, rooms)
        return _Bare()


@asynccontextmanager
async def _served(bind: Bind, settings: Settings) -> AsyncIterator[Runtime]:
    runtime = Runtime("test", settings)
    task = asyncio.create_task(runtime.run(bind))
    started = asyncio.create_task(runtime.started.wait())
    await asyncio.wait((task, started), return_when=asyncio.FIRST_COMPLETED)
    started.cancel()
    if task.done():
        task.result()
    try:
        yield runtime
    finally:
        runtime.stop()
        await task


async def sign_in(channel: grpc.aio.Channel, name: str = "Ana") -> Player:
    return Player(
        await IdentityServiceStub(channel).SignInAsGuest(identity_pb2.SignInAsGuestRequest(display_name=name))
    )


async def refused(call: Any) -> tuple[grpc.StatusCode, str, dict[str, str]]:
    """Code, reason and metadata of a call that is refused; fails if it is not, or without a reason of the catalogue."""
    return await _refused(call, call)


async def refused_stream(call: Any) -> tuple[grpc.StatusCode, str, dict[str, str]]:
    """The same of a stream's next message."""
    return await _refused(call, call.read())


async def _refused(call: Any, answer: Awaitable[Any]) -> tuple[grpc.StatusCode, str, dict[str, str]]:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await answer
    status = await rich_status.from_call(call)
    info = error_details_pb2.ErrorInfo()
    assert status is not None
    assert status.details[0].Unpack(info)
    assert info.domain == "maumau"
    return caught.value.code(), info.reason, dict(info.metadata)


def raw_call(channel: Any, path: str, metadata: Metadata = ()) -> Any:
    """A unary call of any method with an empty request."""
    return channel.unary_unary(path)(b"", metadata=metadata)
